"""How the sessions of brokers, authorizers and commands are secured."""

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ConfigError
from kafka_py.security.sasl.login_file import login_sections
from kafka_py.security.zookeeper.protections import (
    acls_protection,
    authorizer_protection,
    broker_protection,
    command_protection,
)
from kafka_py.security.zookeeper.tls_options import NETTY_SOCKET
from kafka_py.testing.certificate_files import PASSWORD, CertificateFiles
from kafka_py.testing.secured_zookeeper import login_file
from kafka_py.zk.configs import ZkOptions

CONNECT = {"zookeeper.connect": "h:1"}
SET_ACL = {**CONNECT, "zookeeper.set.acl": "true"}


@pytest.fixture
def logged_in(tmp_path):
    """The environment of a process with a login."""
    return {"KAFKA_OPTS": f"-Xmx1g {login_file(tmp_path / 'jaas.conf', 'broker', 'hush')}"}


@pytest.fixture
def certificate(tmp_path):
    """The settings of a client with a certificate."""
    files = CertificateFiles(tmp_path / "stores")
    files.keystore("client", files.issue("client"))
    return {
        "zookeeper.ssl.client.enable": "true",
        "zookeeper.clientCnxnSocket": NETTY_SOCKET,
        "zookeeper.ssl.keystore.location": str(files.folder / "client.p12"),
        "zookeeper.ssl.keystore.password": PASSWORD,
    }


def of_broker(given, environ, kind=broker_protection):
    return kind(ZkOptions.parse(given), login_sections(environ), {}, Chance(1))


def test_without_settings_nothing_is_secured():
    found = of_broker(CONNECT, {})
    assert (found.tls, found.login, found.protects) == (None, None, False)


def test_access_lists_need_an_identity(logged_in, certificate):
    assert of_broker(SET_ACL, logged_in).protects
    found = of_broker({**SET_ACL, **certificate}, {})
    assert (found.protects, found.login) == (True, None)
    del certificate["zookeeper.clientCnxnSocket"]
    for given in (SET_ACL, {**SET_ACL, **certificate}):
        with pytest.raises(ConfigError) as refused:
            of_broker(given, {})
        assert refused.value.detail.startswith("zookeeper.set.acl is true, but ")
        for name in (*certificate, "java.security.auth.login.config"):
            assert name == "zookeeper.ssl.keystore.password" or name in refused.value.detail


def test_a_login_is_made_with_and_without_access_lists(logged_in):
    found = of_broker(CONNECT, logged_in)
    assert (found.login.username, found.protects) == ("broker", False)
    assert "hush" not in repr(found)


def test_the_authorizer_may_have_another_certificate(certificate):
    prefixed = {f"authorizer.{name}": value for name, value in certificate.items()}
    assert of_broker({**CONNECT, **prefixed}, {}).tls is None
    assert of_broker({**CONNECT, **prefixed}, {}, authorizer_protection).tls is not None


def test_what_is_wrong_with_the_authorizers_settings_is_said_by_their_names(tmp_path, certificate):
    own = {"authorizer.zookeeper.ssl.keystore.location": "/none.p12"}
    given = {**CONNECT, **certificate}
    file = tmp_path / "tls.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in {**certificate, **own}.items()))
    for protect in (
        lambda: of_broker({**given, **own}, {}, authorizer_protection),
        lambda: acls_protection({}, CONNECT, str(file)),
    ):
        with pytest.raises(ConfigError) as refused:
            protect()
        assert refused.value.detail.startswith("authorizer.zookeeper.ssl.keystore.location: cannot read /none.p12")
    with pytest.raises(ConfigError) as refused:
        of_broker({**given, "zookeeper.ssl.keystore.location": "/other.p12"}, {}, authorizer_protection)
    assert refused.value.detail.startswith("zookeeper.ssl.keystore.location: cannot read /other.p12")


def test_commands_protect_what_they_create_if_they_log_in(tmp_path, logged_in, certificate):
    file = tmp_path / "tls.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in {**certificate, "broker.id": "x"}.items()))
    assert not command_protection({}).protects
    assert command_protection(logged_in).protects
    by_file = command_protection({}, str(file))
    assert (by_file.protects, by_file.tls is None) == (False, False)
    assert command_protection({}, str(file), certificate_counts=True).protects


def test_properties_of_java_are_taken_from_the_environment(certificate):
    words = (f"-Dzookeeper.ssl.keyStore.{end}={certificate[f'zookeeper.ssl.keystore.{end}']}" for end in
             ("location", "password"))  # fmt: skip
    environ = {"KAFKA_OPTS": f"-Dzookeeper.client.secure=true {' '.join(words)}"}
    assert command_protection(environ).tls is not None


def test_acls_past_the_brokers_are_protected_as_the_pairs_say(tmp_path, logged_in, certificate):
    assert acls_protection(logged_in, CONNECT, None).protects
    assert not acls_protection(logged_in, {**CONNECT, "zookeeper.set.acl": "false"}, None).protects
    file = tmp_path / "tls.properties"
    file.write_text("".join(f"authorizer.{name}={value}\n" for name, value in certificate.items()))
    found = acls_protection({}, SET_ACL, str(file))
    assert (found.protects, found.tls is None) == (True, False)


def test_failures_at_run_time_are_said_by_the_authorizers_names_too(certificate):
    own = {f"authorizer.{name}": value for name, value in certificate.items()}
    made = of_broker({**CONNECT, **own, "authorizer.zookeeper.url": "h:1"}, {}, authorizer_protection)
    text = (
        "refused (zookeeper.ssl.keystore.location); zookeeper.ssl.keystore.locations, "
        "(zookeeper.connect), a.zookeeper.connect"
    )
    assert made.named(text) == (
        "refused (authorizer.zookeeper.ssl.keystore.location); zookeeper.ssl.keystore.locations, "
        "(authorizer.zookeeper.url), a.zookeeper.connect"
    )
    assert made.named("(zookeeper.ssl.cipher.suites)") == "(zookeeper.ssl.cipher.suites)"
    assert of_broker({**CONNECT, **certificate}, {}).named(text) == text
