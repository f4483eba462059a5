"""The section [oidc]: what is read, and what would not be safe."""

from pathlib import Path
from typing import Any

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.manager.identity.oidc.settings import settings_of_oidc
from kafka_py.manager.settings import read_settings

GOOD = {
    "issuer": "https://login.example/realms/main", "client_id": "manager", "public_url": "https://kafka.example/",
    "administrators": ["admins"],
}  # fmt: skip


def test_a_file_with_the_section_needs_no_users_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hidden\n")
    path = tmp_path / "manager.toml"
    path.write_text(
        'host = "0.0.0.0"\n[oidc]\nissuer = "https://login.example"\nclient_id = "m"\nclient_secret_file = "secret"\n'
        'public_url = "https://kafka.example"\nreaders = ["users"]\nca_certificate = "ca.pem"\n'
    )
    settings = read_settings(path)
    settings.validate()
    assert settings.has_login and settings.oidc is not None
    assert (settings.oidc.client_secret, settings.oidc.readers) == ("hidden", ("users",))
    assert settings.oidc.ca_certificate == tmp_path / "ca.pem"
    assert "hidden" not in repr(settings)


def test_the_usual_values(tmp_path: Path) -> None:
    settings = settings_of_oidc(GOOD, tmp_path)
    assert settings.callback_url == "https://kafka.example/login/oidc/callback"
    assert (settings.scopes, settings.others, settings.shown_title) == (
        ("openid", "profile", "email"), "refused", "login.example"
    )  # fmt: skip


@pytest.mark.parametrize("url", ["http://localhost:8080", "http://127.0.0.1", "http://[::1]:1", "https://login.example"])
def test_http_is_for_this_machine(url: str, tmp_path: Path) -> None:
    assert settings_of_oidc({**GOOD, "issuer": url}, tmp_path).issuer == url


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"issuer": "http://login.example"}, "issuer .* begins with https://"),
        ({"issuer": "https://login.example?x=1"}, "issuer .* has a query"),
        ({"issuer": "https://ann@login.example"}, "issuer .* a user"),
        ({"issuer": ""}, "needs the setting issuer"),
        ({"issuer": "https://["}, "issuer .* is no URL"),
        ({"client_id": ""}, "needs the setting client_id"),
        ({"public_url": "https://kafka.example/manager"}, "public_url .* has no path"),
        ({"public_url": "kafka.example"}, "public_url .* begins with https://"),
        ({"scopes": ["profile"]}, "need openid"),
        ({"scopes": "openid"}, "scopes of .* is a list of texts"),
        ({"administrators": [1]}, "administrators of .* is a list of texts"),
        ({"administrators": [""]}, "administrators of .* is a list of texts"),
        ({"administrators": []}, "lets nobody in"),
        ({"others": "administrator"}, "others .* is refused or reader"),
        ({"clock_skew_seconds": -1}, "clock_skew_seconds .* between 0 and 600"),
        ({"timeout_seconds": 0}, "timeout_seconds .* between 1 and 60"),
        ({"timeout_seconds": True}, "timeout_seconds .* whole number"),
        ({"client_secret_file": "none"}, "client_secret_file .* cannot be read"),
        ({"client_secret_file": "none", "client_secret": "x"}, "both client_secret and client_secret_file"),
        ({"isuer": "x"}, "has no setting isuer"),
    ],
)
def test_what_cannot_be_is_named(changed: dict[str, Any], why: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=why):
        settings_of_oidc({**GOOD, **changed}, tmp_path)


def test_an_empty_secret_is_no_public_client(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("\n")
    with pytest.raises(ConfigError, match="is empty"):
        settings_of_oidc({**GOOD, "client_secret_file": "secret"}, tmp_path)


def test_a_scheme_in_capitals_is_https_too(tmp_path: Path) -> None:
    assert settings_of_oidc({**GOOD, "public_url": "HTTPS://kafka.example"}, tmp_path).is_https
