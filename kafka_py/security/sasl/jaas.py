"""JAAS login entries: in the value of `sasl.jaas.config`, and in the sections of a login file.

Pure: text in, values out. Options hold passwords, so neither errors nor `repr` show their values.
Source: KIP-85; JaasConfig, JaasContext.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_py.base.errors import ConfigError

SERVER_SECTION = "KafkaServer"
CLIENT_SECTION = "KafkaClient"
LOGIN_FILE_PROPERTY = "java.security.auth.login.config"

_FLAGS = frozenset({"required", "requisite", "sufficient", "optional"})
_BLANKS_AND_COMMENTS = re.compile(r"(?:[\0- ]+|//[^\r\n]*|/\*.*?\*/)+", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_$*\u00a0-\U0010ffff][A-Za-z0-9._$*\u00a0-\U0010ffff-]*")
_NUMBER = re.compile(r"[0-9.-]+")
_ESCAPE = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class MalformedJaas(ConfigError):
    """A login entry that cannot be parsed; says where, never which value."""


@dataclass(frozen=True, slots=True)
class LoginModule:
    """One entry. module: the class name. flag: in lower case. options: with secrets, so they are not shown."""

    module: str
    flag: str
    options: Mapping[str, str] = field(repr=False)


class _Token(NamedTuple):
    """kind: `word` (also what was quoted), `number`, or the character itself."""

    kind: str
    text: str

    def __repr__(self) -> str:
        return f"<{self.kind}>"


def parse_property(text: str, setting: str = "sasl.jaas.config") -> LoginModule:
    """The one entry of a property's value. Raises MalformedJaas, which names `setting`."""
    entries = _Parser(text, setting).entries_to_the_end()
    if len(entries) != 1:
        found = "no login module" if not entries else f"{len(entries)} login modules"
        raise MalformedJaas(f"{setting}: exactly one login module is expected, the value has {found}")
    return entries[0]


def parse_login_file(text: str, source: str = "login file") -> dict[str, list[LoginModule]]:
    """The entries of each section of a file `Section { module flag key=value ...; };`. Raises MalformedJaas."""
    return _Parser(text, source).sections()


def server_modules(
    properties: Mapping[str, object], listener: str, mechanism: str, sections: Mapping[str, list[LoginModule]]
) -> list[LoginModule]:
    """The entries for a mechanism of a broker's listener: the setting with both prefixes, else the file's section of
    the listener, else `KafkaServer`. Raises ConfigError when there is none, MalformedJaas."""
    prefix = f"listener.name.{listener.lower()}."
    setting = f"{prefix}{mechanism.lower()}.sasl.jaas.config"
    value = properties.get(setting)
    if value is not None:
        return [parse_property(str(value), setting)]
    for section in (f"{listener.lower()}.{SERVER_SECTION}", SERVER_SECTION):
        if section in sections:
            return sections[section]
    raise ConfigError(
        f"Listener {listener} has no login for {mechanism}: set {setting}, or {LOGIN_FILE_PROPERTY} to a file with a "
        f"section {listener.lower()}.{SERVER_SECTION} or {SERVER_SECTION}"
    )


def client_module(value: str | None, sections: Mapping[str, list[LoginModule]]) -> LoginModule:
    """The entry of a client: `sasl.jaas.config`, else the file's section KafkaClient. Raises ConfigError."""
    if value is not None:
        return parse_property(value)
    modules = sections.get(CLIENT_SECTION)
    if not modules:
        raise ConfigError(
            f"No login is configured: set sasl.jaas.config, or {LOGIN_FILE_PROPERTY} to a file with a section "
            f"{CLIENT_SECTION}"
        )
    if len(modules) > 1:
        raise ConfigError(f"The section {CLIENT_SECTION} of the login file has {len(modules)} login modules, not one")
    return modules[0]


class _Parser:
    """Reads tokens of a text. source: names the text in errors."""

    def __init__(self, text: str, source: str) -> None:
        self._tokens = list(_tokens(text, source))
        self._next = 0
        self._source = source

    def _take(self) -> _Token | None:
        if self._next == len(self._tokens):
            return None
        self._next += 1
        return self._tokens[self._next - 1]

    def _word(self, expected: str) -> str:
        token = self._take()
        if token is None or token.kind != "word":
            raise self._fault(f"{expected} is expected")
        return token.text

    def _mark(self, mark: str) -> None:
        token = self._take()
        if token is None or token.kind != mark:
            raise self._fault(f"{mark!r} is expected")

    def _fault(self, problem: str) -> MalformedJaas:
        return MalformedJaas(f"{self._source}: {problem} as token {self._next}")

    def _is_at(self, mark: str) -> bool:
        return self._next < len(self._tokens) and self._tokens[self._next].kind == mark

    def entries_to_the_end(self) -> list[LoginModule]:
        entries = []
        while self._next < len(self._tokens):
            entries.append(self._entry())
        return entries

    def sections(self) -> dict[str, list[LoginModule]]:
        found: dict[str, list[LoginModule]] = {}
        while self._next < len(self._tokens):
            name = self._word("the name of a section")
            if name in found:
                raise MalformedJaas(f"{self._source}: the section {name} is there twice")
            self._mark("{")
            entries = []
            while not self._is_at("}"):
                entries.append(self._entry())
            self._mark("}")
            self._mark(";")
            found[name] = entries
        return found

    def _entry(self) -> LoginModule:
        module = self._word("the class of a login module")
        flag = self._word("a control flag").lower()
        if flag not in _FLAGS:
            raise self._fault(f"one of {', '.join(sorted(_FLAGS))} is expected")
        options: dict[str, str] = {}
        while not self._is_at(";"):
            key = self._word("an option or ';'")
            self._mark("=")
            options[key] = self._word(f"a value of {key}, in quotes if it has other characters than letters,")
        self._mark(";")
        return LoginModule(module, flag, options)


def _tokens(text: str, source: str) -> Iterator[_Token]:
    pos = 0
    while pos < len(text):
        found = _BLANKS_AND_COMMENTS.match(text, pos)
        if found is not None:
            pos = found.end()
            continue
        char = text[pos]
        if char in "\"'":
            end = _closing_quote(text, pos, source)
            yield _Token("word", _ESCAPE.sub(_unescaped, text[pos + 1 : end]))
            pos = end + 1
            continue
        found = _WORD.match(text, pos)
        if found is not None:
            yield _Token("word", found[0])
        else:
            found = _NUMBER.match(text, pos)
            yield _Token("number", found[0]) if found is not None else _Token(char, char)
        pos = found.end() if found is not None else pos + 1


def _closing_quote(text: str, opening: int, source: str) -> int:
    pos = opening + 1
    while pos < len(text) and text[pos] not in "\r\n":
        if text[pos] == text[opening]:
            return pos
        pos += 2 if text[pos] == "\\" else 1
    raise MalformedJaas(f"{source}: a quote is not closed on its line")


def _unescaped(found: re.Match[str]) -> str:
    escaped = found[1]
    return chr(int(escaped, 8)) if escaped[0] in "01234567" else _ESCAPED.get(escaped, escaped)
