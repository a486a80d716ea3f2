# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "GFile",
    "copy",
    "exists",
    "glob",
    "isdir",
    "join",
    "listdir",
    "makedirs",
    "mkdir",
    "remove",
    "rename",
    "rmtree",
    "stat",
    "walk",
]
from flowc.api.framework.gfile import Copy as copy
from flowc.api.framework.gfile import DeleteRecursively as rmtree
from flowc.api.framework.gfile import Exists as exists
from flowc.api.framework.gfile import GFile as GFile
from flowc.api.framework.gfile import Glob as glob
from flowc.api.framework.gfile import IsDirectory as isdir
from flowc.api.framework.gfile import ListDirectory as listdir
from flowc.api.framework.gfile import MakeDirs as makedirs
from flowc.api.framework.gfile import MkDir as mkdir
from flowc.api.framework.gfile import Remove as remove
from flowc.api.framework.gfile import Rename as rename
from flowc.api.framework.gfile import Stat as stat
from flowc.api.framework.gfile import Walk as walk
from flowc.api.framework.gfile import join as join

