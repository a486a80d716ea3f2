# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "DEFINE_alias",
    "DEFINE_bool",
    "DEFINE_boolean",
    "DEFINE_enum",
    "DEFINE_flag",
    "DEFINE_float",
    "DEFINE_integer",
    "DEFINE_list",
    "DEFINE_multi_float",
    "DEFINE_multi_integer",
    "DEFINE_multi_string",
    "DEFINE_spaceseplist",
    "DEFINE_string",
    "DuplicateFlagError",
    "Error",
    "FLAGS",
    "Flag",
    "FlagValues",
    "IllegalFlagValueError",
    "UnparsedFlagAccessError",
    "UnrecognizedFlagError",
    "ValidationError",
    "declare_key_flag",
    "mark_flag_as_required",
    "mark_flags_as_required",
    "register_validator",
    "set_default",
    "validator",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices

def DEFINE_alias(name: str, original_name: str, flag_values: Any = ..., module_name: Any = None) -> Any:
    """Defines an alias flag for an existing one.
    
    Args:
      name: str, the flag name.
      original_name: str, the original flag name.
      flag_values: :class:`FlagValues`, the FlagValues instance with which the
        flag will be registered. This should almost never need to be overridden.
      module_name: A string, the name of the module that defines this flag.
    
    Returns:
      a handle to defined flag.
    
    Raises:
      flags.FlagError:
        UnrecognizedFlagError: if the referenced flag doesn't exist.
        DuplicateFlagError: if the alias name has been used by some existing flag."""
def DEFINE_bool(name: Any, default: Any, help: Any, flag_values: Any = ..., module_name: Any = None, required: Any = False, **args: Any) -> Any:
    """Registers a boolean flag.
    
    Such a boolean flag does not take an argument.  If a user wants to
    specify a false value explicitly, the long option beginning with 'no'
    must be used: i.e. --noflag
    
    This flag will have a value of None, True or False.  None is possible
    if default=None and the user does not specify the flag on the command
    line.
    
    Args:
      name: str, the flag name.
      default: bool|str|None, the default value of the flag.
      help: str, the help message.
      flag_values: :class:`FlagValues`, the FlagValues instance with which the
        flag will be registered. This should almost never need to be overridden.
      module_name: str, the name of the Python module declaring this flag. If not
        provided, it will be computed using the stack trace of this call.
      required: bool, is this a required flag. This must be used as a keyword
        argument.
      **args: dict, the extra keyword args that are passed to ``Flag.__init__``.
    
    Returns:
      a handle to defined flag."""
def DEFINE_boolean(name: Any, default: Any, help: Any, flag_values: Any = ..., module_name: Any = None, required: Any = False, **args: Any) -> Any:
    """Registers a boolean flag.
    
    Such a boolean flag does not take an argument.  If a user wants to
    specify a false value explicitly, the long option beginning with 'no'
    must be used: i.e. --noflag
    
    This flag will have a value of None, True or False.  None is possible
    if default=None and the user does not specify the flag on the command
    line.
    
    Args:
      name: str, the flag name.
      default: bool|str|None, the default value of the flag.
      help: str, the help message.
      flag_values: :class:`FlagValues`, the FlagValues instance with which the
        flag will be registered. This should almost never need to be overridden.
      module_name: str, the name of the Python module declaring this flag. If not
        provided, it will be computed using the stack trace of this call.
      required: bool, is this a required flag. This must be used as a keyword
        argument.
      **args: dict, the extra keyword args that are passed to ``Flag.__init__``.
    
    Returns:
      a handle to defined flag."""
def DEFINE_enum(name: Any, default: Any, enum_values: Any, help: Any, flag_values: Any = ..., module_name: Any = None, required: Any = False, **args: Any) -> Any:
    """Registers a flag whose value can be any string from enum_values.
    
    Instead of a string enum, prefer `DEFINE_enum_class`, which allows
    defining enums from an `enum.Enum` class.
    
    Args:
      name: str, the flag name.
      default: str|None, the default value of the flag.
      enum_values: [str], a non-empty list of strings with the possible values for
        the flag.
      help: str, the help message.
      flag_values: :class:`FlagValues`, the FlagValues instance with which the
        flag will be registered. This should almost never need to be overridden.
      module_name: str, the name of the Python module declaring this flag. If not
        provided, it will be computed using the stack trace of this call.
      required: bool, is this a required flag. This must be used as a keyword
        argument.
      **args: dict, the extra keyword args that are passed to ``Flag.__init__``.
    
    Returns:
      a handle to defined flag."""
def DEFINE_flag(flag: Any, flag_values: Any = ..., module_name: Any = None, required: Any = False) -> Any:
    """Registers a :class:`Flag` object with a :class:`FlagValues` object.
    
    By default, the global :const:`FLAGS` ``FlagValue`` object is used.
    
    Typical users will use one of the more specialized DEFINE_xxx
    functions, such as :func:`DEFINE_string` or :func:`DEFINE_integer`.  But
    developers who need to create :class:`Flag` objects themselves should use
    this function to register their flags.
    
    Args:
      flag: :class:`Flag`, a flag that is key to the module.
      flag_values: :class:`FlagValues`, the ``FlagValues`` instance with which the
        flag will be registered. This should almost never need to be overridden.
      module_name: str, the name of the Python module declaring this flag. If not
        provided, it will be computed using the stack trace of this call.
      required: bool, is this a required flag. This must be used as a keyword
        argument.
    
    Returns:
      a handle to defined flag."""
def DEFINE_float(name: Any, default: Any, help: Any, lower_bound: Any = None, upper_bound: Any = None, flag_values: Any = ..., required: Any = False, **args: Any) -> Any:
    """Registers a flag whose value must be a float.
    
    If ``lower_bound`` or ``upper_bound`` are set, then this flag must be
    within the given range.
    
    Args:
      name: str, the flag name.
      default: float|str|None, the default value of the flag.
      help: str, the help message.
      lower_bound: float, min value of the flag.
      upper_bound: float, max value of the flag.
      flag_values: :class:`FlagValues`, the FlagValues instance with which the
        flag will be registered. This should almost never need to be overridden.
      required: bool, is this a required flag. This must be used as a keyword
        argument.
      **args: dict, the extra keyword args that are passed to :func:`DEFINE`.
    
    Returns:
      a handle to defined flag."""
def DEFINE_integer(name: Any, default: Any, help: Any, lower_bound: Any = None, upper_bound: Any = None, flag_values: Any = ..., required: Any = False, **args: Any) -> Any:
    """Registers a flag whose value must be an integer.
    
    If ``lower_bound``, or ``upper_bound`` are set, then this flag must be
    within the given range.
    
    Args:
      name: str, the flag name.
      default: int|str|None, the default value of the flag.
      help: str, the help message.
      lower_bound: int, min value of the flag.
      upper_bound: int, max value of the flag.
      flag_values: :class:`FlagValues`, the FlagValues instance with which the
        flag will be registered. This should almost never need to be overridden.
      required: bool, is this a required flag. This must be used as a keyword
        argument.
      **args: dict, the extra keyword args that are passed to :func:`DEFINE`.
    
    Returns:
      a handle to defined flag."""
def DEFINE_list(name: Any, default: Any, help: Any, flag_values: Any = ..., required: Any = False, **args: Any) -> Any:
    """Registers a flag whose value is a comma-separated list of strings.
    
    The flag value is parsed with a CSV parser.
    
    Args:
      name: str, the flag name.
      default: list|str|None, the default value of the flag.
      help: str, the help message.
      flag_values: :class:`FlagValues`, the FlagValues instance with which the
        flag will be registered. This should almost never need to be overridden.
      required: bool, is this a required flag. This must be used as a keyword
        argument.
      **args: Dictionary with extra keyword args that are passed to the
        ``Flag.__init__``.
    
    Returns:
      a handle to defined flag."""
def DEFINE_multi_float(name: Any, default: Any, help: Any, lower_bound: Any = None, upper_bound: Any = None, flag_values: Any = ..., required: Any = False, **args: Any) -> Any:
    """Registers a flag whose value can be a list of arbitrary floats.
    
    Use the flag on the command line multiple times to place multiple
    float values into the list.  The 'default' may be a single float
    (which will be converted into a single-element list) or a list of
    floats.
    
    Args:
      name: str, the flag name.
      default: Union[Iterable[float], str, None], the default value of the flag;
        see `DEFINE_multi`.
      help: str, the help message.
      lower_bound: float, min values of the flag.
      upper_bound: float, max values of the flag.
      flag_values: :class:`FlagValues`, the FlagValues instance with which the
        flag will be registered. This should almost never need to be overridden.
      required: bool, is this a required flag. This must be used as a keyword
        argument.
      **args: Dictionary with extra keyword args that are passed to the
        ``Flag.__init__``.
    
    Returns:
      a handle to defined flag."""
def DEFINE_multi_integer(name: Any, default: Any, help: Any, lower_bound: Any = None, upper_bound: Any = None, flag_values: Any = ..., required: Any = False, **args: Any) -> Any:
    """Registers a flag whose value can be a list of arbitrary integers.
    
    Use the flag on the command line multiple times to place multiple
    integer values into the list.  The 'default' may be a single integer
    (which will be converted into a single-element list) or a list of
    integers.
    
    Args:
      name: str, the flag name.
      default: Union[Iterable[int], str, None], the default value of the flag; see
        `DEFINE_multi`.
      help: str, the help message.
      lower_bound: int, min values of the flag.
      upper_bound: int, max values of the flag.
      flag_values: :class:`FlagValues`, the FlagValues instance with which the
        flag will be registered. This should almost never need to be overridden.
      required: bool, is this a required flag. This must be used as a keyword
        argument.
      **args: Dictionary with extra keyword args that are passed to the
        ``Flag.__init__``.
    
    Returns:
      a handle to defined flag."""
def DEFINE_multi_string(name: Any, default: Any, help: Any, flag_values: Any = ..., required: Any = False, **args: Any) -> Any:
    """Registers a flag whose value can be a list of any strings.
    
    Use the flag on the command line multiple times to place multiple
    string values into the list.  The 'default' may be a single string
    (which will be converted into a single-element list) or a list of
    strings.
    
    
    Args:
      name: str, the flag name.
      default: Union[Iterable[str], str, None], the default value of the flag; see
        :func:`DEFINE_multi`.
      help: str, the help message.
      flag_values: :class:`FlagValues`, the FlagValues instance with which the
        flag will be registered. This should almost never need to be overridden.
      required: bool, is this a required flag. This must be used as a keyword
        argument.
      **args: Dictionary with extra keyword args that are passed to the
        ``Flag.__init__``.
    
    Returns:
      a handle to defined flag."""
def DEFINE_spaceseplist(name: Any, default: Any, help: Any, comma_compat: Any = False, flag_values: Any = ..., required: Any = False, **args: Any) -> Any:
    """Registers a flag whose value is a whitespace-separated list of strings.
    
    Any whitespace can be used as a separator.
    
    Args:
      name: str, the flag name.
      default: list|str|None, the default value of the flag.
      help: str, the help message.
      comma_compat: bool - Whether to support comma as an additional separator. If
        false then only whitespace is supported.  This is intended only for
        backwards compatibility with flags that used to be comma-separated.
      flag_values: :class:`FlagValues`, the FlagValues instance with which the
        flag will be registered. This should almost never need to be overridden.
      required: bool, is this a required flag. This must be used as a keyword
        argument.
      **args: Dictionary with extra keyword args that are passed to the
        ``Flag.__init__``.
    
    Returns:
      a handle to defined flag."""
def DEFINE_string(name: Any, default: Any, help: Any, flag_values: Any = ..., required: Any = False, **args: Any) -> Any:
    """Registers a flag whose value can be any string."""
from absl.flags._exceptions import DuplicateFlagError as DuplicateFlagError
from absl.flags._exceptions import Error as Error
from absl.flags._flag import Flag as Flag
from absl.flags._flagvalues import FlagValues as FlagValues
from absl.flags._exceptions import IllegalFlagValueError as IllegalFlagValueError
from absl.flags._exceptions import UnparsedFlagAccessError as UnparsedFlagAccessError
from absl.flags._exceptions import UnrecognizedFlagError as UnrecognizedFlagError
from absl.flags._exceptions import ValidationError as ValidationError
def declare_key_flag(flag_name: Any, flag_values: Any = ...) -> Any:
    """Declares one flag as key to the current module.
    
    Key flags are flags that are deemed really important for a module.
    They are important when listing help messages; e.g., if the
    --helpshort command-line flag is used, then only the key flags of the
    main module are listed (instead of all flags, as in the case of
    --helpfull).
    
    Sample usage::
    
        flags.declare_key_flag('flag_1')
    
    Args:
      flag_name: str | :class:`FlagHolder`, the name or holder of an already
        declared flag. (Redeclaring flags as key, including flags implicitly key
        because they were declared in this module, is a no-op.) Positional-only
        parameter.
      flag_values: :class:`FlagValues`, the FlagValues instance in which the flag
        will be declared as a key flag. This should almost never need to be
        overridden.
    
    Raises:
      ValueError: Raised if flag_name not defined as a Python flag."""
def mark_flag_as_required(flag_name: Any, flag_values: Any = ...) -> Any:
    """Ensures that flag is not None during program execution.
    
    Registers a flag validator, which will follow usual validator rules.
    Important note: validator will pass for any non-``None`` value, such as
    ``False``, ``0`` (zero), ``''`` (empty string) and so on.
    
    If your module might be imported by others, and you only wish to make the flag
    required when the module is directly executed, call this method like this::
    
        if __name__ == '__main__':
          flags.mark_flag_as_required('your_flag_name')
          app.run()
    
    Args:
      flag_name: str | FlagHolder, name or holder of the flag. Positional-only
        parameter.
      flag_values: flags.FlagValues, optional :class:`~absl.flags.FlagValues`
        instance where the flag is defined.
    
    Raises:
      AttributeError: Raised when flag_name is not registered as a valid flag
          name.
      ValueError: Raised when flag_values is non-default and does not match the
          FlagValues of the provided FlagHolder instance."""
def mark_flags_as_required(flag_names: Any, flag_values: Any = ...) -> Any:
    """Ensures that flags are not None during program execution.
    
    If your module might be imported by others, and you only wish to make the flag
    required when the module is directly executed, call this method like this::
    
        if __name__ == '__main__':
          flags.mark_flags_as_required(['flag1', 'flag2', 'flag3'])
          app.run()
    
    Args:
      flag_names: Sequence[str | FlagHolder], names or holders of the flags.
      flag_values: flags.FlagValues, optional FlagValues instance where the flags
        are defined.
    
    Raises:
      AttributeError: If any of flag name has not already been defined as a flag."""
def register_validator(flag_name: Any, checker: Any, message: Any = 'Flag validation failed', flag_values: Any = ...) -> Any:
    """Adds a constraint, which will be enforced during program execution.
    
    The constraint is validated when flags are initially parsed, and after each
    change of the corresponding flag's value.
    
    Args:
      flag_name: str | FlagHolder, name or holder of the flag to be checked.
        Positional-only parameter.
      checker: callable, a function to validate the flag.
    
          * input - A single positional argument: The value of the corresponding
            flag (string, boolean, etc.  This value will be passed to checker
            by the library).
          * output - bool, True if validator constraint is satisfied.
            If constraint is not satisfied, it should either ``return False`` or
            ``raise flags.ValidationError(desired_error_message)``.
    
      message: str, error text to be shown to the user if checker returns False.
        If checker raises flags.ValidationError, message from the raised error
        will be shown.
      flag_values: flags.FlagValues, optional FlagValues instance to validate
        against.
    
    Raises:
      AttributeError: Raised when flag_name is not registered as a valid flag
          name.
      ValueError: Raised when flag_values is non-default and does not match the
          FlagValues of the provided FlagHolder instance."""
def set_default(flag_holder: Any, value: Any) -> Any:
    """Changes the default value of the provided flag object.
    
    The flag's current value is also updated if the flag is currently using
    the default value, i.e. not specified in the command line, and not set
    by FLAGS.name = value.
    
    Args:
      flag_holder: FlagHolder, the flag to modify.
      value: The new default value.
    
    Raises:
      IllegalFlagValueError: Raised when value is not valid."""
def validator(flag_name: Any, message: Any = 'Flag validation failed', flag_values: Any = ...) -> Any:
    """A function decorator for defining a flag validator.
    
    Registers the decorated function as a validator for flag_name, e.g.::
    
        @flags.validator('foo')
        def _CheckFoo(foo):
          ...
    
    See :func:`register_validator` for the specification of checker function.
    
    Args:
      flag_name: str | FlagHolder, name or holder of the flag to be checked.
        Positional-only parameter.
      message: str, error text to be shown to the user if checker returns False.
        If checker raises flags.ValidationError, message from the raised error
        will be shown.
      flag_values: flags.FlagValues, optional FlagValues instance to validate
        against.
    
    Returns:
      A function decorator that registers its function argument as a validator.
    Raises:
      AttributeError: Raised when flag_name is not registered as a valid flag
          name."""
def FLAGS(argv: Any, known_only: builtins.bool = False) -> list[str]:
    """The flags of absl, which read `sys.argv` when the first value is asked for."""
