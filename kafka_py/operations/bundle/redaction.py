"""Takes secrets out of settings, by their names, and out of any text, by the values and by what is around them. Pure.

A setting whose name is in no table counts as secret: nobody knows what it is.
Source: docs/reference/configs.tsv (type password); KIP-226.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import quote

from kafka_py.base.options import HIDDEN

IsSecret = Callable[[str], bool]
"""Whether the value of a setting of this name must not be shown."""

LEAST_LENGTH = 4
"""Shorter values are not looked for in texts: they would be found everywhere."""

_QUOTED = r"""(?P<esc>\\+)(?P<q>["'])[^\n]{0,2000}?(?<!\\)(?P=esc)(?P=q)|"(?:[^"\\\n]|\\.)*"|'[^'\n]*(?:''[^'\n]*)*'"""
"""A value in quotes; the first kind is inside of a JSON text, where quotes have backslashes before them."""
_BARE = r"""[^\s,;&"'\])}]+"""
_OPTION = re.compile(r"""(\w+)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;"']+)""")
_QUOTE = re.compile(r"""\\*["']""")
_ESCAPED = re.compile(r"\\(.)")
_NO_SECRETS = {"username", "principal", "servicename", "keytab", "usekeytab", "storekey", "useticketcache"}
"""Options of logins, in lower case, that others may know."""
_PLAIN_VALUES = {"true", "false", "none", "null", "jks", "pkcs12", "pem", "required"}
_NAMES = r"""(?: password | passwd | passphrase | \bpwd | secret | credential | hmac | api[._-]?key | client[._-]?key
    | (?:master|private)[._-]key | (?:stored|server)_key | (?:access|refresh|session|auth|id)[._-]?token )"""
_CLOSED = r"""(?:\\*["'])?"""
"""The quote behind a name."""
_PEM = re.compile(r"-----BEGIN ([A-Z ]*PRIVATE KEY)-----.{0,20000}?-----END \1-----", re.DOTALL)
_PEM_END = re.compile(r"\A[\w+/=\s\\]*-----END [A-Z ]*PRIVATE KEY-----")
_PEM_BEGINNING = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\w+/=\s\\]+")
"""Keys in texts that begin or end within them."""


_NAMED = re.compile(
    rf"""(?ix) ( {_NAMES} [\w.\-]{{0,80}} {_CLOSED} \s{{0,9}} (?: [=:]{{1,2}}>? | -?> ) \s{{0,9}}
        (?: \[ (?!hidden\]) \s? )? ) ( {_QUOTED} | {_BARE} )"""
)
_LINE = re.compile(rf"(?imx)^ ( [ \t]{{0,20}} [\w.\-]{{0,80}}? {_NAMES} [\w.\-]{{0,80}} [ \t]* [=:] [ \t]* ) (\S.*)$")
"""A line of a property file: its value ends with it."""
_USERS = re.compile(rf"(?ix) ( \buser_[\w.\-]+ \s* = \s* ) ( {_QUOTED} | [^\s;,]+ )")
_JAAS = re.compile(rf"(?ix) ( sasl\.jaas\.config {_CLOSED} \s* [=:] \s* ) ( {_QUOTED} | .+ )")
_ARGUMENT = re.compile(r"(?i)(--?[\w\-]{0,40}(?:password|passphrase|secret|token)\s+)([^\s\-]\S*)")
_AUTHORIZATION = re.compile(rf"""(?i)\b(authorization{_CLOSED}\s*[=:]\s*{_CLOSED})(?:[a-z]{{1,20}}\s+)?[^\s,;"'\\]+""")
_WEB_TOKEN = re.compile(r"\beyJ[\w\-]{6,1000}\.[\w\-]{6,4000}\.[\w\-]*")
_IN_URL = re.compile(r"(://[^\s/:@]{0,200}:)([^\s/]{1,500})(@)")


def without_secrets(settings: Mapping[str, str], is_secret: IsSecret) -> dict[str, str]:
    """The settings with [hidden] in place of secrets."""
    return {name: HIDDEN if is_secret(name) else value for name, value in settings.items()}


def secrets_in(settings: Mapping[str, str], is_secret: IsSecret) -> set[str]:
    """The values that must not be found in any text: secret ones, and the options of logins."""
    found: set[str] = set()
    for name, value in settings.items():
        if is_secret(name):
            found.add(value)
            for option, text in _OPTION.findall(value):
                if option.lower() not in _NO_SECRETS:
                    plain = text[1:-1] if text[0] in "\"'" else text
                    found |= {plain, _ESCAPED.sub(r"\1", plain)}
    return {each for each in found if len(each) >= LEAST_LENGTH and each.lower() not in _PLAIN_VALUES}


class Redactor:
    """Removes known secrets from texts, and what looks like one: passwords, private keys, credentials in addresses."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        long = {form for each in secrets if len(each) >= LEAST_LENGTH for form in _forms(each)}
        pattern = "|".join(re.escape(each) for each in sorted(long, key=lambda each: (-len(each), each)))
        self._known = re.compile(pattern) if pattern else None

    def text(self, text: str) -> str:
        """The text without secrets."""
        for key in (_PEM, _PEM_END, _WEB_TOKEN):
            text = key.sub(HIDDEN, text)
        text = _PEM_BEGINNING.sub(HIDDEN, text)
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        for named in (_JAAS, _LINE, _NAMED, _USERS, _ARGUMENT):
            text = named.sub(_hide_value, text)
        text = _AUTHORIZATION.sub(rf"\1{HIDDEN}", text)
        return _IN_URL.sub(rf"\1{HIDDEN}\3", text)


def _forms(secret: str) -> set[str]:
    """As it is, and as JSON, addresses and property files have it."""
    return {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], quote(secret, safe=""),
            secret.replace("\\", "\\\\")}  # fmt: skip


def _hide_value(found: re.Match[str]) -> str:
    """Keeps a value that says nothing, such as null, and quotes around one that does."""
    value = found[2]
    plain = value.strip("\"'\\")
    if plain.rstrip(",").lower() in _PLAIN_VALUES or plain.startswith(HIDDEN[:-1]):
        return found[0]
    quote = _QUOTE.match(value)
    return f"{found[1]}{quote[0]}{HIDDEN}{quote[0]}" if quote else f"{found[1]}{HIDDEN}"
