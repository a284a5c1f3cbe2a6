"""Makes one relocatable wasm object, as LLVM emits it, into a module that stands by itself.

With a single object nothing has to be moved: LLVM has already written final indices and addresses (data from 0 on), and
leaves memory and stack pointer as imports. What is left of a linker's work: define these two, export the entry, drop the
relocations. Any other import is an error: the module must need nothing from outside. Layout of sections: WebAssembly core
specification, chapter 5; of an object's symbols: the tool conventions' Linking.md.
"""

from __future__ import annotations

from collections.abc import Iterator

PAGE_BYTES = 65536
STACK_BYTES = PAGE_BYTES
_LINE_BYTES = 64
_HEADER = b"\0asm\1\0\0\0"
_CUSTOM, _TYPE, _IMPORT, _FUNCTION, _TABLE, _MEMORY, _GLOBAL, _EXPORT = range(8)
_START, _ELEMENT, _CODE, _DATA, _DATA_COUNT = range(8, 13)
_ORDER = (_TYPE, _FUNCTION, _TABLE, _MEMORY, _GLOBAL, _EXPORT, _START, _DATA_COUNT, _CODE, _DATA)
_END, _I32_CONST = b"\x0b", b"\x41"
_I32, _CONSTANT, _VARIABLE = b"\x7f", b"\0", b"\1"
# kinds of imports and exports
_OF_FUNCTION, _OF_TABLE, _OF_MEMORY, _OF_GLOBAL = range(4)
_DEFINED_BY_LINKER = {
    (_OF_MEMORY, "__linear_memory"),
    (_OF_GLOBAL, "__stack_pointer"),
    (_OF_TABLE, "__indirect_function_table"),
}
# of the symbol table
_LINKING_VERSION, _SYMBOL_TABLE = 2, 8
_FUNCTION_SYMBOL, _DATA_SYMBOL, _SECTION_SYMBOL = 0, 1, 3
_UNDEFINED, _EXPLICIT_NAME = 0x10, 0x40


class _Reader:
    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        """An unsigned LEB128."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def raw(self, n_bytes: int) -> bytes:
        self.at += n_bytes
        return self.data[self.at - n_bytes : self.at]

    def name(self) -> str:
        return self.raw(self.number()).decode()


def unsigned(value: int) -> bytes:
    """LEB128 of a number of 0 or more."""
    out = bytearray()
    while True:
        out.append((value & 127) | (128 if value > 127 else 0))
        value >>= 7
        if not value:
            return bytes(out)


def signed(value: int) -> bytes:
    """LEB128 of any whole number."""
    out = bytearray()
    while True:
        byte, value = value & 127, value >> 7
        done = (value == 0 and not byte & 64) or (value == -1 and byte & 64)
        out.append(byte | (0 if done else 128))
        if done:
            return bytes(out)


def _named(text: str) -> bytes:
    return unsigned(len(text)) + text.encode()


def sections(module: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and content of each section. Raises ValueError for what is no module."""
    if module[: len(_HEADER)] != _HEADER:
        raise ValueError("not a wasm module")
    reader = _Reader(module, len(_HEADER))
    while reader.at < len(module):
        number = reader.byte()
        yield number, reader.raw(reader.number())


def imports(section: bytes) -> Iterator[tuple[int, str, str]]:
    """Kind, module and name of each import."""
    reader = _Reader(section)
    for _ in range(reader.number()):
        module, name, kind = reader.name(), reader.name(), reader.byte()
        if kind == _OF_FUNCTION:
            reader.number()
        elif kind == _OF_GLOBAL:
            reader.raw(2)
        else:
            if kind == _OF_TABLE:
                reader.byte()
            has_most = reader.byte() & 1
            reader.number()
            if has_most:
                reader.number()
        yield kind, module, name


def _data_end(section: bytes) -> int:
    """The first address above all data."""
    reader, end = _Reader(section), 0
    for _ in range(reader.number()):
        if reader.number() != 0 or reader.raw(1) != _I32_CONST:
            raise ValueError("data that have no fixed address")
        address = reader.number()
        if reader.raw(1) != _END:
            raise ValueError("data that have no fixed address")
        n_bytes = reader.number()
        reader.raw(n_bytes)
        end = max(end, address + n_bytes)
    return end


def _functions_by_name(linking: bytes) -> dict[str, int]:
    """Index of each function that the object defines under a name."""
    reader, found = _Reader(linking), {}
    if reader.number() != _LINKING_VERSION:
        raise ValueError("an object of another version")
    while reader.at < len(linking):
        kind, n_bytes = reader.byte(), reader.number()
        end = reader.at + n_bytes
        for _ in range(reader.number() if kind == _SYMBOL_TABLE else 0):
            symbol, flags = reader.byte(), reader.number()
            is_defined = not flags & _UNDEFINED
            if symbol == _DATA_SYMBOL:
                reader.name()
                if is_defined:
                    reader.number(), reader.number(), reader.number()
            elif symbol == _SECTION_SYMBOL:
                reader.number()
            else:
                index = reader.number()
                if is_defined or flags & _EXPLICIT_NAME:
                    name = reader.name()
                    if symbol == _FUNCTION_SYMBOL and is_defined:
                        found[name] = index
        reader.at = end
    return found


def link(obj: bytes, entries: list[str]) -> bytes:
    """The module of an object; it exports ``entries``, ``memory`` and ``heap``, the first free address.

    Raises ValueError when it would need anything from outside.
    """
    parts, linking = {}, b""
    for number, body in sections(obj):
        if number != _CUSTOM:
            parts[number] = body
            continue
        reader = _Reader(body)
        if reader.name() == "linking":
            linking = body[reader.at :]
    wanted = imports(parts.pop(_IMPORT, unsigned(0)))
    others = [f"{module}.{name}" for kind, module, name in wanted if (kind, name) not in _DEFINED_BY_LINKER]
    if others:
        raise ValueError(f"the module needs {', '.join(others)} from outside")
    if _ELEMENT in parts:
        raise ValueError("the module calls through a table")
    data_end = _data_end(parts[_DATA]) if _DATA in parts else 0
    heap = (data_end + STACK_BYTES + _LINE_BYTES - 1) // _LINE_BYTES * _LINE_BYTES
    pages = (heap + PAGE_BYTES - 1) // PAGE_BYTES + 1
    address = _I32_CONST + signed(heap) + _END
    parts[_MEMORY] = unsigned(1) + b"\0" + unsigned(pages)
    # global 0: the stack pointer, where LLVM's import was; it grows downwards from global 1, the start of the heap
    parts[_GLOBAL] = unsigned(2) + _I32 + _VARIABLE + address + _I32 + _CONSTANT + address
    known = _functions_by_name(linking)
    exports = [_named("memory") + bytes([_OF_MEMORY]) + unsigned(0), _named("heap") + bytes([_OF_GLOBAL]) + unsigned(1)]
    exports += [_named(entry) + bytes([_OF_FUNCTION]) + unsigned(known[entry]) for entry in entries]
    parts[_EXPORT] = unsigned(len(exports)) + b"".join(exports)
    return _HEADER + b"".join(bytes([n]) + unsigned(len(parts[n])) + parts[n] for n in _ORDER if n in parts)
