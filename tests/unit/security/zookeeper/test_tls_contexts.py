"""Stores of ZooKeeper's settings: types by file names, passwords, errors that name the setting."""

import ssl

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.security.zookeeper.tls_contexts import tls_context, tls_settings
from kafka_py.security.zookeeper.tls_options import tls_options
from kafka_py.testing.certificate_files import PASSWORD, CertificateFiles

ON = {"zookeeper.ssl.client.enable": "true"}


def context(given):
    return tls_context(tls_options({**ON, **given}, {}))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Stores with the key of one client."""
    made = CertificateFiles(tmp_path_factory.mktemp("stores"))
    client = made.issue("client")
    made.keystore("client", client)
    made.pem_keystore("encrypted", client)
    (made.folder / "plain.pem").write_text(client.certificate_pem() + client.key_pem())
    return made


def keystore(files, name, **more):
    return {"zookeeper.ssl.keystore.location": str(files.folder / name), **{
        f"zookeeper.ssl.keystore.{end}": value for end, value in more.items()}}  # fmt: skip


def test_without_tls_there_is_no_context_and_no_store_is_read():
    assert tls_context(tls_options({"zookeeper.ssl.keystore.location": "/none.p12"}, {})) is None


def test_stores_are_read_by_the_end_of_their_names(files):
    trust = {
        "zookeeper.ssl.truststore.location": str(files.truststore),
        "zookeeper.ssl.truststore.password": PASSWORD,
    }
    made = context({**trust, **keystore(files, "client.p12", password=PASSWORD)})
    assert made.check_hostname
    assert made.verify_mode == ssl.CERT_REQUIRED
    assert len(made.get_ca_certs()) == 1
    assert (made.minimum_version, made.maximum_version) == (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2)
    context({"zookeeper.ssl.truststore.location": str(files.authority_pem)})


def test_a_password_without_a_file_does_not_count():
    assert context({f"zookeeper.ssl.{role}.password": "hush" for role in ("keystore", "truststore")}).check_hostname


def test_the_key_of_a_pem_file_is_decrypted_with_the_stores_password_and_may_be_plain(files):
    context(keystore(files, "encrypted.pem", password=PASSWORD))
    context(keystore(files, "plain.pem"))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("client.p12", {"password": "hush-wrong"}), r"ssl\.keystore\.location: .*client\.p12 cannot be used"),
        (("client.p12", {}), r"zookeeper\.ssl\.keystore\.password is needed to read .*client\.p12"),
        (("encrypted.pem", {}), r"encrypted\.pem is encrypted, and zookeeper\.ssl\.keystore\.password is not set"),
        (
            ("encrypted.pem", {"password": "hush-wrong"}),
            r"ssl\.keystore\.location: .*encrypted\.pem cannot be used: .* by zookeeper\.ssl\.keystore\.password",
        ),
        (("none.jks", {"password": "x"}), r"zookeeper\.ssl\.keystore\.location: cannot read .*none\.jks"),
        (("store", {"password": "x"}), r"set zookeeper\.ssl\.keystore\.type"),
        (("client.p12", {"type": "BCFKS"}), r"zookeeper\.ssl\.keystore\.type: 'BCFKS'"),
    ],
)
def test_a_store_that_cannot_be_used_is_one_line_with_setting_and_file(files, given, says):
    name, more = given
    with pytest.raises(ConfigError, match=says) as refused:
        context(keystore(files, name, **more))
    assert "hush" not in refused.value.detail
    assert "\n" not in refused.value.detail


@pytest.mark.parametrize(
    ("given", "protocols"),
    [
        ({}, ("TLSv1.2",)),
        ({"zookeeper.ssl.protocol": "TLSv1.3"}, ("TLSv1.3",)),
        ({"zookeeper.ssl.protocol": "TLS"}, ("TLSv1.2", "TLSv1.3")),
        ({"zookeeper.ssl.enabled.protocols": "TLSv1.2,TLSv1.3"}, ("TLSv1.2", "TLSv1.3")),
    ],
)
def test_versions_are_those_listed_else_the_protocol(given, protocols):
    assert tls_settings(tls_options({**ON, **given}, {})).protocols == protocols


def test_a_cipher_suite_that_does_not_exist_is_refused():
    with pytest.raises(ConfigError, match=r"zookeeper\.ssl\.cipher\.suites: .*TLS_RSA_WITH_NOTHING"):
        context({"zookeeper.ssl.cipher.suites": "TLS_RSA_WITH_NOTHING"})
