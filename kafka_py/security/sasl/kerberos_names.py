"""Kerberos principals as short names, by the rules of `sasl.kerberos.principal.to.local.rules`.

Source: KerberosName, KerberosRule, KerberosShortNamer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from kafka_py.base.errors import ConfigError

_PRINCIPAL = re.compile(r"([^/@]*)(?:/([^/@]*))?@([^/@]*)")
_RULE = re.compile(
    r"DEFAULT|RULE:\[(?P<count>\d+):(?P<format>[^\]]*)\](?:\((?P<pattern>[^)]*)\))?"
    r"(?:s/(?P<old>[^/]*)/(?P<new>[^/]*)/(?P<all>g)?)?/?(?P<fold>[LU])?"
)
_PLACE = re.compile(r"\$(\d*)")
_GROUP = re.compile(r"\\(.)|\$(\d)|(\\$|\$)", re.DOTALL)
_SETTING = "sasl.kerberos.principal.to.local.rules"


class NoMatchingRule(Exception):
    """No rule gives the principal a short name."""


class KerberosPrincipal(NamedTuple):
    """`service/host@REALM`; host and realm may be missing."""

    service: str
    host: str | None
    realm: str | None


class KerberosRule(NamedTuple):
    """A parsed rule; components: of the principals it is for; None: the rule DEFAULT."""

    components: int | None = None
    format: str = ""
    pattern: re.Pattern[str] | None = None
    old: re.Pattern[str] | None = None
    new: str = ""
    replaces_all: bool = False
    fold: str | None = None


def parse_principal(text: str) -> KerberosPrincipal:
    """A text without `@` is a simple name. Raises ValueError."""
    found = _PRINCIPAL.fullmatch(text)
    if found is not None:
        return KerberosPrincipal(found[1], found[2], found[3])
    if "@" in text:
        raise ValueError(f"Malformed Kerberos name: {text}")
    return KerberosPrincipal(text, None, None)


def parse_rules(texts: Sequence[str]) -> list[KerberosRule]:
    """Raises ConfigError."""
    return [_parse_rule(text) for text in texts]


def _parse_rule(text: str) -> KerberosRule:
    found = _RULE.fullmatch(text.strip())
    if found is None:
        raise ConfigError(f"{_SETTING}: the rule {text!r} cannot be parsed")
    if found["count"] is None:
        return KerberosRule()
    try:
        # as in Java `\w` and the like are ASCII: a rule for those letters lets no others in
        pattern, old = (
            None if found[name] is None else re.compile(found[name], re.ASCII) for name in ("pattern", "old")
        )
    except re.error as error:
        raise ConfigError(f"{_SETTING}: the rule {text!r} has an invalid expression: {error}") from None
    count, new, is_global = int(found["count"]), found["new"] or "", found["all"] is not None
    return KerberosRule(count, found["format"], pattern, old, new, is_global, found["fold"])


def short_name(principal: KerberosPrincipal, rules: Sequence[KerberosRule], default_realm: str) -> str:
    """The name by the first rule that applies. Raises NoMatchingRule; ValueError for a rule with an unusable format."""
    if principal.realm is None:
        return principal.service
    parts = [principal.realm, principal.service, *([] if principal.host is None else [principal.host])]
    for rule in rules:
        name = _by_rule(rule, parts, default_realm)
        if name is not None:
            if "/" in name or "@" in name:
                raise NoMatchingRule(f"a rule makes {name!r} of a principal, which is no short name")
            return name
    raise NoMatchingRule(f"No rules apply to a principal of the realm {principal.realm}")


def _by_rule(rule: KerberosRule, parts: Sequence[str], default_realm: str) -> str | None:
    if rule.components is None:
        return parts[1] if parts[0] == default_realm else None
    if rule.components != len(parts) - 1:
        return None
    text = _PLACE.sub(lambda found: _component(found[1], parts), rule.format)
    if rule.pattern is not None and rule.pattern.fullmatch(text) is None:
        return None
    if rule.old is not None:
        text = rule.old.sub(lambda found: _replacement(rule.new, found), text, count=0 if rule.replaces_all else 1)
    return text.lower() if rule.fold == "L" else text.upper() if rule.fold == "U" else text


def _component(number: str, parts: Sequence[str]) -> str:
    if not number or int(number) >= len(parts):
        raise ValueError(f"a rule asks for component ${number} of a principal with {len(parts) - 1}")
    return parts[int(number)]


def _replacement(new: str, found: re.Match[str]) -> str:
    """`$1` and `\\x` as in Java."""

    def part(escape: re.Match[str]) -> str:
        if escape[1] is not None:
            return escape[1]
        if escape[2] is None or int(escape[2]) > found.re.groups:
            raise ValueError("a rule refers to a group that its expression does not have")
        return found[int(escape[2])] or ""

    return _GROUP.sub(part, new)
