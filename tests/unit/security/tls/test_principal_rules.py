"""Rules for the principals of certificates, where those of Java's own samples end."""

import pytest

from kafka_py.security.tls.principal_rules import PrincipalRules


def test_letters_in_rules_are_those_of_java() -> None:
    """A rule for `\\w` is for ASCII alone: it must not name a client that Apache's broker refuses."""
    rules = PrincipalRules("RULE:^CN=(\\w+)$/$1/L")
    assert rules.name_of("CN=Alice") == "alice"
    with pytest.raises(ValueError, match="no rule"):
        rules.name_of("CN=\u00c5lice")
