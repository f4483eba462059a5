"""What a setting is about, whether it is a secret and where it may change, told by its name (KIP-226)."""

import pytest

from kafka_py.broker.settings.setting_names import Misplaced, base_name, is_secret, is_stored_password, misplaced, shown

FIXED, WITHOUT_LISTENER, NEEDS_BROKER = Misplaced
STORE = "ssl.keystore.location"


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("log.dirs", "log.dirs"),
        (f"listener.name.a.{STORE}", STORE),
        ("listener.name.a.plain.sasl.jaas.config", "sasl.jaas.config"),
        ("listener.name.a.scram-sha-256.sasl.login.class", "sasl.login.class"),
        ("listener.name.a.plain.sasl.enabled.mechanisms", "plain.sasl.enabled.mechanisms"),
        ("listener.name.a", "listener.name.a"),
        ("my.listener.name.a.log.dirs", "my.listener.name.a.log.dirs"),
    ],
)
def test_what_a_setting_is_about(name: str, base: str) -> None:
    assert base_name(name) == base


@pytest.mark.parametrize(
    ("name", "secret", "stored"),
    [
        ("log.dirs", False, False),
        (f"listener.name.a.{STORE}", False, False),
        ("listener.name.a.plain.sasl.login.class", False, False),
        ("listener.name.a.ssl.keystore.password", True, True),
        ("listener.name.a.plain.sasl.jaas.config", True, True),
        ("password.encoder.secret", True, False),
        ("com.example.token", True, False),
    ],
)
def test_what_is_unknown_or_a_password_is_a_secret(name: str, secret: bool, stored: bool) -> None:
    assert (is_secret(name), is_stored_password(name)) == (secret, stored)
    assert shown({name: "x"}) == f"{name}={'[hidden]' if secret else 'x'}"


@pytest.mark.parametrize(
    ("name", "for_all", "for_one"),
    [
        ("log.dirs", FIXED, FIXED),
        ("log.cleaner.threads", None, None),
        (STORE, WITHOUT_LISTENER, WITHOUT_LISTENER),
        (f"listener.name.a.{STORE}", NEEDS_BROKER, None),
        ("ssl.protocol", NEEDS_BROKER, None),
        ("listener.name.a.max.connections", None, None),
        ("listener.name.a.b.max.connections", NEEDS_BROKER, None),
        ("com.example.token", None, None),
        ("listener.name.a.com.example.token", NEEDS_BROKER, None),
    ],
)
def test_where_a_setting_may_change(name: str, for_all: Misplaced | None, for_one: Misplaced | None) -> None:
    assert (misplaced(name, is_default=True), misplaced(name, is_default=False)) == (for_all, for_one)
