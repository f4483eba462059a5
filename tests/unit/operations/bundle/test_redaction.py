"""Secrets are taken out of settings by name, and out of any text by value and by what is around them."""

import json

import pytest

from kafka_py.base.options import HIDDEN
from kafka_py.cli.umbrella.bundle import is_secret
from kafka_py.operations.bundle.redaction import Redactor, secrets_in, without_secrets

LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="alice-secret";'


def test_settings_keep_their_values_unless_they_are_secret_or_unknown() -> None:
    settings = {
        "broker.id": "1", "acks": "all", "ssl.keystore.password": "store-secret", "sasl.jaas.config": LOGIN,
        "listener.name.x.ssl.key.password": "key-secret", "my.own.thing": "who knows",
    }  # fmt: skip
    assert without_secrets(settings, is_secret) == {
        "broker.id": "1", "acks": "all", "ssl.keystore.password": HIDDEN, "sasl.jaas.config": HIDDEN,
        "listener.name.x.ssl.key.password": HIDDEN, "my.own.thing": HIDDEN,
    }  # fmt: skip


def test_the_options_of_a_login_are_secrets_as_well_but_for_the_name() -> None:
    found = secrets_in({"sasl.jaas.config": LOGIN, "acks": "all", "ssl.key.password": "abc"}, is_secret)
    assert {LOGIN, "alice-secret"} == found  # shorter ones would be found everywhere


def test_a_login_has_its_options_in_any_kind_of_quotes_or_in_none() -> None:
    login = """x required password='planted-1' user_a=planted-2 user_b="plan\\"ted";"""
    found = secrets_in({"sasl.jaas.config": login}, is_secret)
    assert found == {login, "planted-1", "planted-2", 'plan\\"ted', 'plan"ted'}


def test_json_remains_json() -> None:
    shown = Redactor().text(json.dumps({"sasl.jaas.config": LOGIN, "x": json.dumps({"password": "a, b"})}))
    assert json.loads(shown) == {"sasl.jaas.config": HIDDEN, "x": json.dumps({"password": HIDDEN})}


def test_known_secrets_are_removed_wherever_they_are() -> None:
    redactor = Redactor({"alice-secret", "alice-secret-2"})
    assert redactor.text("xalice-secret-2y alice-secret") == f"x{HIDDEN}y {HIDDEN}"


def test_a_secret_with_special_characters_is_found_in_json_and_in_addresses() -> None:
    redactor = Redactor({'pa"ss\\wö'})
    for text in ('{"x": "pa\\"ss\\\\wö"}', '{"x": "pa\\"ss\\\\w\\u00f6"}', "/login/pa%22ss%5Cw%C3%B6", 'pa"ss\\wö'):
        assert HIDDEN in redactor.text(text), text


@pytest.mark.parametrize(
    "text",
    [
        "ssl.keystore.password=planted",
        "ssl.key.password : planted",
        '{"sasl_plain_password": "planted", "x": 1}',
        "{'secret': 'planted'}",
        f"sasl.jaas.config={LOGIN.replace('alice-secret', 'planted')}",
        'required user_bob="planted" user_alice="planted";',
        "Authorization: Bearer planted.planted.planted",
        "http://user:planted@example.com/x",
        "-----BEGIN PRIVATE KEY-----\nplanted\n-----END PRIVATE KEY-----",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nplanted\n-----END ENCRYPTED PRIVATE KEY-----",
        "client_secret=planted&grant_type=x",
        r'{"sasl.jaas.config": "x required username=\"u\" password=\"pla planted\" user_b=\"b,planted\";"}',
        r'{"log": "{\"password\": \"a, planted\"}"}',
        r'x password=\\\"a planted\\\" y',
        '"passwords": ["planted"]',
        "delegation.token.master.key=planted",
        "salt=YWJj,stored_key=planted,server_key=planted,iterations=4096",
        "java Tool --password planted",
        "<password>planted</password>",
        "http://user:pl@planted@example.com/x",
        '"refresh_token":"planted"',
        '"Authorization": "Bearer planted"',
        "got eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.planted",
        "planted\nMII+/=\n-----END RSA PRIVATE KEY-----\nnext",
        "-----BEGIN PRIVATE KEY-----\nplanted\nMII",
        "ssl.key.password=some, planted",
        "password='it''s planted'",
        "hmac=planted",
        "password => planted",
        "passphrase: planted",
    ],
)
def test_what_looks_like_a_secret_is_removed(text: str) -> None:
    shown = Redactor().text(text)
    assert "planted" not in shown
    assert HIDDEN in shown


@pytest.mark.parametrize(
    "text",
    [
        "ssl.keystore.password=null", "password = [hidden]", "broker.id=1", "PLAINTEXT://localhost:9092",
        "[2026-11-23 14:00:00,000] INFO the password of a user was changed (kafka.server)", '"password": null',
    ],
)  # fmt: skip
def test_other_text_stays_as_it_is(text: str) -> None:
    assert Redactor().text(text) == text


def test_long_texts_without_secrets_take_linear_time() -> None:
    for text in ("a" * 400_000, "password" * 40_000, "://a" * 100_000, "-----BEGIN PRIVATE KEY-----" * 300,
                 "eyJaaaaaa-" * 40_000, "password" + "\\" * 400_000):
        assert Redactor({"planted"}).text(text) == text
