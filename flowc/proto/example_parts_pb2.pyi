from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PartsByKey(_message.Message):
    __slots__ = ("part",)
    class PartEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bytes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    PART_FIELD_NUMBER: _ClassVar[int]
    part: _containers.ScalarMap[str, bytes]
    def __init__(self, part: _Optional[_Mapping[str, bytes]] = ...) -> None: ...

class ExampleParts(_message.Message):
    __slots__ = ("features",)
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    features: PartsByKey
    def __init__(self, features: _Optional[_Union[PartsByKey, _Mapping]] = ...) -> None: ...

class SequenceExampleParts(_message.Message):
    __slots__ = ("context", "feature_lists")
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    FEATURE_LISTS_FIELD_NUMBER: _ClassVar[int]
    context: PartsByKey
    feature_lists: PartsByKey
    def __init__(self, context: _Optional[_Union[PartsByKey, _Mapping]] = ..., feature_lists: _Optional[_Union[PartsByKey, _Mapping]] = ...) -> None: ...

class FeatureListParts(_message.Message):
    __slots__ = ("feature",)
    FEATURE_FIELD_NUMBER: _ClassVar[int]
    feature: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, feature: _Optional[_Iterable[bytes]] = ...) -> None: ...
