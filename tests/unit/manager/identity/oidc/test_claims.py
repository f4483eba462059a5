"""Names and roles from claims."""

from typing import Any

import pytest

from kafka_py.manager.identity.oidc.claims import ClaimsRefused, identity_of, is_complete, role_of_claims, user_of
from kafka_py.manager.identity.oidc.settings import OidcSettings
from kafka_py.manager.identity.roles import AccessRole

SUB = {"sub": "1"}


def settings(**changed: Any) -> OidcSettings:
    given = {"administrators": ("admins",), "readers": ("users",), **changed}
    return OidcSettings("https://login.example", "manager", public_url="https://kafka.example", **given)


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"preferred_username": "ann", "email": "a@b"}, "ann"),
        ({"preferred_username": " ", "email": "a@b"}, "a@b"),
        ({"email": "a@b", "email_verified": True}, "a@b"),
        ({"email": "a@b", "email_verified": False}, "1"),  # whoever registers may write any address
        ({"email": "a@b", "email_verified": "false"}, "1"),  # as some providers write it
        ({"preferred_username": ["ann"]}, "1"),
        ({"preferred_username": "<script>alert(1)</script>"}, "<script>alert(1)</script>"),  # pages escape it
        ({"preferred_username": "a\nb"}, "a\\nb"),
        ({"preferred_username": "x" * 300}, "x" * 100 + "..."),
    ],
)
def test_the_name_is_the_first_usual_claim(claims: dict[str, Any], name: str) -> None:
    assert identity_of({**SUB, **claims}, settings()) == (name, "https://login.example", "1")


def test_a_claim_that_is_asked_for_has_no_substitute() -> None:
    wanted = settings(name_claim="upn")
    assert identity_of({**SUB, "upn": "u", "preferred_username": "ann"}, wanted).name == "u"
    with pytest.raises(ClaimsRefused, match="the claim upn is missing"):
        identity_of({**SUB, "preferred_username": "ann"}, wanted)


@pytest.mark.parametrize("subject", [None, "", 7])
def test_nobody_is_let_in_without_a_subject(subject: Any) -> None:
    with pytest.raises(ClaimsRefused, match="no subject"):
        identity_of({"sub": subject, "preferred_username": "ann"}, settings())


@pytest.mark.parametrize(
    ("groups", "role"),
    [
        (["users", "admins"], AccessRole.ADMINISTRATOR),
        (["users"], AccessRole.READER),
        ("admins", AccessRole.ADMINISTRATOR),
        ("other admins", AccessRole.NOBODY),
        ("Admins", AccessRole.NOBODY),
        ({"admins": True}, AccessRole.NOBODY),
        ([{"name": "admins"}, 1, None], AccessRole.NOBODY),
        ([], AccessRole.NOBODY),
        (None, AccessRole.NOBODY),
    ],
)
def test_the_role_is_the_highest_that_a_whole_value_gives(groups: Any, role: AccessRole) -> None:
    assert role_of_claims({**SUB, "groups": groups}, settings()) is role


def test_a_role_may_be_inside_of_a_claim_or_in_one_with_dots_in_its_name() -> None:
    nested = settings(role_claim="realm_access.roles")
    assert role_of_claims({"realm_access": {"roles": ["admins"]}}, nested) is AccessRole.ADMINISTRATOR
    assert role_of_claims({"realm_access.roles": ["users"], "realm_access": {"roles": ["admins"]}}, nested) is (
        AccessRole.READER
    )
    assert role_of_claims({"realm_access": ["roles"]}, nested) is AccessRole.NOBODY


@pytest.mark.parametrize(
    ("verified", "role"),
    [
        ({}, AccessRole.NOBODY),
        ({"email_verified": False}, AccessRole.NOBODY),
        ({"email_verified": "false"}, AccessRole.NOBODY),
        ({"email_verified": True}, AccessRole.ADMINISTRATOR),
        ({"email_verified": "true"}, AccessRole.ADMINISTRATOR),
    ],
)
def test_an_email_that_anybody_may_write_gives_no_role(verified: dict[str, Any], role: AccessRole) -> None:
    by_email = settings(role_claim="email", administrators=("boss@example.com",))
    claims = {**SUB, "preferred_username": "eve", "email": "boss@example.com", **verified}
    assert role_of_claims(claims, by_email) is role
    assert is_complete(claims, by_email) == bool(verified)  # else userinfo may say whether it is verified


def test_others_are_refused_unless_they_are_readers() -> None:
    with pytest.raises(ClaimsRefused, match="ann has no role here") as refused:
        user_of({**SUB, "preferred_username": "ann"}, settings())
    assert refused.value.user == "ann"
    user = user_of({**SUB, "preferred_username": "ann"}, settings(others="reader"))
    assert user == ("ann", AccessRole.READER, "", "https://login.example", "1")


def test_userinfo_is_asked_for_what_an_id_token_lacks() -> None:
    assert is_complete({"preferred_username": "ann", "groups": []}, settings())
    assert not is_complete({"preferred_username": "ann"}, settings())
    assert not is_complete({"groups": []}, settings())
    assert is_complete({"upn": "u", "groups": []}, settings(name_claim="upn"))
