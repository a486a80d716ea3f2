# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "EmbeddingInfo",
    "ProjectorConfig",
    "SpriteMetadata",
    "visualize_embeddings",
]
from flowc.api.summaries.projector import visualize_embeddings as visualize_embeddings
from flowc.proto.projector_pb2 import EmbeddingInfo as EmbeddingInfo
from flowc.proto.projector_pb2 import ProjectorConfig as ProjectorConfig
from flowc.proto.projector_pb2 import SpriteMetadata as SpriteMetadata

