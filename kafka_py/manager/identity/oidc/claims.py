"""Who somebody is and what they may do, from the claims of a provider.

Pure. Names are shown and logged only: a user is told apart by issuer and subject, which no other user can have.
Source: OpenID Connect Core 1.0, sections 2, 5.1 and 5.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kafka_py.base.texts import one_line
from kafka_py.manager.identity.oidc.settings import OidcSettings
from kafka_py.manager.identity.roles import AccessRole, WebUser

MOST_CHARACTERS = 100
USUAL_NAMES = ("preferred_username", "email", "sub")
EMAIL, EMAIL_VERIFIED = "email", "email_verified"
VERIFIED, UNVERIFIED = (True, "true"), (False, "false")
"""Values of email_verified; some providers write it as a text."""

Claims = Mapping[str, Any]


class ClaimsRefused(Exception):
    """The claims are of nobody who may use the manager; the text says why. user: the name, if they have one."""

    def __init__(self, reason: str, user: str = "") -> None:
        super().__init__(reason)
        self.user = user


class ProviderIdentity(NamedTuple):
    """name: for people. subject: the provider's own id of the user, never given to another one."""

    name: str
    issuer: str
    subject: str


def identity_of(claims: Claims, settings: OidcSettings) -> ProviderIdentity:
    """Who the claims are about. Raises ClaimsRefused where the claim with the name is missing."""
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject:
        raise ClaimsRefused("The provider did not say who you are: its token has no subject")
    wanted = (settings.name_claim,) if settings.name_claim else USUAL_NAMES
    for claim in wanted:
        name = _name_in(claims, claim)
        if name:
            return ProviderIdentity(name, settings.issuer, subject)
    raise ClaimsRefused(f"The provider gave no name: the claim {settings.name_claim} is missing")


def _name_in(claims: Claims, claim: str) -> str:
    value = value_at(claims, claim)
    if not isinstance(value, str) or (claim == EMAIL and claims.get(EMAIL_VERIFIED) in UNVERIFIED):
        return ""
    return one_line(value.strip(), MOST_CHARACTERS)


def value_at(claims: Claims, path: str) -> Any:
    """A claim by its name, which may contain dots; else the member that a path such as realm_access.roles leads to."""
    if path in claims:
        return claims[path]
    value: Any = claims
    for name in path.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return None
        value = value[name]
    return value


def role_of_claims(claims: Claims, settings: OidcSettings) -> AccessRole:
    """The highest role that the values of the claim give; NOBODY for whoever may not come in.

    A text is one value: its words are not looked at, for whoever chooses a text may put any word into it. An email
    gives a role only if the provider says that it is verified, for whoever registers may write that of somebody else.
    """
    value = value_at(claims, settings.role_claim)
    if settings.role_claim == EMAIL and claims.get(EMAIL_VERIFIED) not in VERIFIED:
        value = None
    values = {value} if isinstance(value, str) else {each for each in _elements(value) if isinstance(each, str)}
    if values & set(settings.administrators):
        return AccessRole.ADMINISTRATOR
    if values & set(settings.readers) or settings.others == "reader":
        return AccessRole.READER
    return AccessRole.NOBODY


def _elements(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def user_of(claims: Claims, settings: OidcSettings) -> WebUser:
    """The user of a finished login. Raises ClaimsRefused."""
    identity = identity_of(claims, settings)
    role = role_of_claims(claims, settings)
    if role is AccessRole.NOBODY:
        raise ClaimsRefused(
            f"{identity.name} has no role here: ask an administrator for one of the groups that may use the manager",
            identity.name,
        )
    return WebUser(identity.name, role, issuer=identity.issuer, subject=identity.subject)


def is_complete(claims: Claims, settings: OidcSettings) -> bool:
    """Whether the ID token has the claims that name and role come from; userinfo may have what it lacks."""
    name = settings.name_claim or USUAL_NAMES[0]
    verified = (EMAIL_VERIFIED,) if settings.role_claim == EMAIL else ()
    return all(value_at(claims, each) is not None for each in (name, settings.role_claim, *verified))
