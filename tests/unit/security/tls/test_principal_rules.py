"""Rules for the principals of certificates, where those of Java's own samples end."""

import pytest

from kafka_py.security.tls.principal_rules import PrincipalRules


def test_letters_in_rules_are_those_of_java() -> None:
    """A rule for `\\w` is for ASCII alone: it must not name a client that Apache's broker refuses."""
    rules = PrincipalRules("RULE:^CN=(\\w+)$/$1/L")
    assert rules.name_of("CN=Alice") == "alice"
    with pytest.raises(ValueError, match="no rule"):
        rules.name_of("CN=\u00c5lice")


def test_a_pattern_that_matches_a_part_of_the_name_only_does_not_count() -> None:
    """Else whoever may choose the rest of a name could have that of another."""
    rules = PrincipalRules("RULE:CN=alice/admin/,RULE:OU=x/admin/,DEFAULT")
    assert [rules.name_of(name) for name in ("CN=alice", "CN=alice,OU=x")] == ["admin", "CN=alice,OU=x"]
