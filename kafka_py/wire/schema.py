"""How a message is declared: @request, @response, @struct, @message, the field types, and since().

A decorated class becomes a slots class with a keyword constructor in which every field has a default, with == and repr.
Its declaration is kept as a Schema, from which compiler.py writes the code and __main__.py the description. No bytes
here.

    @request(api=ApiKey.HEARTBEAT, versions=(0, 4), flexible=4)
    class HeartbeatRequest:
        group_id: String                                              # in every version
        group_instance_id: String | None = since(3, default=None)     # null allowed wherever it is present

A field's default is what `default=` says, else its type's zero: 0, "", b"", [], the struct with all defaults; None for
Records. So a nullable string without `default=None` starts as "", as in Kafka's schemas. Type checkers are stricter
than the constructor: they want every field given that has no since(), that is, those which every version carries.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, TypeVar, dataclass_transform, get_args

from kafka_py.base.ids import ZERO_UUID

if TYPE_CHECKING:
    from uuid import UUID

    from kafka_py.wire.apis import ApiKey
    from kafka_py.wire.primitives import Buffer, RecordParts

T = TypeVar("T")
Kind: TypeAlias = Literal["request", "response", "header", "data", "struct"]
NEWEST: Final = 32767


class Scalar:
    """A type without fields.

    code: its struct format; "" if its size varies. size: in bytes, where fixed.
    classic: its length is not compact even in flexible versions.
    """

    __slots__ = ("classic", "code", "name", "size", "zero")

    def __init__(self, name: str, code: str, size: int, zero: object, *, classic: bool = False) -> None:
        self.name = name
        self.code = code
        self.size = size
        self.zero = zero
        self.classic = classic

    def __or__(self, other: None) -> "Nullable":
        return Nullable(self)

    def __repr__(self) -> str:
        return self.name


class Nullable(NamedTuple):
    """What `String | None` evaluates to."""

    scalar: Scalar


if TYPE_CHECKING:
    Bool: TypeAlias = bool
    Int8: TypeAlias = int
    Int16: TypeAlias = int
    UInt16: TypeAlias = int
    Int32: TypeAlias = int
    UInt32: TypeAlias = int
    Int64: TypeAlias = int
    Float64: TypeAlias = float
    String: TypeAlias = str
    ClassicString: TypeAlias = str
    Bytes: TypeAlias = Buffer
    Uuid: TypeAlias = UUID
    Records: TypeAlias = RecordParts
else:
    Bool = Scalar("bool", "?", 1, False)
    Int8 = Scalar("int8", "b", 1, 0)
    Int16 = Scalar("int16", "h", 2, 0)
    UInt16 = Scalar("uint16", "H", 2, 0)
    Int32 = Scalar("int32", "i", 4, 0)
    UInt32 = Scalar("uint32", "I", 4, 0)
    Int64 = Scalar("int64", "q", 8, 0)
    Float64 = Scalar("float64", "d", 8, 0.0)
    Uuid = Scalar("uuid", "16s", 16, ZERO_UUID)
    String = Scalar("string", "", 0, "")
    ClassicString = Scalar("string", "", 0, "", classic=True)  # int16 length, whatever the version
    Bytes = Scalar("bytes", "", 0, b"")
    Records = Scalar("records", "", 0, None)


class Versions(NamedTuple):
    """From `low` to `high`, both inclusive; NEWEST means "and all later ones"."""

    low: int
    high: int = NEWEST

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.low <= version <= self.high

    def __str__(self) -> str:
        if self.high == NEWEST:
            return f"{self.low}+"
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


class Field:
    """One field as declared."""

    __slots__ = (
        "default",
        "element",
        "ignorable",
        "is_array",
        "name",
        "null_versions",
        "tag",
        "tag_versions",
        "versions",
    )

    name: str
    element: "Scalar | type[Message]"  # what it is, or what its array holds
    is_array: bool
    versions: Versions
    null_versions: Versions | None
    tag: int | None
    tag_versions: Versions | None
    ignorable: bool  # dropped without a word where the version lacks it
    default: Any  # [] and struct defaults are never handed out themselves: see Message and frozen_default

    def is_tagged(self, version: int) -> bool:
        return self.tag_versions is not None and version in self.tag_versions

    def is_nullable(self, version: int) -> bool:
        return self.null_versions is not None and version in self.null_versions


class Schema:
    """What is declared of one class. For a struct, `versions` means nothing and `api` is None."""

    __slots__ = ("api", "fields", "flexible", "kind", "name", "versions")

    def __init__(
        self,
        name: str,
        kind: Kind,
        api: "ApiKey | None",
        versions: Versions,
        flexible: int | None,
        fields: tuple[Field, ...],
    ) -> None:
        self.name = name
        self.kind = kind
        self.api = api
        self.versions = versions
        self.flexible = flexible
        self.fields = fields

    def is_flexible(self, version: int) -> bool:
        """Compact lengths and tagged fields (KIP-482)."""
        return self.flexible is not None and version >= self.flexible


SECRET_FIELDS = frozenset(("auth_bytes", "hmac", "salt", "salted_password"))
"""Fields that hold a password or what proves its possession; no repr or log shows them."""


class Message:
    """What every declared class inherits: construction by keyword, equality by value, a repr without secrets."""

    __slots__ = ()
    __schema__: Schema

    def __init__(self, **values: Any) -> None:
        cls = next(c for c in type(self).__mro__ if "__schema__" in c.__dict__)
        constructor = _constructor(cls)
        type.__setattr__(cls, "__init__", constructor)  # from now on: written on first use, so that imports stay cheap
        constructor(self, **values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message) or other.__schema__ is not self.__schema__:
            return NotImplemented
        return all(getattr(self, f.name) == getattr(other, f.name) for f in self.__schema__.fields)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        values = ((f.name, getattr(self, f.name)) for f in self.__schema__.fields)
        shown = (f"{name}={'(redacted)' if value and name in SECRET_FIELDS else repr(value)}" for name, value in values)
        return f"{self.__schema__.name}({', '.join(shown)})"


class Since(NamedTuple):
    """What since() noted about a field."""

    versions: Versions
    null_since: int | None
    tag: int | None
    tag_since: int | None
    ignorable: bool
    default: Any


_ZERO: Final = object()
_ALWAYS = Since(Versions(0), None, None, None, False, _ZERO)


def since(
    version: int,
    *,
    until: int = NEWEST,
    tag: int | None = None,
    tag_since: int | None = None,
    null_since: int | None = None,
    ignorable: bool = False,
    default: Any = _ZERO,
) -> Any:
    """Which versions carry a field, and how.

    version, until: the first and the last version with it, both inclusive.
    tag: its number, if it travels as a tagged field, from `tag_since` (or the field's first version) on.
    null_since: the first version in which null is allowed; without it a `| None` field is nullable wherever present.
    ignorable: a version without the field just drops it; otherwise encoding a value other than the default fails.
    """
    return Since(Versions(version, until), null_since, tag, tag_since, ignorable, default)


@dataclass_transform(kw_only_default=True)
def struct(cls: type[T]) -> type[T]:
    """A part of a message: lives inside one, in that one's versions."""
    return _declare(cls, "struct", None, Versions(0), None)


@dataclass_transform(kw_only_default=True)
def request(*, api: "ApiKey", versions: tuple[int, int], flexible: int | None) -> Callable[[type[T]], type[T]]:
    """versions: first and last, inclusive. flexible: the first version with compact lengths and tags, or None."""
    return lambda cls: _declare(cls, "request", api, Versions(*versions), flexible)


@dataclass_transform(kw_only_default=True)
def response(*, api: "ApiKey", versions: tuple[int, int], flexible: int | None) -> Callable[[type[T]], type[T]]:
    """As request()."""
    return lambda cls: _declare(cls, "response", api, Versions(*versions), flexible)


@dataclass_transform(kw_only_default=True)
def message(*, kind: Kind = "data", versions: tuple[int, int], flexible: int | None) -> Callable[[type[T]], type[T]]:
    """What is neither request nor response: a header, or data kept inside records or other messages' bytes."""
    return lambda cls: _declare(cls, kind, None, Versions(*versions), flexible)


def schema_of(cls: type) -> Schema:
    """The declaration of a decorated class."""
    schema: Schema = cls.__schema__  # type: ignore[attr-defined]
    return schema


def frozen_default(cls: type[Message]) -> Message:
    """The struct with all defaults, one for all who leave the field out; changing it is refused."""
    return _frozen_class(cls)()


def _declare(cls: type[T], kind: Kind, api: "ApiKey | None", versions: Versions, flexible: int | None) -> type[T]:
    declared: dict[str, Any] = cls.__annotations__
    fields = tuple(_field(name, type_, cls.__dict__.get(name, _ALWAYS)) for name, type_ in declared.items())
    kept = {name: value for name, value in cls.__dict__.items() if name not in declared}
    for name in ("__dict__", "__weakref__", "__annotations__"):
        kept.pop(name, None)
    kept["__slots__"] = tuple(declared)
    kept["__schema__"] = Schema(cls.__name__, kind, api, versions, flexible, fields)
    return type(cls.__name__, (Message,), kept)


def _field(name: str, declared: Any, given: Since) -> Field:
    field = Field()
    field.name = name
    nullable, declared = _without_none(declared)
    field.is_array = getattr(declared, "__origin__", None) is list
    field.element = get_args(declared)[0] if field.is_array else declared
    field.versions = given.versions
    null_since = given.versions.low if given.null_since is None else given.null_since
    field.null_versions = Versions(null_since, given.versions.high) if nullable else None
    field.tag = given.tag
    tag_since = given.versions.low if given.tag_since is None else given.tag_since
    field.tag_versions = None if given.tag is None else Versions(tag_since, given.versions.high)
    field.ignorable = given.ignorable
    if given.default is not _ZERO:
        field.default = given.default
    elif field.is_array:
        field.default = []
    else:
        field.default = field.element.zero if isinstance(field.element, Scalar) else frozen_default(field.element)
    return field


def _without_none(declared: Any) -> tuple[bool, Any]:
    """(is it nullable, the type without None)."""
    if isinstance(declared, Nullable):
        return True, declared.scalar
    choices = get_args(declared) if not hasattr(declared, "__origin__") else ()
    if type(None) in choices:
        return True, next(choice for choice in choices if choice is not type(None))
    return False, declared


def _constructor(cls: type[Message]) -> Any:
    """Writes __init__ for `cls`: keyword arguments only, for field order is the wire's business."""
    fields = cls.__schema__.fields
    defaults: dict[str, Any] = {"_empty": object()}
    parameters, body = [], []
    for field in fields:
        if field.is_array and field.default is not None:
            parameters.append(f"{field.name}=_empty")
            body.append(f"    self.{field.name} = [] if {field.name} is _empty else {field.name}")
            continue
        defaults[f"_{field.name}"] = field.default
        parameters.append(f"{field.name}=_{field.name}")
        body.append(f"    self.{field.name} = {field.name}")
    signature = ", ".join(["self", "*", *parameters]) if fields else "self"
    source = f"def __init__({signature}):\n" + "\n".join(body or ["    pass"])
    namespace: dict[str, Any] = {}
    exec(compile(source, f"<wire {cls.__name__}.__init__>", "exec"), defaults, namespace)
    return namespace["__init__"]


def _frozen_class(cls: type[Message]) -> type[Message]:
    def refuse(self: Message, name: str, value: object) -> None:
        if getattr(self, name, refuse) is not refuse:
            raise AttributeError(f"this {cls.__name__} is the default shared by all: assign a new one instead")
        getattr(cls, name).__set__(self, value)

    return type(cls.__name__, (cls,), {"__slots__": (), "__setattr__": refuse})
