# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "Copy",
    "DeleteRecursively",
    "Exists",
    "FastGFile",
    "GFile",
    "Glob",
    "IsDirectory",
    "ListDirectory",
    "MakeDirs",
    "MkDir",
    "Open",
    "Remove",
    "Rename",
    "Stat",
    "Walk",
]
from flowc.api.framework.gfile import Copy as Copy
from flowc.api.framework.gfile import DeleteRecursively as DeleteRecursively
from flowc.api.framework.gfile import Exists as Exists
from flowc.api.framework.gfile import GFile as FastGFile
from flowc.api.framework.gfile import GFile as GFile
from flowc.api.framework.gfile import GFile as Open
from flowc.api.framework.gfile import Glob as Glob
from flowc.api.framework.gfile import IsDirectory as IsDirectory
from flowc.api.framework.gfile import ListDirectory as ListDirectory
from flowc.api.framework.gfile import MakeDirs as MakeDirs
from flowc.api.framework.gfile import MkDir as MkDir
from flowc.api.framework.gfile import Remove as Remove
from flowc.api.framework.gfile import Rename as Rename
from flowc.api.framework.gfile import Stat as Stat
from flowc.api.framework.gfile import Walk as Walk

