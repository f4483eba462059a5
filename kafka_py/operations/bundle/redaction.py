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

_OPTION = re.compile(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"')
_NO_SECRETS = {"username", "principal", "servicename", "keytab", "usekeytab", "storekey", "useticketcache"}
"""Options of logins, in lower case, that others may know."""
_PLAIN_VALUES = {"true", "false", "none", "null", "jks", "pkcs12", "pem", "required"}
_PEM = re.compile(r"-----BEGIN ([A-Z ]*PRIVATE KEY)-----.{0,20000}?-----END \1-----", re.DOTALL)
_NAMED = re.compile(
    r"""(?ix) ( (?: password | passwd | secret | credential | api[._-]?key | access[._-]?token | client[._-]?key )
        [\w.\-]{0,80} ["']? \s{0,9} [=:] \s{0,9} )
        ( "(?:[^"\\\n]|\\.)*" | '[^'\n]*' | [^\s,;&"'\])}]+ )"""
)
_USERS = re.compile(r"""(?i)(\buser_[\w.\-]+\s*=\s*)("(?:[^"\\]|\\.)*"|[^\s;,]+)""")
_JAAS = re.compile(r"(?i)(sasl\.jaas\.config\s*[=:]\s*)(.+)")
_AUTHORIZATION = re.compile(r"(?i)\b(authorization\s*[=:]\s*)(?:(bearer|basic)\s+)?[^\s,;]+")
_IN_URL = re.compile(r"(://[^\s/:@]{0,200}:)([^\s/@]{1,500})(@)")


def without_secrets(settings: Mapping[str, str], is_secret: IsSecret) -> dict[str, str]:
    """The settings with [hidden] in place of secrets."""
    return {name: HIDDEN if is_secret(name) else value for name, value in settings.items()}


def secrets_in(settings: Mapping[str, str], is_secret: IsSecret) -> set[str]:
    """The values that must not be found in any text: secret ones, and the options of logins."""
    found: set[str] = set()
    for name, value in settings.items():
        if is_secret(name):
            found.add(value)
            found.update(text for option, text in _OPTION.findall(value) if option.lower() not in _NO_SECRETS)
    return {each for each in found if len(each) >= LEAST_LENGTH and each.lower() not in _PLAIN_VALUES}


class Redactor:
    """Removes known secrets from texts, and what looks like one: passwords, private keys, credentials in addresses."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        long = {form for each in secrets if len(each) >= LEAST_LENGTH for form in _forms(each)}
        pattern = "|".join(re.escape(each) for each in sorted(long, key=lambda each: (-len(each), each)))
        self._known = re.compile(pattern) if pattern else None

    def text(self, text: str) -> str:
        """The text without secrets."""
        text = _PEM.sub(HIDDEN, text)
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        text = _JAAS.sub(rf"\1{HIDDEN}", text)
        text = _NAMED.sub(_hide_value, text)
        text = _USERS.sub(rf"\1{HIDDEN}", text)
        text = _AUTHORIZATION.sub(rf"\1{HIDDEN}", text)
        return _IN_URL.sub(rf"\1{HIDDEN}\3", text)


def _forms(secret: str) -> set[str]:
    """As it is, and as JSON, addresses and property files have it."""
    return {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], quote(secret, safe=""),
            secret.replace("\\", "\\\\")}  # fmt: skip


def _hide_value(found: re.Match[str]) -> str:
    """Keeps a value that says nothing, such as null, and quotes around one that does."""
    value = found[2]
    if value.strip("\"'").lower() in _PLAIN_VALUES or value.startswith(HIDDEN[:-1]):
        return found[0]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{found[1]}{quote}{HIDDEN}{quote}"
