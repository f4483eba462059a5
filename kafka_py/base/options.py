"""Engine of the setting tables: one row per setting, parsed, checked, overridden and described from that row.

A table is a class whose attributes are Option rows; an instance holds the typed values of one set of properties.
Tables compose by inheritance, so each package declares its own settings and the broker's table is their sum.
Knows no setting by name. Source: docs/reference/configs.tsv (types, defaults, where dynamic).
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar, overload

from kafka_py.base.errors import ConfigError

T = TypeVar("T")

MAX_INT = (1 << 31) - 1
MAX_LONG = (1 << 63) - 1
"""The greatest values of Java's types, which stand for "no bound" in many settings."""

HIDDEN = "[hidden]"


class Kind(enum.Enum):
    """The types of Kafka's ConfigDef, under its own names; the value is the code that DescribeConfigs v3 sends."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Live(enum.Enum):
    """Where a setting may change while the broker runs."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"

    @property
    def is_live(self) -> bool:
        """Whether it may change at all."""
        return self is not Live.READ_ONLY


class Check(NamedTuple):
    """A rule for a value and the words that describe what it allows."""

    allows: Callable[[Any], bool]
    text: str


def at_least(low: float) -> Check:
    """Numbers from `low` on (inclusive)."""
    return Check(lambda value: value >= low, f"[{low},...]")


def between(low: float, high: float) -> Check:
    """Numbers from `low` to `high`, both inclusive."""
    return Check(lambda value: low <= value <= high, f"[{low},...,{high}]")


def one_of(*values: str) -> Check:
    """Exactly one of these words."""
    return Check(lambda value: value in values, f"[{', '.join(values)}]")


def list_of(*values: str) -> Check:
    """A list made of these words only."""
    return Check(lambda items: all(item in values for item in items), f"[{', '.join(values)}]")


def non_empty() -> Check:
    """Any text but the empty one."""
    return Check(lambda value: bool(value), "non-empty string")


class _Misfit(ValueError):
    """Text that can be read, but is no value of its kind; the message says why."""


_INTEGER_BITS = {Kind.SHORT: 16, Kind.INT: 32, Kind.LONG: 64}


def _parse_integer(kind: Kind, text: str) -> int:
    value = int(text)
    limit = 1 << (_INTEGER_BITS[kind] - 1)
    if not -limit <= value < limit:
        raise _Misfit(f"does not fit {_INTEGER_BITS[kind]} bits")
    return value


def _parse_boolean(_kind: Kind, text: str) -> bool:
    lowered = text.lower()
    if lowered not in ("true", "false"):
        raise _Misfit("is neither true nor false")
    return lowered == "true"


def _parse_list(_kind: Kind, text: str) -> list[str]:
    return [item.strip() for item in text.split(",")] if text else []


_PARSERS: dict[Kind, Callable[[Kind, str], Any]] = {
    Kind.BOOLEAN: _parse_boolean,
    Kind.STRING: lambda _kind, text: text,
    Kind.INT: _parse_integer,
    Kind.SHORT: _parse_integer,
    Kind.LONG: _parse_integer,
    Kind.DOUBLE: lambda _kind, text: float(text),
    Kind.LIST: _parse_list,
    Kind.CLASS: lambda _kind, text: text,
    Kind.PASSWORD: lambda _kind, text: text,
}

_KIND_OF_TYPE = {
    bool: Kind.BOOLEAN,
    int: Kind.INT,
    float: Kind.DOUBLE,
    str: Kind.STRING,
    list: Kind.LIST,
    tuple: Kind.LIST,
}


def text_of_value(kind: Kind, value: Any) -> str | None:
    """A typed value as Kafka prints it: lower-case booleans, comma lists, Java's doubles; None stays None."""
    if value is None:
        return None
    if kind is Kind.BOOLEAN:
        return "true" if value else "false"
    if kind is Kind.LIST:
        return ",".join(value)
    if kind is Kind.DOUBLE:
        return java_double(float(value))
    return str(value)


def java_double(value: float) -> str:
    """Java's Double.toString: plain between 1e-3 and 1e7, else with an exponent that has no plus sign."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    mantissa, _, exponent = f"{value!r}".partition("e")
    if not exponent:
        digits = f"{value:.17e}".partition("e")[2]
        mantissa, exponent = repr(value / 10 ** int(digits)), digits
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}E{int(exponent)}"


class Option(Generic[T]):
    """One row: a setting's name, type, default and rule.

    name: as in property files. default: the typed value, None where Kafka's default is null.
    check: rule for non-null values. kind: needed where the default does not tell it (None, or long integers).
    topic: the topic-level name of the same setting. live: where it may change at run time; True means cluster-wide.
    required: has no default; parsing fails without it.
    no_effect: why the setting is accepted and changes nothing; "" where it does something.

    Instances of the table keep the values in their own `__dict__`, so reading one costs a plain attribute look-up.
    """

    def __init__(
        self,
        name: str,
        default: T,
        check: Check | None = None,
        *,
        kind: Kind | None = None,
        topic: str | None = None,
        live: Live | bool = Live.READ_ONLY,
        unit: str = "",
        importance: str = "medium",
        required: bool = False,
        deprecated: bool = False,
        no_effect: str = "",
        about: str = "",
    ) -> None:
        self.name = name
        self.default = default
        self.check = check
        self.kind = kind or _KIND_OF_TYPE.get(type(default), Kind.STRING)
        self.topic = topic
        self.live = {True: Live.CLUSTER_WIDE, False: Live.READ_ONLY}[live] if isinstance(live, bool) else live
        self.unit = unit
        self.importance = importance
        self.required = required
        self.deprecated = deprecated
        self.no_effect = no_effect
        self.about = about
        self.attribute = ""

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.attribute = attribute

    @overload
    def __get__(self, table: None, owner: type) -> Self: ...
    @overload
    def __get__(self, table: object, owner: type) -> T: ...
    def __get__(self, table: object | None, owner: type) -> Self | T:
        return self if table is None else self.default

    @property
    def sensitive(self) -> bool:
        """Whether the value is never shown."""
        return self.kind is Kind.PASSWORD

    def parse(self, value: object) -> T:
        """The typed value of what a property file, a znode or a caller gave.

        Raises ConfigError naming the setting, the value and what is allowed.
        """
        if value is None:
            parsed: Any = None
        elif isinstance(value, str):
            parsed = self._parse_text(value.strip())
        else:
            parsed = self._accept_typed(value)
        if parsed is None:
            if self.default is not None or self.required:
                raise ConfigError(f"Invalid value null for configuration {self.name}: a value is required")
        elif self.check is not None and not self.check.allows(parsed):
            raise ConfigError(
                f"Invalid value {self._shown(value)} for configuration {self.name}: must be {self.check.text}"
            )
        result: T = parsed
        return result

    def _parse_text(self, text: str) -> Any:
        try:
            return _PARSERS[self.kind](self.kind, text)
        except ValueError as error:
            reason = str(error) if isinstance(error, _Misfit) else "cannot be read"
            raise ConfigError(
                f"Invalid value {self._shown(text)} for configuration {self.name}: "
                f"not a {self.kind.name.lower()}, {reason}"
            ) from None

    def _accept_typed(self, value: object) -> Any:
        if self.kind is Kind.CLASS or (self.kind is Kind.STRING and not isinstance(value, (int, float))):
            return value
        if self.kind is Kind.LIST and isinstance(value, Sequence):
            return list(value)
        if self.kind is Kind.BOOLEAN and isinstance(value, bool):
            return value
        if self.kind is Kind.DOUBLE and isinstance(value, (int, float)):
            return float(value)
        return self._parse_text(str(value))

    def _shown(self, value: object) -> str:
        return HIDDEN if self.sensitive else str(value)

    def text(self, value: T) -> str | None:
        """The value as tools and DescribeConfigs print it (never for sensitive settings)."""
        return text_of_value(self.kind, value)


class OptionTable:
    """The typed values of one set of properties.

    Subclasses hold Option rows as class attributes. `originals`: the text given, by name; `unknown`: names given
    that no row has. Subclasses override `validate` for rules between settings.
    """

    ROWS: ClassVar[dict[str, Option[Any]]] = {}

    originals: dict[str, object]
    unknown: list[str]

    def __init_subclass__(cls, *, no_effect: str = "", **kwargs: object) -> None:
        """no_effect: of all rows that the class itself declares, unless they say otherwise."""
        super().__init_subclass__(**kwargs)
        for value in vars(cls).values():
            if isinstance(value, Option) and value.attribute in vars(cls):
                value.no_effect = value.no_effect or no_effect
        rows: dict[str, Option[Any]] = {}
        for base in reversed(cls.__mro__):
            for value in vars(base).values():
                if isinstance(value, Option):
                    rows[value.name] = value
        cls.ROWS = rows

    @classmethod
    def parse(cls, properties: Mapping[str, object] | None = None) -> Self:
        """A table from properties, unset ones at their default.

        Raises ConfigError for the first value that cannot be read or breaks a rule.
        """
        table = cls.__new__(cls)
        given = dict(properties or {})
        table.originals = given
        table.unknown = [name for name in given if name not in cls.ROWS]
        values = table.__dict__
        for name, row in cls.ROWS.items():
            if name in given:
                values[row.attribute] = row.parse(given[name])
            elif row.required:
                raise ConfigError(f"Missing required configuration {name} which has no default value")
            else:
                values[row.attribute] = list(row.default) if isinstance(row.default, (list, tuple)) else row.default
        table.validate()
        return table

    def validate(self) -> None:
        """Rules between settings; raises ConfigError. The tables that compose one another call super()."""

    def without_effect(self) -> dict[str, str]:
        """The settings given that change nothing, and why."""
        return {name: self.ROWS[name].no_effect for name in self.originals if name in self.ROWS and
                self.ROWS[name].no_effect}  # fmt: skip

    def override(self, properties: Mapping[str, object]) -> Self:
        """A new table with these properties on top of the ones this one was made of."""
        return type(self).parse({**self.originals, **properties})

    def text(self, name: str) -> str | None:
        """The present value of the setting `name` as Kafka prints it."""
        row = self.ROWS[name]
        return row.text(getattr(self, row.attribute))

    @classmethod
    def describe(cls) -> Iterator[Option[Any]]:
        """The rows, in order of declaration; docs and DescribeConfigs are made of them."""
        yield from cls.ROWS.values()
