"""Writes the decoder of one class in one version. compiler.py asks for it; primitives.py has what the lines call.

What the lines look like, for a response with one array of structs:

    o0 = new(HeartbeatResponse)
    o0.throttle_time_ms, o0.error_code = unpack_from_ih(buf, pos)
    pos += 6

Objects are made without their constructor and every slot is set, from the bytes or to its default: half the time of a
call. Nothing is allocated by a length that came with the message: a string ends before the buffer does, and an array's
count is held against the bytes that are left, divided by its element's least size. Bytes that are not UTF-8 become
U+FFFD, as Java reads them: a name that cannot be is answered as any other that does not exist.

Large requests have two more forms of the same lines: one that counts all elements against a limit before it makes
them, and one that besides is a generator and yields every STEP_ELEMENTS elements, so that others have their turn.
"""

import enum
from collections.abc import Callable
from struct import calcsize, unpack_from
from struct import error as struct_error
from typing import Any

from kafka_py.wire.primitives import (
    SPREAD_OUT,
    MalformedMessage,
    MessageTooLarge,
    read_unsigned_varint,
    skip_tagged_fields,
    uuid_of,
)
from kafka_py.wire.schema import Field, Message, Scalar, schema_of
from kafka_py.wire.source import Run, Source, about_run

Store = Callable[[str], str]  # expression -> the statement that keeps it

STEP_ELEMENTS = 64
"""After so many array elements the stepwise form yields: a tenth of a millisecond, more or less."""
STEP_NUMBERS = 8192
"""After so many of an array of numbers."""


class Form(enum.Enum):
    """What a decoder is made for."""

    PLAIN = "decode(buf, pos) -> (message, pos)"
    VIEW = "the same of a memoryview, which has no decode(); the plain one hands over to it"
    COUNTED = "decode(buf, pos, left) -> (message, pos), raises MessageTooLarge for more than `left` elements"
    STEPWISE = "the same as a generator"


class DecoderSource:
    """Grows the source field by field; fields of fixed size wait in `_run` until something of varying size comes."""

    def __init__(self, cls: type, version: int, form: Form = Form.PLAIN) -> None:
        self.cls = cls
        self.version = version
        self.form = form
        self.is_counted = form in (Form.COUNTED, Form.STEPWISE)
        self.schema = schema_of(cls)
        self.flexible = self.schema.is_flexible(version)
        self._run: list[Run] = []
        self._after_run: list[str] = []

    def build(self) -> Callable[..., Any]:
        """The compiled decoder."""
        return self.write().build("decode")

    def write(self) -> Source:
        """The source of the function, see Form."""
        title = f"decode {self.schema.name} v{self.version}"
        title += "" if self.form is Form.PLAIN else f" {self.form.name.lower()}"
        arguments = "buf, pos, left" if self.is_counted else "buf, pos"
        self.src = src = Source(title, f"def decode({arguments}):", self._names())
        if self.form is Form.PLAIN:
            self._hand_over_views()
        with src.block("try:"):
            if self.is_counted:
                src.line("most = left")
            if self.form is Form.STEPWISE:
                src.line(f"step = {STEP_ELEMENTS}")
                with src.block("if not left:"):  # makes this a generator also where there is no array
                    src.line("yield")
            src.line("size = len(buf)")
            if _has_records(self.cls, self.version):
                src.line("view = memoryview(buf)")
            self._struct(self.cls, 0)
            self._flush()
            src.line("return o0, pos")
        with src.block("except (struct_error, IndexError, ValueError) as error:"):
            src.line("raise malformed(error, field_of(error)) from None")
        return src

    def _names(self) -> dict[str, Any]:
        label = f"{self.schema.name} v{self.version}"

        def malformed(error: Exception, field: str) -> MalformedMessage:
            reason = "cut off" if isinstance(error, (struct_error, IndexError)) else str(error)
            kind = MessageTooLarge if isinstance(error, MessageTooLarge) else MalformedMessage
            return kind(f"{label}, {field or 'end'}: {reason}")

        return {
            "bad_length": _bad_length,
            "malformed": malformed,
            "new": object.__new__,
            "skip_tagged_fields": skip_tagged_fields,
            "struct_error": struct_error,
            "too_many": _too_many,
            "unpack_from": unpack_from,
            "unsigned_varint": read_unsigned_varint,
            "uuid_of": uuid_of,
        }

    def _hand_over_views(self) -> None:
        names = self.src.names

        def decode_view(buf: memoryview, pos: int) -> Any:
            made = DecoderSource(self.cls, self.version, Form.VIEW).build()
            names["decode_view"] = made
            return made(buf, pos)

        names["decode_view"] = decode_view
        with self.src.block("if buf.__class__ is memoryview:"):
            self.src.line("return decode_view(buf, pos)")

    def _struct(self, cls: type, depth: int) -> None:
        """Leaves the struct in o<depth>."""
        obj, fields = f"o{depth}", schema_of(cls).fields
        self.src.names[cls.__name__] = cls
        self.src.line(f"{obj} = new({cls.__name__})")
        tagged = []
        for field in fields:
            with self.src.about(field.name):
                if field.versions.low <= self.version <= field.versions.high and not field.is_tagged(self.version):
                    self._field(field, obj, depth)
                    continue
                self.src.line(f"{obj}.{field.name} = {self._default(cls, field)}")
            if self.version in field.versions:
                tagged.append(field)
        if self.flexible:
            self._tagged_section(tagged, obj, depth)

    def _default(self, cls: type, field: Field) -> str:
        if field.is_array and field.default is not None:
            return "[]"
        if field.default is None or isinstance(field.default, (bool, int, float, str, bytes)):
            return repr(field.default)
        name = f"default_{cls.__name__}_{field.name}"
        self.src.names[name] = field.default
        return name

    def _field(self, field: Field, obj: str, depth: int) -> None:
        target = f"{obj}.{field.name}"
        nullable = field.is_nullable(self.version)
        if field.is_array:
            self._array(field, target, nullable, depth)
        elif not isinstance(field.element, Scalar):
            self._struct(field.element, depth + 1)
            self._flush()  # before o<depth + 1> becomes something else
            self.src.line(f"{target} = o{depth + 1}")
        elif field.element.code:
            self._fixed(field.element, target, field.name)
        else:
            self._sized(field.element, nullable, lambda value: f"{target} = {value}")

    def _fixed(self, scalar: Scalar, target: str, name: str) -> None:
        if scalar.name == "uuid":
            self._wait(scalar.code, f"raw_{name}")
            self._after_run.append(f"{target} = uuid_of(raw_{name})")
        else:
            self._wait(scalar.code, target)

    def _length(self, classic_code: str, *, compact: bool) -> None:
        """Reads a length prefix into n: as it is, or for compact ones plus 1."""
        self._wait("B" if compact else classic_code, "n")
        self._flush()
        if compact:
            with self.src.block("if n > 127:"):
                self.src.line("n, pos = unsigned_varint(buf, pos - 1)")

    def _sized(self, scalar: Scalar, nullable: bool, store: Store) -> None:
        """A string, bytes or records: a length, then so many bytes."""
        compact = self.flexible and not scalar.classic
        self._length("h" if scalar.name == "string" else "i", compact=compact)
        if not nullable:
            self._sized_body(scalar, compact, store)
            return
        with self.src.block("if n == 0:" if compact else "if n == -1:"):
            self.src.line(store("None"))
        with self.src.block("else:"):
            self._sized_body(scalar, compact, store)

    def _sized_body(self, scalar: Scalar, compact: bool, store: Store) -> None:
        src = self.src
        src.line("end = pos + n - 1" if compact else "end = pos + n")
        # A compact length could say more, but no string of the protocol is longer than an int16 can say.
        too_long = " or n > 32768" if compact and scalar.name == "string" else ""
        with src.block(f"if n < {int(compact)} or end > size{too_long}:"):
            src.line(f"raise bad_length(n{' - 1' if compact else ''}, size - pos)")
        if scalar.name == "records":
            src.line(store("view[pos:end]"))
        elif scalar.name == "bytes":
            src.line(store("bytes(buf[pos:end])"))
        else:
            is_view, lenient = self.form is Form.VIEW, "'utf-8', 'replace'"
            src.line(store(f"str(buf[pos:end], {lenient})" if is_view else f"buf[pos:end].decode({lenient})"))
        src.line("pos = end")

    def _array(self, field: Field, target: str, nullable: bool, depth: int) -> None:
        src = self.src
        self._length("i", compact=self.flexible)
        if self.flexible:
            src.line("n -= 1")
        if nullable:
            with src.block("if n == -1:"):
                src.line(f"{target} = None")
            with src.block("else:"):
                self._array_body(field, target, depth)
        else:
            self._array_body(field, target, depth)

    def _array_body(self, field: Field, target: str, depth: int) -> None:
        src, element = self.src, field.element
        least = least_size(element, self.version, self.flexible)
        with src.block("if n < 0 or n > size - pos:" if least == 1 else f"if n < 0 or n * {least} > size - pos:"):
            src.line("raise bad_length(n, size - pos)")
        self._count("n")
        if isinstance(element, Scalar) and element.code and element.name != "uuid":
            self._numbers(element, target)
            return
        items = f"a{depth}"
        src.line(f"{target} = {items} = []")
        with src.block("for _ in range(n):"):
            self._step()
            if not isinstance(element, Scalar):
                self._struct(element, depth + 1)
                self._flush()
                src.line(f"{items}.append(o{depth + 1})")
            elif element.name == "uuid":
                self._wait(element.code, "raw")
                self._after_run.append(f"{items}.append(uuid_of(raw))")
                self._flush()
            else:
                self._sized(element, False, lambda value: f"{items}.append({value})")

    def _numbers(self, element: Scalar, target: str) -> None:
        """An array of numbers of fixed size, at once or many at a time."""
        src, more = self.src, "="
        if self.form is Form.STEPWISE:
            src.line(f"{target} = []")
            with src.block(f"while n > {STEP_NUMBERS}:"):
                src.line(f"{target} += unpack_from('>{STEP_NUMBERS}{element.code}', buf, pos)")
                src.line(f"pos += {STEP_NUMBERS * element.size}")
                src.line(f"n -= {STEP_NUMBERS}")
                src.line("yield")
            more = "+="
        src.line(f"{target} {more} list(unpack_from(f'>{{n}}{element.code}', buf, pos))")
        src.line(f"pos += n * {element.size}")

    def _count(self, elements: str) -> None:
        """So many elements more, before any of them is made."""
        if self.is_counted:
            self.src.line(f"left -= {elements}")
            with self.src.block("if left < 0:"):
                self.src.line("raise too_many(most - left, most)")

    def _step(self) -> None:
        """One element more has its turn."""
        if self.form is Form.STEPWISE:
            self.src.line("step -= 1")
            with self.src.block("if not step:"):
                self.src.line("yield")
                self.src.line(f"step = {STEP_ELEMENTS}")

    def _tagged_section(self, tagged: list[Field], obj: str, depth: int) -> None:
        src, count, stop = self.src, f"t{depth}", f"stop{depth}"
        self._wait("B", count)
        self._flush()
        with src.block(f"if {count}:"):
            if self.is_counted:
                src.line(f"{count} = unsigned_varint(buf, pos - 1)[0]")
                self._count(count)
            if not tagged:
                src.line("pos = skip_tagged_fields(buf, pos - 1)")
                return
            src.line(f"{count}, pos = unsigned_varint(buf, pos - 1)")
            with src.block(f"for _ in range({count}):"):
                self._step()
                src.line("tag, pos = unsigned_varint(buf, pos)")
                src.line("n, pos = unsigned_varint(buf, pos)")
                src.line(f"{stop} = pos + n")
                with src.block(f"if {stop} > size:"):
                    src.line("raise bad_length(n, size - pos)")
                word = "if"
                for field in tagged:
                    with src.about(field.name), src.block(f"{word} tag == {field.tag}:"):
                        self._field(field, obj, depth)
                        self._flush()
                    word = "elif"
                with src.block("else:"):
                    src.line(f"pos = {stop}")
                with src.block(f"if pos != {stop}:"):
                    src.line("raise bad_length(n, size - pos)")

    def _wait(self, code: str, target: str) -> None:
        self._run.append(Run(code, target, self.src.path))

    def _flush(self) -> None:
        """Reads what waits, in one struct."""
        if self._run:
            codes = "".join(run.code for run in self._run)
            targets = ", ".join(run.text for run in self._run)
            if codes == "B":
                read = f"{targets} = buf[pos]"
            elif len(self._run) == 1:
                read = f"({targets},) = {self.src.struct('unpack_from', codes)}(buf, pos)"
            else:
                read = f"{targets} = {self.src.struct('unpack_from', codes)}(buf, pos)"
            self.src.line(read, about_run(self._run))
            self.src.line(f"pos += {calcsize('>' + codes)}")
        for text in self._after_run:
            self.src.line(text)
        self._run, self._after_run = [], []


def least_size(element: Scalar | type[Message], version: int, flexible: bool) -> int:
    """The fewest bytes that one element of an array can take; at least 1, so that a count is always bounded."""
    if isinstance(element, Scalar):
        if element.code:
            return element.size
        return 1 if flexible and not element.classic else 2 if element.name == "string" else 4
    total = int(flexible)
    for field in schema_of(element).fields:
        if version in field.versions and not field.is_tagged(version):
            if field.is_array:
                total += 1 if flexible else 4
            else:
                total += least_size(field.element, version, flexible)
    return max(1, total)


def _has_records(cls: type, version: int) -> bool:
    for field in schema_of(cls).fields:
        if isinstance(field.element, Scalar):
            if version in field.versions and field.element.name == "records":
                return True
        elif _has_records(field.element, version):
            return True
    return False


def _too_many(count: int, most: int) -> MessageTooLarge:
    return MessageTooLarge(f"{count} elements, at most {most} are allowed: {SPREAD_OUT}")


def _bad_length(length: int, left: int) -> MalformedMessage:
    if length == -1:
        return MalformedMessage("null where none may stand")
    return MalformedMessage(f"length {length}, {left} bytes left")
