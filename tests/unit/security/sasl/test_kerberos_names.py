"""Rules for the short names of Kerberos principals, where those of Java's own samples end."""

import pytest

from kafka_py.security.sasl.kerberos_names import NoMatchingRule, parse_principal, parse_rules, short_name


def test_letters_in_rules_are_those_of_java() -> None:
    """A rule for `\\w` is for ASCII alone: it must not name a client that Apache's broker refuses."""
    rules = parse_rules(["RULE:[1:$1](\\w+)s/a/b/", "RULE:[2:$1](.*)s/\\W//g"])
    assert short_name(parse_principal("ana@R"), rules, "") == "bna"
    assert short_name(parse_principal("\u00e5-na/h@R"), rules, "") == "na"
    for name in ("\u00e5na@R", "\u0661@R"):
        with pytest.raises(NoMatchingRule):
            short_name(parse_principal(name), rules, "")
