"""Writes the encoder of one class in one version. compiler.py asks for it; primitives.py has what the lines call.

What the lines look like:

    out += pack_ih(o0.throttle_time_ms, o0.error_code)

A length or count is packed with the fields before it, and an empty section of tagged fields is a pad byte. Fields that
the version lacks are checked first: a value that would be lost and is not ignorable is an error.
"""

from collections.abc import Callable
from contextlib import ExitStack
from struct import error as struct_error
from struct import pack
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.slices import FileSlice
from kafka_py.wire.primitives import (
    MOST_STRING,
    UnencodableMessage,
    append_records,
    records_size,
    shortened,
    write_unsigned_varint,
)
from kafka_py.wire.schema import Field, Scalar, schema_of
from kafka_py.wire.source import Run, Source, about_run

ERROR_MESSAGE = "error_message"
"""Texts of this name are shortened where they do not fit: they repeat what the client has sent, which may be as long
as a string can be, and a response that cannot be encoded would tell it nothing.
"""

STEP_ELEMENTS = 64
"""After so many structs in arrays the form that works in turns yields: half a millisecond, more or less."""


class EncoderSource:
    """Grows the source field by field; values of fixed size wait in `_run` until something of varying size comes."""

    def __init__(self, cls: type, version: int, *, in_turns: bool = False) -> None:
        """in_turns: a generator that stops after every few elements, for others to have the loop."""
        self.cls = cls
        self.version = version
        self.in_turns = in_turns
        self.schema = schema_of(cls)
        self.flexible = self.schema.is_flexible(version)
        self._run: list[Run] = []

    def build(self) -> Callable[..., Any]:
        """The compiled encoder."""
        return self.write().build("encode")

    def write(self) -> Source:
        """The source of encode(o0, out, slices)."""
        self.src = src = Source(
            f"encode {self.schema.name} v{self.version}{' in turns' if self.in_turns else ''}",
            "def encode(o0, out, slices):",
            self._names(),
        )
        with src.block("try:"):
            if self.in_turns:
                src.line(f"step = {STEP_ELEMENTS}")
                with src.block("if not step:"):  # makes this a generator also where there is no array
                    src.line("yield")
            self._struct(self.cls, 0, "out")
            self._flush("out")
            src.line("return")
        with src.block("except (struct_error, TypeError, AttributeError, ValueError) as error:"):
            src.line("raise unencodable(error, field_of(error)) from error")
        return src

    def _names(self) -> dict[str, Any]:
        label, version = self.schema.name, self.version

        def absent(field: str) -> KafkaError:
            return KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"{label}.{field} is set, but version {version} lacks it")

        def null(field: str) -> KafkaError:
            return KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"{label}.{field} may not be null in version {version}")

        def unencodable(error: Exception, field: str) -> UnencodableMessage:
            return UnencodableMessage(f"{label} v{version}, {field}: {error}")

        return {
            "FileSlice": FileSlice,
            "absent": absent,
            "append_records": append_records,
            "null": null,
            "pack": pack,
            "records_size": records_size,
            "shortened": shortened,
            "struct_error": struct_error,
            "unencodable": unencodable,
            "unsigned_varint": write_unsigned_varint,
        }

    def _struct(self, cls: type, depth: int, out: str) -> None:
        """Encodes o<depth> into the bytearray called `out`."""
        obj, tagged = f"o{depth}", []
        for field in schema_of(cls).fields:
            with self.src.about(field.name):
                if self.version not in field.versions:
                    self._check_absent(cls, field, obj)
                elif field.is_tagged(self.version):
                    tagged.append(field)
                else:
                    self._field(field, f"{obj}.{field.name}", depth, out)
        if self.flexible:
            self._tagged_section(cls, tagged, obj, depth, out)

    def _check_absent(self, cls: type, field: Field, obj: str) -> None:
        if not field.ignorable:
            with self.src.block(f"if {self._differs(cls, field, obj)}:"):
                self.src.line(f"raise absent({self.src.path!r})")

    def _differs(self, cls: type, field: Field, obj: str) -> str:
        """An expression: is the field set to anything but its default?"""
        value = f"{obj}.{field.name}"
        if field.default is None:
            return f"{value} is not None"
        if field.is_array:
            return f"{value} != []"
        if isinstance(field.default, (bool, int, float, str, bytes)):
            return f"{value} != {field.default!r}"
        name = f"default_{cls.__name__}_{field.name}"
        self.src.names[name] = field.default
        return f"({value} is not {name} and {value} != {name})"

    def _field(self, field: Field, value: str, depth: int, out: str) -> None:
        if field.is_array:
            self._array(field, value, depth, out)
        elif not isinstance(field.element, Scalar):
            self.src.line(f"o{depth + 1} = {value}")
            self._struct(field.element, depth + 1, out)
            self._flush(out)  # before o<depth + 1> becomes something else
        elif field.element.code:
            self._wait(field.element.code, f"{value}.bytes" if field.element.name == "uuid" else value)
        else:
            self._sized(field.element, value, field, out)

    def _check_null(self, field: Field, name: str) -> None:
        """Says clearly what a version cannot do. Where null is never allowed, len(None) says enough."""
        if field.null_versions is not None:
            with self.src.block(f"if {name} is None:"):
                self.src.line(f"raise null({self.src.path!r})")

    def _sized(self, scalar: Scalar, value: str, field: Field | None, out: str) -> None:
        """A string, bytes or records. `field` is None for an array's element, which is never null."""
        src, compact = self.src, self.flexible and not scalar.classic
        src.line(f"v = {value}")
        body = _BODY.get(scalar.name, "v")
        length = _RECORDS_LENGTH if scalar.name == "records" else "len(v)"
        null = "0" if compact else "-1"
        plus = " + 1" if compact else ""
        with ExitStack() as not_null:
            if field is not None and field.is_nullable(self.version):
                with src.block("if v is None:"):
                    src.line(f"n = {null}")
                    src.line("v = b''")
                not_null.enter_context(src.block("else:"))
            elif field is not None:
                self._check_null(field, "v")
            if body != "v":
                src.line(f"v = {body}")
            if field is not None and field.name == ERROR_MESSAGE:
                with src.block(f"if len(v) > {MOST_STRING}:"):
                    src.line("v = shortened(v)")
            src.line(f"n = {length}{plus}")
        if compact and scalar.name == "string":
            with src.block(f"if n > {MOST_STRING + 1}:"):
                src.line("raise ValueError(f'string of {n - 1} bytes')")
        self._length("h" if scalar.name == "string" else "i", out, compact=compact)
        if scalar.name == "records":
            with src.block("if v.__class__ is FileSlice and v.size:"):
                src.line(f"slices.append((len({out}), v))")
            with src.block("else:"):
                src.line(f"append_records({out}, slices, v)")
        else:
            src.line(f"{out} += v")

    def _length(self, classic_code: str, out: str, *, compact: bool) -> None:
        """Writes n as a length, together with the run that waits."""
        if not compact:
            self._wait(classic_code, "n")
            self._flush(out)
            return
        run = self._run.copy()
        with self.src.block("if n < 128:"):
            self._wait("B", "n")
            self._flush(out)
        with self.src.block("else:"):
            self._run = run
            self._flush(out)
            self.src.line(f"unsigned_varint({out}, n)")

    def _array(self, field: Field, value: str, depth: int, out: str) -> None:
        src, items, null = self.src, f"a{depth}", "0" if self.flexible else "-1"
        src.line(f"{items} = {value}")
        length = f"len({items}){' + 1' if self.flexible else ''}"
        if field.is_nullable(self.version):
            with src.block(f"if {items} is None:"):
                src.line(f"n = {null}")
                src.line(f"{items} = ()")
            with src.block("else:"):
                src.line(f"n = {length}")
        else:
            self._check_null(field, items)
            src.line(f"n = {length}")
        self._length("i", out, compact=self.flexible)
        element = field.element
        if isinstance(element, Scalar) and element.code and element.name != "uuid":
            with src.block(f"if {items}:"):
                src.line(f"{out} += pack(f'>{{len({items})}}{element.code}', *{items})")
            return
        with src.block(f"for o{depth + 1} in {items}:"):
            if not isinstance(element, Scalar):
                self._step()
                self._struct(element, depth + 1, out)
                self._flush(out)
            elif element.name == "uuid":
                src.line(f"{out} += o{depth + 1}.bytes")
            else:
                self._sized(element, f"o{depth + 1}", None, out)

    def _step(self) -> None:
        """One element more has its turn."""
        if self.in_turns:
            self.src.line("step -= 1")
            with self.src.block("if not step:"):
                self.src.line("yield")
                self.src.line(f"step = {STEP_ELEMENTS}")

    def _tagged_section(self, cls: type, tagged: list[Field], obj: str, depth: int, out: str) -> None:
        """A count, then each field that is set: tag, size, value."""
        if not tagged:
            self._wait("x", "")
            return
        src, inner = self.src, f"tagged{depth}"
        tagged = sorted(tagged, key=lambda field: field.tag or 0)
        flags = [f"has{depth}_{field.name}" for field in tagged]
        for field, flag in zip(tagged, flags, strict=True):
            src.line(f"{flag} = {self._differs(cls, field, obj)}")
        self._flush(out)
        with src.block(f"if {' or '.join(flags)}:"):
            src.line(f"unsigned_varint({out}, {' + '.join(flags)})")
            for field, flag in zip(tagged, flags, strict=True):
                with src.about(field.name), src.block(f"if {flag}:"):
                    src.line(f"{inner} = bytearray()")
                    self._field(field, f"{obj}.{field.name}", depth, inner)
                    self._flush(inner)
                    src.line(f"unsigned_varint({out}, {field.tag})")
                    src.line(f"unsigned_varint({out}, len({inner}))")
                    src.line(f"{out} += {inner}")
        with src.block("else:"):
            src.line(f"{out}.append(0)")

    def _wait(self, code: str, value: str) -> None:
        self._run.append(Run(code, value, self.src.path))

    def _flush(self, out: str) -> None:
        """Writes what waits, in one struct."""
        if not self._run:
            return
        codes = "".join(run.code for run in self._run)
        values = ", ".join(run.text for run in self._run if run.text)
        if codes == "x":
            write = f"{out}.append(0)"
        elif codes == "B":
            write = f"{out}.append({values})"
        else:
            write = f"{out} += {self.src.struct('pack', codes)}({values})"
        self.src.line(write, about_run([run for run in self._run if run.text] or self._run))
        self._run = []


_BODY = {"string": "v.encode()"}
_RECORDS_LENGTH = "(v.size if v.__class__ is FileSlice else records_size(v))"
