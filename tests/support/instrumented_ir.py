"""Checks in LLVM IR: of every access to memory, and of operations on numbers that are undefined.

In: the text of a module. Out: the text with calls of the functions of `sanitizer.c` before the
instructions. Invariant: control flow and results are as they were. LLVM's own sanitizer passes are
in no interface that Python has, so the text is what is changed.

`with_memory_checks` is for what LLVM has optimised, so that the accesses are those of the machine;
`with_value_checks` for what it has not: an overflow may be gone where nothing used it, and what is
checked does not become vectors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_SIZES = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "ptr": 8}
_FUNCTION = re.compile(r'^define .*?@("[^"]+"|[\w.$]+)\(')
_ASSIGNED = re.compile(r'^ +(?:%(?:"[^"]+"|[\w.$-]+) = )?(?P<what>.*)$')
_ACCESS = re.compile(
    r"(?:tail |notail |musttail )?(?P<op>load|store|atomicrmw|cmpxchg|call) (?P<rest>.*)"
)
_INTRINSIC = re.compile(r".*?@llvm\.(?P<name>masked\.\w+|memcpy|memmove|memset)[\w.]*\(")
_VECTOR = re.compile(r"<(\d+) x (.+)>$")
_ARITHMETIC = re.compile(
    r"(?P<op>add|sub|mul|shl|lshr|ashr|sdiv|srem|udiv|urem)(?P<flags>(?: nuw| nsw| exact)*) "
    r"i(?P<bits>\d+) (?P<a>[^,]+), (?P<b>[^,]+)"
)
_TO_INTEGER = re.compile(
    r"(?P<op>fptosi|fptoui) (?P<kind>half|bfloat|float|double) (?P<x>\S+) to i(?P<bits>\d+)"
)
_ASSUMED = re.compile(r"(?:tail )?call void @llvm\.assume\(i1 (?:noundef )?(?P<x>[^)]+)\)")
_PURE = re.compile(
    r"\b(memory\([^)]*\)|readnone|readonly|argmemonly|writeonly|inaccessiblememonly|"
    r"inaccessiblemem_or_argmemonly|speculatable|willreturn|mustprogress)\b"
)

_DECLARED = (
    "declare void @flowc_check_memory(ptr, i64, ptr)",
    "declare void @flowc_check_value(i64, ptr)",
)


class _Checks:
    """Names and constants of one module that nothing else in it has."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.function = ""
        self.texts: list[str] = []
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"%flowc.check.{self.key}.{self.count}"

    def where(self, instruction: str) -> str:
        data = f"{self.function}: {instruction.strip()[:160]}".encode() + b"\0"
        shown = "".join(chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:02X}" for c in data)
        name = f"@flowc.where.{self.key}.{len(self.texts)}"
        self.texts.append(f'{name} = private constant [{len(data)} x i8] c"{shown}"')
        return name

    def memory(self, address: str, bytes_: str, instruction: str) -> str:
        where = self.where(instruction)
        return f"  call void @flowc_check_memory(ptr {address}, i64 {bytes_}, ptr {where})"

    def value(self, condition: str, instruction: str) -> Iterator[str]:
        """`condition`: an i1 that holds where something is wrong."""
        wide = self.name()
        yield f"  {wide} = zext i1 {condition} to i64"
        yield f"  call void @flowc_check_value(i64 {wide}, ptr {self.where(instruction)})"


def with_memory_checks(text: str) -> str:
    """Every load, store, copy and division of a module."""

    def checked(checks: _Checks, line: str, instruction: str) -> Iterator[str]:
        access = _ACCESS.match(instruction)
        if access is None:
            if " udiv" in line or " urem" in line or " sdiv" in line or " srem" in line:
                yield from _arithmetic(checks, instruction)
            return
        rest = access["rest"]
        match access["op"]:
            case "load":
                loaded, address = _parts(rest)[:2]
                yield checks.memory(_operand(address), _bytes(_plain(loaded)), line)
            case "store":
                value, address = _parts(rest)[:2]
                yield checks.memory(_operand(address), _bytes(_type_of(_plain(value))), line)
            case "atomicrmw":
                first, value = _parts(rest)[:2]
                address = first[first.index("ptr ") :]
                yield checks.memory(_operand(address), _bytes(_type_of(value)), line)
            case "cmpxchg":
                first, value = _parts(rest)[:2]
                address = first[first.index("ptr ") :]
                yield checks.memory(_operand(address), _bytes(_type_of(value)), line)
            case _:
                yield from _call(checks, rest, line)

    return _instrumented("memory", text, checked)


def with_value_checks(text: str) -> str:
    """Overflow of what must not, shifts by too much, division by zero, conversions of floats that
    do not fit, assumptions that do not hold, and places that are never reached."""

    def checked(checks: _Checks, line: str, instruction: str) -> Iterator[str]:
        if instruction.startswith("unreachable"):
            yield from checks.value("true", line)
        elif found := _ASSUMED.match(instruction):
            wrong = checks.name()
            yield f"  {wrong} = xor i1 {found['x']}, true"
            yield from checks.value(wrong, line)
        elif found := _TO_INTEGER.match(instruction):
            yield from _conversion(checks, found, line)
        else:
            yield from _arithmetic(checks, instruction)

    # A check is an effect, which what says that a function has none would let LLVM drop.
    return _instrumented("value", _PURE.sub("", text), checked)


def _instrumented(
    kind: str, text: str, checked: Callable[[_Checks, str, str], Iterator[str]]
) -> str:
    checks = _Checks(kind)
    lines: list[str] = []
    inside = False
    declared: set[str] = set()
    for line in text.splitlines():
        if found := _FUNCTION.match(line):
            checks.function, inside = found[1].strip('"'), True
        elif line.startswith("}"):
            inside = False
        elif inside and (found := _ASSIGNED.match(line)):
            added = list(checked(checks, line, found["what"]))
            for call in added:
                declared.update(re.findall(r"@(llvm\.\w+\.with\.overflow\.i\d+)\(", call))
            if added and " phi " in line:
                raise ValueError(f"a check before a phi: {line}")
            lines += added
        lines.append(line)
    for name in sorted(declared):
        if f"@{name}(" not in text:
            bits = name.rsplit(".", 1)[1]
            lines.append(f"declare {{ {bits}, i1 }} @{name}({bits}, {bits})")
    for declaration in _DECLARED:
        if declaration.partition("(")[0] not in text:
            lines.append(declaration)
    return "\n".join([*lines, *checks.texts, ""])


# -- memory


def _call(checks: _Checks, rest: str, line: str) -> Iterator[str]:
    found = _INTRINSIC.match(rest)
    if found is None:
        return
    inner = rest[found.end() :]
    args = [_plain(a) for a in _parts(inner[: _closing(inner)])]
    match found["name"]:
        case "memset":
            yield checks.memory(_operand(args[0]), _value_of(args[2]), line)
        case "memcpy" | "memmove":
            for address in args[:2]:
                yield checks.memory(_operand(address), _value_of(args[2]), line)
        case "masked.load":
            result = rest[: rest.index(" @")].split("fastcc ")[-1].strip()
            yield from _lanes(checks, args[0], args[1], _result_type(result), line)
        case "masked.store":
            yield from _lanes(checks, args[1], args[2], _type_of(args[0]), line)
        case "masked.gather":
            result = rest[: rest.index(" @")].strip()
            yield from _scattered(checks, args[0], args[1], _result_type(result), line)
        case "masked.scatter":
            yield from _scattered(checks, args[1], args[2], _type_of(args[0]), line)
        case other:
            raise ValueError(f"no check for llvm.{other}: {line}")


def _result_type(text: str) -> str:
    return text[text.index("<") :]


def _vector(kind: str) -> tuple[int, str]:
    found = _VECTOR.match(kind)
    assert found is not None, kind
    return int(found[1]), found[2]


def _lanes(checks: _Checks, address: str, mask: str, kind: str, line: str) -> Iterator[str]:
    """Elements side by side, those that the mask takes."""
    count, element = _vector(kind)
    for lane in range(count):
        place = checks.name()
        yield f"  {place} = getelementptr {element}, ptr {_operand(address)}, i64 {lane}"
        yield from _one_lane(checks, place, mask, element, lane, line)


def _scattered(checks: _Checks, addresses: str, mask: str, kind: str, line: str) -> Iterator[str]:
    count, element = _vector(kind)
    for lane in range(count):
        place = checks.name()
        yield f"  {place} = extractelement {addresses}, i64 {lane}"
        yield from _one_lane(checks, place, mask, element, lane, line)


def _one_lane(
    checks: _Checks, place: str, mask: str, element: str, lane: int, line: str
) -> Iterator[str]:
    taken, size = checks.name(), checks.name()
    yield f"  {taken} = extractelement {mask}, i64 {lane}"
    yield f"  {size} = select i1 {taken}, i64 {_bytes(element)}, i64 0"
    yield checks.memory(place, size, line)


def _bytes(kind: str) -> str:
    """The bytes that an access of a type takes, as LLVM writes a constant."""
    if kind in _SIZES:
        return str(_SIZES[kind])
    if re.fullmatch(r"i\d+", kind):
        return str(-(-int(kind[1:]) // 8))
    if found := _VECTOR.match(kind):
        element = found[2]
        if re.fullmatch(r"i\d+", element):
            return str(-(-int(element[1:]) * int(found[1]) // 8))
        return str(int(found[1]) * int(_bytes(element)))
    return f"ptrtoint (ptr getelementptr ({kind}, ptr null, i32 1) to i64)"


def _plain(text: str) -> str:
    """An operand without what is said of it."""
    text = re.sub(r"\b(atomic|volatile) ", "", text.strip())
    attributes = r"\b(align \d+|noundef|nonnull|noalias|readonly|writeonly|captures\([^)]*\))\s*"
    words = re.sub(attributes, "", text)
    return re.sub(r"\bdereferenceable(_or_null)?\(\d+\)\s*", "", words).strip()


def _operand(text: str) -> str:
    """The address of `ptr ADDRESS ...`."""
    text = _plain(text).removeprefix("ptr ").strip()
    return text[: _end_of_value(text)]


def _type_of(text: str) -> str:
    """The type of `TYPE VALUE`."""
    if text[0] in "<{[":
        return text[: _matching(text, 0) + 1]
    return text.split(" ", 1)[0]


def _value_of(text: str) -> str:
    kind = _type_of(text)
    return text[len(kind) :].strip()


def _end_of_value(text: str) -> int:
    """Where a value ends that a text begins with."""
    if text.startswith(("getelementptr", "inttoptr", "select", "addrspacecast", "blockaddress")):
        return _matching(text, text.index("(")) + 1
    if text[1:2] == '"':
        return text.index('"', 2) + 1
    return len(text.split(" ", 1)[0])


def _matching(text: str, start: int) -> int:
    """Where the bracket closes that opens at `start`."""
    depth, quoted = 0, False
    for at in range(start, len(text)):
        c = text[at]
        quoted ^= c == '"'
        if quoted:
            continue
        depth += (c in "(<[{") - (c in ")>]}")
        if depth == 0:
            return at
    raise ValueError(f"no end of a bracket: {text[start:]}")


def _closing(text: str) -> int:
    return _matching("(" + text, 0) - 1


def _parts(text: str) -> list[str]:
    """What stands between commas outside of brackets."""
    found, depth, quoted = [""], 0, False
    for c in text:
        quoted ^= c == '"'
        if not quoted:
            depth += (c in "(<[{") - (c in ")>]}")
        if c == "," and depth == 0 and not quoted:
            found.append("")
        else:
            found[-1] += c
    return [part.strip() for part in found]


# -- values


def _arithmetic(checks: _Checks, instruction: str) -> Iterator[str]:
    found = _ARITHMETIC.match(instruction)
    if found is None:
        return
    op, kind, a = found["op"], f"i{found['bits']}", found["a"]
    b = found["b"].split(" ")[0]
    bits = int(found["bits"])
    if op in ("add", "sub", "mul"):
        for flag, sign in (("nsw", "s"), ("nuw", "u")):
            if flag in found["flags"] and bits > 1:
                pair, wrong = checks.name(), checks.name()
                function = f"@llvm.{sign}{op}.with.overflow.{kind}"
                yield f"  {pair} = call {{ {kind}, i1 }} {function}({kind} {a}, {kind} {b})"
                yield f"  {wrong} = extractvalue {{ {kind}, i1 }} {pair}, 1"
                yield from checks.value(wrong, instruction)
    elif op in ("shl", "lshr", "ashr"):
        wrong = checks.name()
        yield f"  {wrong} = icmp uge {kind} {b}, {bits}"
        yield from checks.value(wrong, instruction)
    else:
        zero = checks.name()
        yield f"  {zero} = icmp eq {kind} {b}, 0"
        yield from checks.value(zero, instruction)
        if op in ("sdiv", "srem"):
            least, negative, both = checks.name(), checks.name(), checks.name()
            yield f"  {least} = icmp eq {kind} {a}, {-(2 ** (bits - 1))}"
            yield f"  {negative} = icmp eq {kind} {b}, -1"
            yield f"  {both} = and i1 {least}, {negative}"
            yield from checks.value(both, instruction)


def _conversion(checks: _Checks, found: re.Match[str], line: str) -> Iterator[str]:
    """Whether a float fits the integer that it becomes."""
    bits, kind, x = int(found["bits"]), found["kind"], found["x"]
    wide = x
    if kind != "double":
        wide = checks.name()
        yield f"  {wide} = fpext {kind} {x} to double"
    signed = found["op"] == "fptosi"
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if signed else (0, 2**bits)
    above, below, fits, wrong = (checks.name() for _ in range(4))
    if bits < 53:
        yield f"  {above} = fcmp ogt double {wide}, {float(low - 1):.1f}"
    else:
        bound = float(low) if signed else -0.5
        yield f"  {above} = fcmp oge double {wide}, {bound:.1f}"
    yield f"  {below} = fcmp olt double {wide}, {float(high):.1f}"
    yield f"  {fits} = and i1 {above}, {below}"
    yield f"  {wrong} = xor i1 {fits}, true"
    yield from checks.value(wrong, line)
