"""The section [oidc] of the settings file: the provider, this manager as its client, and who gets which role.

    [oidc]
    issuer = "https://login.example/realms/main"
    client_id = "kafka-manager"
    client_secret_file = "oidc.secret"     # or client_secret; a public client has neither
    public_url = "https://kafka.example"   # how browsers reach the manager
    role_claim = "groups"
    administrators = ["kafka-admins"]

Source: OpenID Connect Core 1.0; OpenID Connect Discovery 1.0.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kafka_py.base.errors import ConfigError

SECTION = "oidc"
CALLBACK_PATH = "/login/oidc/callback"
START_PATH = "/login/oidc"
LOGOUT_PATH = "/login/oidc/logout"
MOST_TIMEOUT_S = 60
MOST_SKEW_S = 600


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """One provider. name_claim: "" for preferred_username, else a verified email, else sub.

    role_claim: a claim, or a path of members with dots between them. administrators, readers: values of it; others: the
    role of whoever has none of these, `refused` or `reader`. session_longest_minutes: 0 for the manager's own bound.
    """

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    public_url: str = ""
    title: str = ""
    name_claim: str = ""
    role_claim: str = "groups"
    administrators: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()
    others: str = "refused"
    clock_skew_seconds: int = 30
    timeout_seconds: int = 5
    session_longest_minutes: int = 0
    ca_certificate: Path | None = None

    @property
    def callback_url(self) -> str:
        """The redirect URI that is registered with the provider."""
        return f"{self.public_url}{CALLBACK_PATH}"

    @property
    def is_https(self) -> bool:
        """Whether browsers come by https, although TLS may end before the manager."""
        return urlsplit(self.public_url).scheme == "https"

    @property
    def shown_title(self) -> str:
        """What the button of the login page names."""
        return self.title or urlsplit(self.issuer).netloc


KINDS: dict[str, type] = {
    "issuer": str,
    "client_id": str,
    "client_secret": str,
    "client_secret_file": str,
    "scopes": list,
    "public_url": str,
    "title": str,
    "name_claim": str,
    "role_claim": str,
    "administrators": list,
    "readers": list,
    "others": str,
    "clock_skew_seconds": int,
    "timeout_seconds": int,
    "session_longest_minutes": int,
    "ca_certificate": str,
}
_NEEDED = ("issuer", "client_id", "public_url")


def settings_of_oidc(section: Mapping[str, Any], folder: Path) -> OidcSettings:
    """The settings of the section; paths are relative to the folder. Raises ConfigError, which names the setting."""
    known: dict[str, Any] = {}
    for name, value in section.items():
        kind = KINDS.get(name)
        if kind is None:
            raise ConfigError(f"[{SECTION}] has no setting {name}; it has {', '.join(KINDS)}")
        is_text_list = not isinstance(value, list) or all(isinstance(each, str) and each for each in value)
        if not isinstance(value, kind) or isinstance(value, bool) or not is_text_list:
            raise ConfigError(f"{name} of [{SECTION}] is {_article(kind)}")
        known[name] = tuple(value) if isinstance(value, list) else value
    for name in _NEEDED:
        if not known.get(name):
            raise ConfigError(f"[{SECTION}] needs the setting {name}")
    _take_secret(known, folder)
    if "ca_certificate" in known:
        known["ca_certificate"] = folder / known["ca_certificate"]
    known["public_url"] = known["public_url"].rstrip("/")
    settings = OidcSettings(**known)
    check_oidc(settings)
    return settings


def _article(kind: type) -> str:
    return {str: "a text", int: "a whole number", list: "a list of texts"}[kind]


def _take_secret(known: dict[str, Any], folder: Path) -> None:
    """Puts the content of the secret's file in its place. Raises ConfigError."""
    name = known.pop("client_secret_file", None)
    if name is None:
        return
    if "client_secret" in known:
        raise ConfigError(f"[{SECTION}] has both client_secret and client_secret_file: remove one")
    path = folder / name
    try:
        known["client_secret"] = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"client_secret_file of [{SECTION}] cannot be read: {error}") from None
    if not known["client_secret"]:
        raise ConfigError(f"client_secret_file of [{SECTION}]: {path} is empty")


def check_oidc(settings: OidcSettings) -> None:
    """Raises ConfigError for what cannot be, or would not be safe."""
    for name in ("issuer", "public_url"):
        _check_url(name, getattr(settings, name))
    if urlsplit(settings.public_url).path:
        raise ConfigError(f"public_url of [{SECTION}] has no path: the manager is at the root of its host")
    if "openid" not in settings.scopes:
        raise ConfigError(f"scopes of [{SECTION}] need openid among them")
    if settings.others not in ("refused", "reader"):
        raise ConfigError(f"others of [{SECTION}] is refused or reader, not {settings.others!r}")
    if settings.others == "refused" and not settings.administrators and not settings.readers:
        raise ConfigError(
            f'[{SECTION}] lets nobody in: give administrators or readers, values of the claim {settings.role_claim}, '
            'or others = "reader"'
        )
    for name, least, most in (
        ("clock_skew_seconds", 0, MOST_SKEW_S), ("timeout_seconds", 1, MOST_TIMEOUT_S),
        ("session_longest_minutes", 0, 1_000_000),
    ):  # fmt: skip
        if not least <= getattr(settings, name) <= most:
            raise ConfigError(f"{name} of [{SECTION}] is between {least} and {most}")


def _check_url(name: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        raise ConfigError(f"{name} of [{SECTION}] is no URL: {url}") from None
    if parts.query or parts.fragment or parts.username is not None or not url.isprintable() or " " in url:
        raise ConfigError(f"{name} of [{SECTION}] has a query, a fragment, a user or blanks: {url}")
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and is_this_machine(host))):
        raise ConfigError(f"{name} of [{SECTION}] begins with https://, or http:// on this machine; it is {url}")


def is_this_machine(host: str) -> bool:
    """Whether a host of a URL is a loopback address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
