"""`projector`: what TensorBoard shows of embeddings, as points in space.

In: a writer of summaries, the names of tensors in its checkpoints. Out: `projector_config.pbtxt` in
the writer's folder, where TensorBoard looks for it. Invariant: the file is whole or as it was.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowc.encoding.summary_messages import ProjectorConfig
from flowc.files.safe_write import replacing

if TYPE_CHECKING:
    from flowc.api.summaries.file_writer import FileWriter

CONFIG_FILE = "projector_config.pbtxt"


def visualize_embeddings(
    summary_writer: FileWriter | str | os.PathLike[str], config: ProjectorConfig | Any
) -> None:
    """Has TensorBoard show embeddings, rows `[n, width]` of a checkpoint in the writer's folder.

    `summary_writer`: a FileWriter, or the folder itself, which is made where it is not there.
    `config`: of each embedding the tensor's name in the checkpoint, and files with labels and
    pictures of the rows; it takes the place of the one before. Raises `ValueError` for a writer
    without a folder, `OSError` where the file cannot be written."""
    find: Any = getattr(summary_writer, "get_logdir", None)
    folder: Any = summary_writer if find is None else find()
    if not folder:
        raise ValueError("Summary writer must have a logdir")
    data = str(config).encode()
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    with replacing(place / CONFIG_FILE, len(data)) as file:
        file.write(data)
