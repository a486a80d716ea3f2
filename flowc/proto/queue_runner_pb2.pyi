from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ErrorCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OK: _ClassVar[ErrorCode]
    CANCELLED: _ClassVar[ErrorCode]
    UNKNOWN: _ClassVar[ErrorCode]
    INVALID_ARGUMENT: _ClassVar[ErrorCode]
    DEADLINE_EXCEEDED: _ClassVar[ErrorCode]
    NOT_FOUND: _ClassVar[ErrorCode]
    ALREADY_EXISTS: _ClassVar[ErrorCode]
    PERMISSION_DENIED: _ClassVar[ErrorCode]
    RESOURCE_EXHAUSTED: _ClassVar[ErrorCode]
    FAILED_PRECONDITION: _ClassVar[ErrorCode]
    ABORTED: _ClassVar[ErrorCode]
    OUT_OF_RANGE: _ClassVar[ErrorCode]
    UNIMPLEMENTED: _ClassVar[ErrorCode]
    INTERNAL: _ClassVar[ErrorCode]
    UNAVAILABLE: _ClassVar[ErrorCode]
    DATA_LOSS: _ClassVar[ErrorCode]
    UNAUTHENTICATED: _ClassVar[ErrorCode]
OK: ErrorCode
CANCELLED: ErrorCode
UNKNOWN: ErrorCode
INVALID_ARGUMENT: ErrorCode
DEADLINE_EXCEEDED: ErrorCode
NOT_FOUND: ErrorCode
ALREADY_EXISTS: ErrorCode
PERMISSION_DENIED: ErrorCode
RESOURCE_EXHAUSTED: ErrorCode
FAILED_PRECONDITION: ErrorCode
ABORTED: ErrorCode
OUT_OF_RANGE: ErrorCode
UNIMPLEMENTED: ErrorCode
INTERNAL: ErrorCode
UNAVAILABLE: ErrorCode
DATA_LOSS: ErrorCode
UNAUTHENTICATED: ErrorCode

class QueueRunnerDef(_message.Message):
    __slots__ = ("queue_name", "enqueue_op_name", "close_op_name", "cancel_op_name", "queue_closed_exception_types")
    QUEUE_NAME_FIELD_NUMBER: _ClassVar[int]
    ENQUEUE_OP_NAME_FIELD_NUMBER: _ClassVar[int]
    CLOSE_OP_NAME_FIELD_NUMBER: _ClassVar[int]
    CANCEL_OP_NAME_FIELD_NUMBER: _ClassVar[int]
    QUEUE_CLOSED_EXCEPTION_TYPES_FIELD_NUMBER: _ClassVar[int]
    queue_name: str
    enqueue_op_name: _containers.RepeatedScalarFieldContainer[str]
    close_op_name: str
    cancel_op_name: str
    queue_closed_exception_types: _containers.RepeatedScalarFieldContainer[ErrorCode]
    def __init__(self, queue_name: _Optional[str] = ..., enqueue_op_name: _Optional[_Iterable[str]] = ..., close_op_name: _Optional[str] = ..., cancel_op_name: _Optional[str] = ..., queue_closed_exception_types: _Optional[_Iterable[_Union[ErrorCode, str]]] = ...) -> None: ...
