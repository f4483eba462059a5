"""Key and trust stores of every kind, and what is said of those that cannot be read."""

import hashlib
import shutil
import ssl
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("cryptography")

from kafka_py.base.errors import ConfigError
from kafka_py.security.tls.certificates import Authority, Certified
from kafka_py.security.tls.client_tls import client_end
from kafka_py.security.tls.contexts import client_context, fault_between, server_context
from kafka_py.security.tls.java_stores import UnreadableStore, unprotected_key
from kafka_py.security.tls.settings import TlsSettings
from kafka_py.security.tls.stores import load_stores


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority(time.time() * 1000)


@pytest.fixture(scope="module")
def broker(authority: Authority) -> Certified:
    return authority.issue("broker", ["localhost", "127.0.0.1"])


def settings(**given: Any) -> TlsSettings:
    return TlsSettings.of({name.replace("_", "."): value for name, value in given.items()})


def connect(server: TlsSettings, client: TlsSettings) -> str | None:
    """None when a client with these settings connects to such a server."""
    return fault_between(
        server_context(server, load_stores(server)), client_context(client, load_stores(client))
    )


@pytest.fixture
def trusting(authority: Authority) -> TlsSettings:
    return settings(ssl_truststore_type="PEM", ssl_truststore_certificates=authority.pem(),
                    ssl_endpoint_identification_algorithm="https")  # fmt: skip


def test_a_pem_file_with_an_encrypted_key(tmp_path: Path, broker: Certified, trusting: TlsSettings) -> None:
    path = tmp_path / "broker.pem"
    chain = broker.certificate_pem() + broker.authority_pem()
    path.write_text("Some text before.\n" + chain + broker.key_pem("secret"))
    server = settings(ssl_keystore_type="PEM", ssl_keystore_location=str(path), ssl_key_password="secret")
    assert connect(server, trusting) is None
    assert "secret" not in repr(server) + repr(load_stores(server))


def test_a_key_in_the_settings_encrypted_or_not(broker: Certified, trusting: TlsSettings) -> None:
    chain = broker.certificate_pem() + broker.authority_pem()
    plain = settings(ssl_keystore_type="PEM", ssl_keystore_key=broker.key_pem(), ssl_keystore_certificate_chain=chain)
    assert connect(plain, trusting) is None
    assert "BEGIN" not in repr(plain)
    encrypted = settings(
        ssl_keystore_type="PEM", ssl_keystore_key=broker.key_pem("pw"), ssl_keystore_certificate_chain=chain,
        ssl_key_password="pw",
    )  # fmt: skip
    assert connect(encrypted, trusting) is None


def test_a_block_on_one_line(broker: Certified, trusting: TlsSettings) -> None:
    def flat(pem: str) -> str:
        return pem.replace("\n", " ").strip()

    server = settings(
        ssl_keystore_type="PEM", ssl_keystore_key=flat(broker.key_pem()),
        ssl_keystore_certificate_chain=flat(broker.certificate_pem()),
    )  # fmt: skip
    assert connect(server, trusting) is None


@pytest.mark.parametrize("said", ["JKS", "PKCS12"])
def test_pkcs12_stores_under_both_names(
    tmp_path: Path, authority: Authority, broker: Certified, said: str
) -> None:
    key, trust = tmp_path / "key.p12", tmp_path / "trust.p12"
    key.write_bytes(broker.pkcs12("secret"))
    trust.write_bytes(authority.pkcs12("changeit"))
    server = settings(ssl_keystore_type=said, ssl_keystore_location=str(key), ssl_keystore_password="secret")
    client = settings(ssl_truststore_type=said, ssl_truststore_location=str(trust), ssl_truststore_password="changeit")
    assert connect(server, client) is None


def test_of_a_pkcs12_store_with_a_key_its_certificate_is_trusted_and_not_who_signed_it(
    tmp_path: Path, authority: Authority, broker: Certified
) -> None:
    store = tmp_path / "key.p12"
    store.write_bytes(broker.pkcs12("changeit"))
    client = settings(ssl_truststore_type="PKCS12", ssl_truststore_location=str(store),
                      ssl_truststore_password="changeit")  # fmt: skip
    assert connect(own(broker), client) is None
    fault = connect(own(authority.issue("other", ["localhost"])), client)
    assert fault is not None
    assert "certificate is refused" in fault


def own(certified: Certified) -> TlsSettings:
    """A server with this key."""
    return settings(ssl_keystore_type="PEM", ssl_keystore_key=certified.key_pem(),
                    ssl_keystore_certificate_chain=certified.certificate_pem())  # fmt: skip


@pytest.mark.skipif(shutil.which("keytool") is None, reason="keytool is not installed")
@pytest.mark.parametrize("form", ["JKS", "PKCS12"])
def test_stores_made_by_keytool(tmp_path: Path, form: str) -> None:
    def keytool(*words: str) -> None:
        subprocess.run(
            ["keytool", *words, "-storetype", form, "-storepass", "store-secret", "-noprompt"],
            check=True, capture_output=True, timeout=60,
        )  # fmt: skip

    key, trust, certificate = (str(tmp_path / name) for name in ("key", "trust", "certificate"))
    own = ["-keypass", "key-secret"] if form == "JKS" else []
    keytool("-genkeypair", "-alias", "a", "-keyalg", "RSA", "-dname", "CN=localhost,O=x", "-keystore", key, *own)
    keytool("-exportcert", "-alias", "a", "-keystore", key, "-file", certificate)
    keytool("-importcert", "-alias", "b", "-keystore", trust, "-file", certificate)
    password = {"ssl_key_password": "key-secret"} if form == "JKS" else {}
    server = settings(ssl_keystore_location=key, ssl_keystore_password="store-secret", **password)
    client = settings(ssl_truststore_location=trust, ssl_truststore_password="store-secret")
    assert connect(server, client) is None
    for given, words in (
        ({"ssl_keystore_location": key, "ssl_keystore_password": "wrong"}, "the password is another one"),
        ({"ssl_truststore_location": trust, "ssl_truststore_password": "wrong"}, "the password is another one"),
    ):
        with pytest.raises(ConfigError, match=words) as found:
            load_stores(settings(**given))
        assert "wrong" not in str(found.value)
        assert str(tmp_path) in str(found.value)


def test_a_client_certificate_is_asked_for(authority: Authority, broker: Certified, trusting: TlsSettings) -> None:
    inline = {"ssl.keystore.type": "PEM", "ssl.truststore.type": "PEM", "ssl.truststore.certificates": authority.pem()}

    def own(certified: Certified) -> dict[str, str]:
        return {
            **inline, "ssl.keystore.key": certified.key_pem(),
            "ssl.keystore.certificate.chain": certified.certificate_pem(),
        }  # fmt: skip

    stranger = Authority(time.time() * 1000, "another authority").issue("mallory")
    for auth, client, works in (
        ("required", trusting, False),
        ("required", TlsSettings.of(own(authority.issue("alice"))), True),
        ("required", TlsSettings.of(own(stranger)), False),
        ("requested", trusting, True),
        ("requested", TlsSettings.of(own(stranger)), False),
        ("none", TlsSettings.of(own(stranger)), True),
    ):
        fault = connect(TlsSettings.of(own(broker), client_auth=auth), client)
        assert (fault is None) is works, (auth, fault)


@pytest.mark.parametrize(
    ("days", "own_signature", "words"),
    [
        ((-20, -10), False, "certificate has expired"),
        ((10, 20), False, "certificate is not yet valid"),
        ((-1, 10), True, "self-signed certificate"),
    ],
)
def test_certificates_that_are_refused(
    authority: Authority, trusting: TlsSettings, days: tuple[float, float], own_signature: bool, words: str
) -> None:
    bad = authority.issue("localhost", ["localhost"], days=days, is_self_signed=own_signature)
    server = settings(
        ssl_keystore_type="PEM", ssl_keystore_key=bad.key_pem(), ssl_keystore_certificate_chain=bad.certificate_pem()
    )
    assert words in str(connect(server, trusting))


def test_a_certificate_that_is_trusted_itself_needs_no_authority(broker: Certified) -> None:
    server = settings(
        ssl_keystore_type="PEM", ssl_keystore_key=broker.key_pem(),
        ssl_keystore_certificate_chain=broker.certificate_pem(),
    )  # fmt: skip
    client = settings(ssl_truststore_type="PEM", ssl_truststore_certificates=broker.certificate_pem())
    assert connect(server, client) is None


EMPTY_BLOCK = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----"
NO_BASE64 = "-----BEGIN CERTIFICATE-----\nQQé=\n-----END CERTIFICATE-----"
PEM_FILE = {"ssl.keystore.type": "PEM", "ssl.keystore.location": "{file}", "ssl.key.password": "secret"}


@pytest.mark.parametrize(
    ("content", "given", "words"),
    [
        (None, PEM_FILE, "ssl.keystore.location: cannot read {file}: no such file"),
        ("", PEM_FILE, "{file} cannot be used: it holds no private key"),
        ("{key}", {**PEM_FILE, "ssl.key.password": None}, "ssl.key.password has to be set"),
        ("{key}{certificate}", PEM_FILE, "its key is not encrypted"),
        ("{encrypted}", PEM_FILE, "it holds no certificate"),
        ("{encrypted}{certificate}", {**PEM_FILE, "ssl.key.password": "no"}, "cannot be decrypted by ssl.key.password"),
        ("{encrypted}{authority}", PEM_FILE, "its key is not that of its first certificate"),
        ("-----BEGIN RSA PRIVATE KEY-----\nQQ==\n-----END RSA PRIVATE KEY-----", PEM_FILE, "openssl pkcs8 -topk8"),
        ("{encrypted}{encrypted}", PEM_FILE, "more than one private key"),
        ("", {**PEM_FILE, "ssl.keystore.password": "secret"}, "ssl.keystore.password may not be set"),
        ("junk", {"ssl.keystore.location": "{file}", "ssl.keystore.password": "x"}, "neither a PKCS12 nor a JKS"),
        ("junk", {"ssl.keystore.location": "{file}"}, "ssl.keystore.password is needed"),
        ("", {"ssl.keystore.password": "x"}, "ssl.keystore.location is not"),
        ("", {"ssl.truststore.password": "x"}, "ssl.truststore.location is not"),
        ("", {"ssl.keystore.type": "PEM", "ssl.keystore.key": "{key}"}, "must be set together"),
        ("", {"ssl.keystore.key": "{key}"}, "ssl.keystore.type=PEM"),
        ("", {"ssl.truststore.certificates": "x"}, "ssl.truststore.type=PEM"),
        ("", {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": "x"}, "holds no certificate"),
        ("", {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": EMPTY_BLOCK}, "cannot be used"),
        ("", {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": NO_BASE64}, "not valid base64"),
        ("", {"ssl.truststore.location": "a\0b"}, "ssl.truststore.location: cannot read a\0b"),
        ("{encrypted}{certificate}", {**PEM_FILE, "ssl.key.password": "x" * 2000}, "cannot be decrypted"),
        ("junk", {"ssl.keystore.location": "{file}", "ssl.keystore.password": "x\0"}, "the password is another one"),
        ("", {"ssl.keystore.type": "BKS"}, "'BKS' is not one of JKS, PKCS12, PEM"),
        ("", {"ssl.engine.factory.class": "x.Y"}, "Java classes cannot be used"),
        ("", {"ssl.enabled.protocols": ["SSLv3"]}, "'SSLv3' is not one of"),
        ("", {"ssl.cipher.suites": ["TLS_FOO_WITH_BAR"]}, "no cipher suite 'TLS_FOO_WITH_BAR'"),
        ("", {"ssl.cipher.suites": ["TLS_AES_256_GCM_SHA385"]}, "no cipher suite 'TLS_AES_256_GCM_SHA385'"),
        ("", {"ssl.endpoint.identification.algorithm": "ldaps"}, "is not https"),
    ],
)
def test_errors_are_one_line_that_names_setting_and_file(
    tmp_path: Path, authority: Authority, broker: Certified, content: str | None, given: dict[str, Any], words: str
) -> None:
    path = tmp_path / "store"
    texts = {
        "{file}": str(path), "{key}": broker.key_pem(), "{encrypted}": broker.key_pem("secret"),
        "{certificate}": broker.certificate_pem(), "{authority}": authority.pem(),
    }  # fmt: skip

    def filled(text: Any) -> Any:
        for name, value in texts.items():
            text = text.replace(name, value) if isinstance(text, str) else text
        return text

    if content is not None:
        path.write_text(filled(content))
    with pytest.raises(ConfigError) as found:
        wanted = TlsSettings.of({name: filled(value) for name, value in given.items()})
        server_context(wanted, load_stores(wanted))
    assert filled(words) in found.value.detail
    assert "\n" not in found.value.detail and "secret" not in found.value.detail


def test_the_host_must_be_one_of_the_certificate_unless_that_is_not_asked(
    authority: Authority, trusting: TlsSettings
) -> None:
    elsewhere = own(authority.issue("localhost", ["elsewhere"]))
    assert "not valid for 'localhost'" in str(connect(elsewhere, trusting))
    assert connect(elsewhere, replace(trusting, checks_names=False)) is None
    assert connect(own(authority.issue("b", ["localhost"])), trusting) is None


@pytest.mark.parametrize(
    ("host", "checks", "sent"),
    [("broker", False, None), ("broker.example", False, "broker.example"), ("10.0.0.1", False, None),
     ("::1", False, None), ("broker", True, "broker"), ("10.0.0.1", True, "10.0.0.1")],
)  # fmt: skip
def test_which_name_a_client_sends(host: str, checks: bool, sent: str | None) -> None:
    names: list[str | None] = []
    context: Any = SimpleNamespace(
        check_hostname=checks, wrap_bio=lambda _in, _out, server_hostname: names.append(server_hostname)
    )
    client_end(context, host)(ssl.MemoryBIO(), ssl.MemoryBIO())
    assert names == [sent]


def test_the_password_of_a_key_in_a_java_store_is_checked() -> None:
    key, salt, secret = b"a private key of some bytes", bytes(20), "pw".encode("utf-16-be")
    stream, hidden = salt, b""
    for at in range(0, len(key), 20):
        stream = hashlib.sha1(secret + stream).digest()
        hidden += bytes(one ^ other for one, other in zip(key[at : at + 20], stream, strict=False))
    data = salt + hidden + hashlib.sha1(secret + key).digest()
    algorithm = bytes.fromhex("300e060a2b060104012a021101010500")
    protected = algorithm + b"\x04" + bytes([len(data)]) + data
    protected = b"\x30" + bytes([len(protected)]) + protected
    assert unprotected_key(protected, "pw") == key
    with pytest.raises(UnreadableStore, match="the password of its key is another one"):
        unprotected_key(protected, "pW")


def test_a_trust_store_without_certificates_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.jks"
    path.write_bytes(bytes.fromhex("feedfeed0000000200000000"))
    with pytest.raises(ConfigError, match=r"empty\.jks cannot be used: it holds no certificate"):
        load_stores(settings(ssl_truststore_location=str(path)))


def test_the_prefix_of_a_listener_is_part_of_the_names() -> None:
    with pytest.raises(ConfigError, match=r"listener\.name\.x\.ssl\.keystore\.location: cannot read /none"):
        load_stores(TlsSettings.of(
            {"ssl.keystore.location": "/none", "ssl.keystore.password": "p"}, "listener.name.x."
        ))  # fmt: skip


def test_versions_and_cipher_suites(authority: Authority, broker: Certified) -> None:
    def session(**given: Any) -> tuple[ssl.TLSVersion, ssl.TLSVersion, list[str]]:
        wanted = settings(
            ssl_keystore_type="PEM", ssl_keystore_key=broker.key_pem(),
            ssl_keystore_certificate_chain=broker.certificate_pem(), **given,
        )  # fmt: skip
        context = server_context(wanted, load_stores(wanted))
        names = [each["name"] for each in context.get_ciphers() if each["protocol"] != "TLSv1.3"]
        return context.minimum_version, context.maximum_version, names

    v12, v13 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
    assert session()[:2] == (v12, v13)
    assert session(ssl_enabled_protocols=["TLSv1.3"])[:2] == (v13, v13)
    suite = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
    assert session(ssl_cipher_suites=[suite]) == (v12, v12, ["ECDHE-ECDSA-AES256-GCM-SHA384"])
    assert session(ssl_cipher_suites=["TLS_AES_128_GCM_SHA256"])[:2] == (v13, v13)
    assert session(ssl_cipher_suites=["TLS_AES_128_GCM_SHA256", suite])[:2] == (v12, v13)
    signal = "TLS_EMPTY_RENEGOTIATION_INFO_SCSV"  # in lists that come from Java, and no suite
    assert session(ssl_cipher_suites=[suite, signal])[:2] == (v12, v12)
    assert session(ssl_cipher_suites=["TLS_AES_128_GCM_SHA256", signal])[:2] == (v13, v13)
    with pytest.raises(ConfigError, match="names no suite"):
        session(ssl_cipher_suites=[signal])
