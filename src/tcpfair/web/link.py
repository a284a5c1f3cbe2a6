"""Makes one relocatable wasm object, as LLVM emits it, into a self-contained module.

A single object needs no relocation: LLVM has already written final indices and addresses (data from 0 on), and
leaves memory and stack pointer as imports. The linker then has three tasks: define these two, export the entry, drop the
relocations. Any other import is an error. Layout of sections: WebAssembly core specification, chapter 5.
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


class _Reader:
    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def number(self) -> int:
        """An unsigned LEB128; a byte below 128 is one too."""
        value = shift = 0
        while True:
            [byte] = self.raw(1)
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def raw(self, n_bytes: int) -> bytes:
        self.at += n_bytes
        return self.data[self.at - n_bytes : self.at]

    def name(self) -> str:
        return self.raw(self.number()).decode()


def leb128(value: int, below: int = 128) -> bytes:
    """LEB128 of a number of 0 or more: unsigned, or with ``below`` 64 signed, whose last byte has room for the sign."""
    out = bytearray()
    while value >= below:
        out.append((value & 127) | 128)
        value >>= 7
    return bytes([*out, value])


def _export(name: str, kind: int, index: int) -> bytes:
    return leb128(len(name)) + name.encode() + bytes([kind]) + leb128(index)


def sections(module: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and content of each section."""
    reader = _Reader(module, len(_HEADER))
    while reader.at < len(module):
        yield reader.number(), reader.raw(reader.number())


def imports(section: bytes) -> Iterator[tuple[int, str, str]]:
    """Kind, module and name of each import."""
    reader = _Reader(section)
    for _ in range(reader.number()):
        module, name, kind = reader.name(), reader.name(), reader.number()
        # a function has its type; a global type and mutability; a table type and limits; a memory limits
        for _ in range({_OF_FUNCTION: 1, _OF_TABLE: 1, _OF_MEMORY: 0, _OF_GLOBAL: 2}[kind]):
            reader.number()
        if kind in (_OF_TABLE, _OF_MEMORY):
            for _ in range(1 + (reader.number() & 1)):
                reader.number()
        yield kind, module, name


def _data_end(section: bytes) -> int:
    """The first address above all data."""
    reader, end = _Reader(section), 0
    for _ in range(reader.number()):
        is_active = reader.number() == 0 and reader.raw(1) == _I32_CONST
        address = reader.number()
        if not is_active or reader.raw(1) != _END:
            raise ValueError("data that have no fixed address")
        n_bytes = reader.number()
        reader.raw(n_bytes)
        end = max(end, address + n_bytes)
    return end


def link(obj: bytes, entry: str) -> bytes:
    """The module of an object; it exports its first function as ``entry``, ``memory`` and ``heap``, the first free address.

    Raises ValueError when it would need anything from outside.
    """
    parts = {number: body for number, body in sections(obj) if number != _CUSTOM}
    wanted = imports(parts.pop(_IMPORT, leb128(0)))
    others = [f"{module}.{name}" for kind, module, name in wanted if (kind, name) not in _DEFINED_BY_LINKER]
    if others:
        raise ValueError(f"the page has no {', '.join(others)}; algorithms compute powers by tcpfair.cc.exactmath")
    if _ELEMENT in parts:
        raise ValueError("the module calls through a table")
    data_end = _data_end(parts[_DATA]) if _DATA in parts else 0
    heap = (data_end + STACK_BYTES + _LINE_BYTES - 1) // _LINE_BYTES * _LINE_BYTES
    pages = (heap + PAGE_BYTES - 1) // PAGE_BYTES + 1
    address = _I32_CONST + leb128(heap, below=64) + _END
    parts[_MEMORY] = leb128(1) + b"\0" + leb128(pages)
    # global 0: the stack pointer, where LLVM's import was; it grows downwards from global 1, the start of the heap
    parts[_GLOBAL] = leb128(2) + _I32 + _VARIABLE + address + _I32 + _CONSTANT + address
    exports = [_export("memory", _OF_MEMORY, 0), _export("heap", _OF_GLOBAL, 1), _export(entry, _OF_FUNCTION, 0)]
    parts[_EXPORT] = leb128(len(exports)) + b"".join(exports)
    return _HEADER + b"".join(bytes([n]) + leb128(len(parts[n])) + parts[n] for n in _ORDER if n in parts)
