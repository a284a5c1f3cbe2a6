"""Files of any tool, plain or packed with gzip, xz, bzip2 or zstd, recognised by their first bytes, never by their names.

Content that is damaged, cut or of another form raises InputError, one line that names the file.
"""

from __future__ import annotations

import bz2
import contextlib
import csv
import gzip
import io
import json
import lzma
import re
import warnings
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, NamedTuple, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import ArrayLike
from pandas.errors import ParserWarning
from pydantic import BaseModel, Field, ValidationError

from tcpfair.errors import InputError
from tcpfair.papers.scenario import one_line

if TYPE_CHECKING:
    from tcpfair.sources.readers.observed import Observed
    from tcpfair.sources.readers.sidecar import Sidecar

HEAD_BYTES = 65_536
# limit of files read at once, such as JSON: an iperf3 report of a day has 100 MB; limits compression bombs
MAX_WHOLE_BYTES = 256_000_000
MAX_LINE_BYTES = 1_000_000
MAX_MESSAGE = 600  # names in a damaged file may be long
_CHUNK_BYTES = 1 << 20
PIECE_BYTES = 1 << 22  # of whole lines
# a log of identical polls packs to a hundredth; more than this is only repetition
_MOST_SWELLING, _FREE_BYTES = 400, 20_000_000
_BLANK = re.compile(rb"(?:\A|\n)[ \t]*\n")

Model = TypeVar("Model", bound=BaseModel)


# first bytes of a packed file: name of the packing, and its content as a stream
_PACKINGS: dict[bytes, tuple[str, Callable[[BinaryIO], BinaryIO]]] = {
    b"\x1f\x8b": ("gzip", lambda stream: gzip.GzipFile(fileobj=stream)),
    b"\xfd7zXZ\x00": ("xz", lzma.LZMAFile),
    b"BZh": ("bzip2", bz2.BZ2File),
    b"\x28\xb5\x2f\xfd": ("zstd", lambda stream: pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd")),
}
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, pa.ArrowInvalid)


def _unpacked(raw: BinaryIO) -> tuple[str, BinaryIO]:
    """The packing of a file at its beginning ('': none), and its content."""
    start = raw.read(8)
    raw.seek(0)
    found = [packing for magic, packing in _PACKINGS.items() if start.startswith(magic)]
    return (found[0][0], found[0][1](raw)) if found else ("", raw)


def chunks(path: Path, size_bytes: int = _CHUNK_BYTES) -> Iterator[bytes]:
    """The content of a file, unpacked, in pieces of ``size_bytes`` (the last may be shorter): for files larger than memory."""
    name, n_bytes = "", 0
    try:
        with path.open("rb") as raw:
            name, stream = _unpacked(raw)
            while piece := stream.read(size_bytes):
                n_bytes += len(piece)
                if name and n_bytes > max(_FREE_BYTES, _MOST_SWELLING * raw.tell()):
                    swells = f"unpacks to more than {_MOST_SWELLING} times its size"
                    raise InputError(f"{path}: {swells}; give what a tool wrote")
                yield piece
    except (*_DAMAGED, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise InputError(f"{path}: cannot be read ({error.strerror}); give a readable file") from None
        again = "copy the file again from the host that wrote it"
        raise InputError(f"{path}: damaged {name} ({error}); {again}") from None


def read_bytes(path: Path, most_bytes: int = MAX_WHOLE_BYTES) -> bytes:
    """The whole content, unpacked. Raises InputError as `chunks` does, and for more than ``most_bytes``."""
    content = bytearray()
    for piece in chunks(path):
        content += piece
        if len(content) > most_bytes:
            raise InputError(f"{path}: more than {most_bytes / 1e6:.0f} MB; give the recording in parts")
    return bytes(content)


def read_text(path: Path, most_bytes: int = MAX_WHOLE_BYTES) -> str:
    """The whole file as UTF-8 text, unpacked. Raises InputError as `read_bytes` does, and when it is not text."""
    try:
        return read_bytes(path, most_bytes).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not text (byte {error.start} is not UTF-8); give the tool's own output") from None


def line_blocks(path: Path, size_bytes: int = _CHUNK_BYTES) -> Iterator[tuple[int, bytes]]:
    """The content of a file, unpacked, in pieces of whole lines, each with the number of its first one.

    The end of the last line may be missing.
    """
    rest, line = b"", 1
    for piece in chunks(path, size_bytes):
        whole, newline, rest = (rest + piece).rpartition(b"\n")
        count = whole.count(b"\n") + len(newline)
        if len(rest) > MAX_LINE_BYTES:
            raise InputError(
                f"{path}: line {line + count}: longer than {MAX_LINE_BYTES} bytes; give a tool's own output"
            )
        if newline:
            yield line, whole + newline
        line += count
    if rest:
        yield line, rest


def byte_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file with their ends, one after the other. Raises InputError as `line_blocks` does."""
    for _, block in line_blocks(path):
        yield from io.BytesIO(block)


def lines(path: Path) -> Iterator[str]:
    """The lines of a text file without their ends. Raises InputError as `byte_lines` does, and when it is not text."""
    for number, line in enumerate(byte_lines(path), start=1):
        try:
            yield line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError:
            raise InputError(f"{path}: line {number}: not text (UTF-8); give the tool's own output") from None


def head_bytes(path: Path) -> bytes:
    """The first bytes of a file, unpacked, of a truncated one the rest; never raises, so that any file can be sniffed."""
    found = b""
    with contextlib.suppress(*_DAMAGED, OSError), path.open("rb") as raw:
        name, stream = _unpacked(raw)
        while len(found) < HEAD_BYTES and (piece := stream.read(256 if name else HEAD_BYTES)):
            found += piece
    return found[:HEAD_BYTES]


def head(path: Path) -> str:
    """The beginning of a file as text, '' if it is missing; never raises, so that any file can be sniffed."""
    return head_bytes(path).decode("utf-8", errors="replace")


@contextlib.contextmanager
def located(where: object) -> Iterator[None]:
    """Put ``where`` (a file, a flow) before every InputError that is raised inside and does not name it already."""
    try:
        yield
    except InputError as error:
        says = error.args[0]
        raise InputError(says if says.startswith((f"{where}: ", f"{where}/")) else f"{where}: {says}") from None


def naming_file(read: Callable[[Path, Sidecar], Observed]) -> Callable[[Path, Sidecar], Observed]:
    """A reader whose errors begin with its file."""

    @wraps(read)
    def named(path: Path, said: Sidecar) -> Observed:
        with located(path):
            return read(path, said)

    return named


def refusing(check: Callable[..., Iterator[str]]) -> Callable[..., None]:
    """A check that yields errors, as a function of ``where`` and its arguments that raises InputError with the first."""

    @wraps(check)
    def refuse(where: object, *args: object) -> None:
        for says in check(*args):
            raise InputError(f"{where}: {says}")

    return refuse


def validated(model: type[Model], values: object, where: object) -> Model:
    """``values`` as a ``model``. Raises InputError in one line that begins with ``where`` and names the field."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise InputError(str(one_line(error, str(where)))[:MAX_MESSAGE]) from None


def between(kind: type, least: float, most: float, **more: Any) -> Any:
    """The type of a field that holds a number between two bounds, with ``more`` arguments of pydantic's Field."""
    return Annotated[kind, Field(ge=least, le=most, **more)]


def refuse_first(odd: ArrayLike, says: str, *values: Any, lines: Sequence[int] | None = None) -> None:
    """Raise InputError for the first row where ``odd`` is true, after its line if available.

    ``says`` is a format for ``values``: of a column its value in this row, of a text 40 characters; others as they are.
    """
    for row in np.flatnonzero(odd)[:1]:
        cells = [value if np.ndim(value) == 0 else np.asarray(value, dtype=object)[row] for value in values]
        columns = zip(values, cells, strict=True)
        shown = [cell[:40] if cell is not value and isinstance(cell, str) else cell for value, cell in columns]
        raise InputError(("" if lines is None else f"line {lines[row]}: ") + says.format(*shown))


@contextlib.contextmanager
def decoding_json(path: Path) -> Iterator[None]:
    """Turn errors of the decoder into InputErrors."""
    try:
        yield
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: not JSON at line {error.lineno} ({error.msg}); give the whole file") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, thousands of brackets
        raise InputError(f"{path}: not JSON that any tool writes; give the whole file") from None


def read_json(path: Path, parse_constant: Callable[[str], float] | None = None) -> dict[str, Any]:
    """A file with one JSON object; InputError when it is damaged or has other content.

    ``parse_constant`` is given NaN and Infinity and may raise ValueError.
    """
    text = read_text(path)
    with decoding_json(path):
        values = json.loads(text, parse_constant=parse_constant)
    if not isinstance(values, dict):
        raise InputError(f"{path}: must hold one JSON object")
    return values


def read_csv(path: Path, columns: dict[str, tuple[str, float, float]]) -> pd.DataFrame:
    """The named columns of a CSV with header, as {name: (type, least, largest)}; type "str" has no bounds."""
    blocks = list(read_csv_blocks(path, columns))
    if not blocks:
        raise InputError(f"{path}: no rows; lines with {', '.join(columns)} must follow the header")
    return pd.concat(blocks, ignore_index=True)


def read_csv_blocks(path: Path, columns: dict[str, tuple[str, float, float]]) -> Iterator[pd.DataFrame]:
    """The same in blocks of lines, for files larger than memory; the index is the number of the line in the file."""
    kinds = {name: kind for name, (kind, _, _) in columns.items()}
    bounds = {name: limits for name, (kind, *limits) in columns.items() if kind != "str"}
    give = f"give a CSV with numbers in the columns {', '.join(kinds)}"
    header: list[str] = []
    for lines, block in pieces(path, may_lack_end=True):
        lines, block = without_blank(lines, block)
        if not header and block:
            first, _, block = block.partition(b"\n")
            header, lines = first.decode(errors="replace").strip().split(","), lines[1:]
        if not block:
            continue
        with located(path):
            missing = next((name for name in kinds if name not in header), "")
            if missing:
                raise InputError(f"{missing}: missing; {give}")
            table = table_of(lines, block, give, sep=",", names=header, dtype=kinds, keep_default_na=False)[list(kinds)]
            refuse_out_of_bounds(table, bounds)
        yield table


def without_blank(lines: np.ndarray, block: bytes) -> tuple[np.ndarray, bytes]:
    """Those lines of a piece that are not blank."""
    if not _BLANK.search(block):
        return lines, block
    texts = block.splitlines(keepends=True)
    is_text = [bool(text.strip()) for text in texts]
    return lines[is_text], b"".join(text for text, holds in zip(texts, is_text, strict=True) if holds)


def table_of(lines: np.ndarray, block: bytes, give: str, **options: Any) -> pd.DataFrame:
    """Whole lines as a table with one row each, as pandas reads them with ``options``; its index is their numbers."""
    try:
        # an infinite integer becomes the smallest one, out of all bounds; rows longer than the names are an error
        with np.errstate(all="ignore"), warnings.catch_warnings(action="error", category=ParserWarning):
            table = pd.read_csv(io.BytesIO(block), header=None, index_col=False, skip_blank_lines=False, **options)
        if len(table) != len(lines):
            raise ValueError("a cell continues in the next line")
    except (ValueError, OverflowError, TypeError, ParserWarning) as error:
        reason = (str(error).splitlines() or ["no table"])[0][:200]
        if isinstance(error, UnicodeDecodeError):
            reason = f"not text (UTF-8: {error.reason})"
        reason = re.sub(r"(?<=line )\d+", lambda found: str(lines[int(found[0]) - 1]), reason)
        raise InputError(f"from line {lines[0]}: {reason}; {give}") from None
    return table.set_axis(lines, axis=0)


def refuse_out_of_bounds(table: pd.DataFrame, bounds: Mapping[str, Sequence[float]]) -> None:
    """Raise InputError for the first number of a column that is not between least and most.

    Lines are numbered by the column ``line``, or by the index of a table without it.
    """
    line = table.get("line", table.index)
    for name, (least, most) in bounds.items():
        wrong = ~table[name].between(least, most)  # NaN is not between either
        refuse_first(wrong, "{}: {} in line {} is not between {:g} and {:g}", name, table[name], line, least, most)


def check_increasing(table: pd.DataFrame, times: str, counters: Collection[str]) -> None:
    """Raise InputError unless column ``times`` increases from row to row and no column of ``counters`` decreases."""
    if not (table[times].diff()[1:] > 0).all():
        raise InputError(f"{times}: must increase from row to row; give one recording, in order of time")
    for name in counters:
        if (table[name].diff() < 0).any():
            raise InputError(f"{name}: decreases, but it counts; give one recording, in order of time")


def pieces(
    path: Path, cut: list[str] | None = None, *, may_lack_end: bool = False
) -> Iterator[tuple[np.ndarray, bytes]]:
    """Numbers of lines and the lines themselves, piece by piece, each with its end.

    A last line without its end gets one with ``may_lack_end``. Otherwise it is omitted and noted in ``cut``, or refused
    without that list.
    """
    for line, block in line_blocks(path, PIECE_BYTES):
        if may_lack_end and not block.endswith(b"\n"):
            block += b"\n"
        if block.endswith(b"\n"):
            yield np.arange(line, line + block.count(b"\n")), block.replace(b"\r\n", b"\n")
        elif block.strip() and cut is None:
            raise InputError(f"{path}: line {line}: cut; give the whole file")
        elif block.strip():
            cut.append("the file ends within a line, which is skipped")


class Form(NamedTuple):
    """The form of a line."""

    separator: str
    columns: dict[str, type]  # type of each word
    bounds: dict[str, tuple[float, float]]  # least and largest of the numbers
    pattern: re.Pattern[bytes]  # finds an invalid line
    wrong: str  # message on that line
    may_go_on: bool = False  # further words are ignored

    def table(self, block: bytes, lines: np.ndarray) -> pd.DataFrame:
        """A piece as a table with these columns and ``line``."""
        try:
            table = table_of(
                lines,
                block,
                "",
                sep=self.separator,
                names=list(self.columns),
                usecols=range(len(self.columns)) if self.may_go_on else None,
                dtype=self.columns,
                keep_default_na=False,
                na_values={name: [""] for name, kind in self.columns.items() if kind is float},
                quoting=csv.QUOTE_NONE,
            ).reset_index(names="line")
        except InputError:
            self.refuse(np.ones(len(lines), bool), block, lines)
        refuse_out_of_bounds(table, self.bounds)
        return table

    def refuse(self, wrong: np.ndarray, block: bytes, lines: np.ndarray) -> None:
        """Raise InputError for the first wrong row with another pattern, or else the first wrong row, if any."""
        texts, rows = block.split(b"\n"), np.flatnonzero(wrong)
        chosen = [row for row in rows if not self.pattern.fullmatch(texts[row])] or [*rows]
        for row in chosen[:1]:
            raise InputError(f"line {lines[row]}: {texts[row][:60].decode(errors='replace')!r} {self.wrong}")
