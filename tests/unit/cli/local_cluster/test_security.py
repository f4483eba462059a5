"""The files and settings of a secured cluster: whether brokers accept them, and who can read them."""

import stat
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

from kafka_py.base.properties import read_properties
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.common.whole_files import write_secret
from kafka_py.cli.local_cluster.security import (
    OAUTHBEARER,
    PLAIN,
    PROTOCOLS,
    SCRAM,
    SCRAM_256,
    SCRAM_512,
    login_entry,
    make,
)
from kafka_py.clients.admin.configs import AdminOptions
from kafka_py.clients.environment import SYSTEM
from kafka_py.clients.security import security_of
from kafka_py.security.sasl.jaas import parse_property

MECHANISMS = (*SCRAM, PLAIN, OAUTHBEARER)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_brokers_and_clients_take_the_settings(tmp_path: Path, protocol: str) -> None:
    secured = make(tmp_path / "security", protocol, {"alice": "alice-secret"}, MECHANISMS)
    listener = {"listeners": f"{protocol}://127.0.0.1:9092", "zookeeper.connect": "nowhere:2181"}
    config = BrokerConfig.parse({**listener, **secured.broker_settings()})
    assert config.inter_broker_listener_name is None
    for mechanism in MECHANISMS:
        settings = secured.client_settings("alice", mechanism)
        options = AdminOptions.load({"bootstrap.servers": "localhost:9092", **settings})
        security = security_of(options, SYSTEM)
        assert (security.tls_to is not None, security.log_in is not None) == (secured.has_tls, secured.has_logins)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_nobody_comes_in_without_proof_and_brokers_and_admin_are_super_users(tmp_path: Path, protocol: str) -> None:
    settings = make(tmp_path / "security", protocol).broker_settings()
    assert settings["super.users"] == "User:broker;User:admin"
    assert settings["security.inter.broker.protocol"] == protocol
    assert (settings.get("ssl.client.auth") == "required") == (protocol == "SSL")
    assert ("sasl.enabled.mechanisms" in settings) == (protocol != "SSL")


def test_only_the_owner_can_read_what_is_secret(tmp_path: Path) -> None:
    folder = tmp_path / "security"
    make(folder, "SSL", ["bob"])
    write_secret(folder / "bob.properties", "x=y\n")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    public = {"authority.pem", "truststore.p12"} | {f"{name}-certificate.pem" for name in ("broker", "admin", "bob")}
    for path in folder.iterdir():
        assert path.name in public or stat.S_IMODE(path.stat().st_mode) == 0o600, path.name


def test_what_an_interrupted_write_has_left_is_not_written_through(tmp_path: Path) -> None:
    outside, path = tmp_path / "outside", tmp_path / "bob.properties"
    outside.write_text("kept")
    (tmp_path / "bob.properties.new").symlink_to(outside)
    write_secret(path, "x=y\n")
    assert path.read_text() == "x=y\n" and not path.is_symlink() and outside.read_text() == "kept"
    (tmp_path / "bob.properties.new").write_text("part")
    (tmp_path / "bob.properties.new").chmod(0o644)
    write_secret(path, "x=z\n")
    assert path.read_text() == "x=z\n" and stat.S_IMODE(path.stat().st_mode) == 0o600


def test_passwords_and_authority_stay_when_it_is_made_again(tmp_path: Path) -> None:
    first = make(tmp_path, "SASL_PLAINTEXT")
    assert {*first.passwords} == {"broker", "admin"} and len({*first.passwords.values()}) == 2
    second = make(tmp_path, "SASL_SSL", ["bob"])
    authority = second.authority.read_text()
    third = make(tmp_path, "SSL")
    assert third.authority.read_text() == authority
    assert {**third.passwords} == {**first.passwords, "bob": second.passwords["bob"]}
    assert read_properties(tmp_path / "passwords.properties") == third.passwords
    assert third.certificate_of("bob")[0].exists(), "without logins each user has a certificate"


def test_a_user_who_cannot_have_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="cannot be the name of a file"):
        make(tmp_path / "security", "SSL", {"../x": "secret"})
    assert not (tmp_path / "security").exists()


@pytest.mark.parametrize("password", ["plain", 'quo"ted', "back\\slash", "it's = ; // {x} 😀"])
def test_any_password_survives_the_login_entry(password: str) -> None:
    entry = parse_property(login_entry(SCRAM_256, {"username": "alice", "password": password}))
    assert entry.options == {"username": "alice", "password": password}


@pytest.mark.parametrize("user", ["user_alice", "user_ann smith", "user_jo=hn", 'user_quo"ted', "user_a;b", "user_ü"])
def test_any_name_survives_the_login_entry(user: str) -> None:
    assert parse_property(login_entry(PLAIN, {user: "secret"})).options == {user: "secret"}


def test_a_user_whose_files_would_replace_others_is_refused(tmp_path: Path) -> None:
    for name in ("authority", "truststore", "passwords", "broker-key"):
        with pytest.raises(CommandFailed, match="is a file of"):
            make(tmp_path / "security", "SSL", {name: "secret"})
        assert not (tmp_path / "security").exists()
        make(tmp_path / name, "SASL_PLAINTEXT", {name: "secret"})  # has no files there


def test_repr_shows_no_password(tmp_path: Path) -> None:
    secured = make(tmp_path, "SASL_SSL", {"alice": "hunter2"})
    assert "hunter2" not in repr(secured) and secured.store_password not in repr(secured)
    assert secured.client_settings("alice", SCRAM_512, "other")["sasl.jaas.config"].count("other") == 1
