"""`ssl.principal.mapping.rules`: how the name in a certificate becomes the name of a principal.

Source: docs/reference/security/tls.md, section 5; KIP-371; SslPrincipalMapper.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kafka_py.base.errors import ConfigError

SETTING = "ssl.principal.mapping.rules"
_RULE = re.compile(r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*(?:,|$)", re.DOTALL)
_REFERENCE = re.compile(r"\$(\d+)")


class _MappingRule(NamedTuple):
    """pattern: None for the name as it is. case: `L`, `U` or nothing."""

    pattern: re.Pattern[str] | None = None
    replacement: str = ""
    case: str = ""

    def apply(self, name: str) -> str | None:
        if self.pattern is None:
            return name
        if self.pattern.fullmatch(name) is None:
            return None
        result = self.pattern.sub(self._replaced, name)
        return result.lower() if self.case == "L" else result.upper() if self.case == "U" else result

    def _replaced(self, match: re.Match[str]) -> str:
        groups = match.re.groups

        def group(reference: re.Match[str]) -> str:
            digits = reference[1]
            used = digits
            while len(used) > 1 and int(used) > groups:
                used = used[:-1]
            if int(used) > groups:
                return reference[0]
            return (match[int(used)] or "") + digits[len(used) :]

        return _REFERENCE.sub(group, self.replacement)


class PrincipalRules:
    """The rules, in order. Raises ConfigError for a rule that cannot be read. setting: its name, for errors."""

    def __init__(self, text: str, setting: str = SETTING) -> None:
        self._setting = setting
        self._rules = _parsed(text, setting)

    def name_of(self, distinguished_name: str) -> str:
        """The principal's name. Raises ValueError when no rule matches."""
        for rule in self._rules:
            name = rule.apply(distinguished_name)
            if name is not None:
                return name
        raise ValueError(f"no rule of {self._setting} matches the certificate's name {distinguished_name}")


def _parsed(text: str, setting: str) -> list[_MappingRule]:
    rules: list[_MappingRule] = []
    at, end = 0, len(text)
    while at < end:
        if text[at:].strip(" ,") == "":
            break
        if text[at] in ", ":
            at += 1
            continue
        match = _RULE.match(text, at)
        if match is None:
            raise ConfigError(f"{setting}: invalid rule {text[at:]!r}; expected DEFAULT or RULE:pattern/replacement/")
        at = match.end()
        if match[1]:
            rules.append(_MappingRule())
            continue
        try:
            pattern = re.compile(_unprotected(match[2]), re.ASCII)  # as in Java `\w` and the like
        except re.error as error:
            raise ConfigError(f"{setting}: invalid pattern {match[2]!r}: {error}") from None
        rules.append(_MappingRule(pattern, _unprotected(match[3]), match[4]))
    return rules


def _unprotected(text: str) -> str:
    r"""`\/` stands for `/`."""
    return text.replace("\\/", "/")
