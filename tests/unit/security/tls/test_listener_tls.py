"""One listener's stores, the principals of its clients, and stores that take the place of others."""

import os
import ssl
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography")

from kafka_py.base.errors import ConfigError
from kafka_py.net.principal import ANONYMOUS, Principal
from kafka_py.security.tls.certificates import Authority, Certified
from kafka_py.security.tls.listener_tls import ListenerTls
from kafka_py.security.tls.principal_rules import PrincipalRules
from kafka_py.security.tls.settings import TlsSettings


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority(time.time() * 1000)


def of(certified: Certified, **more: Any) -> TlsSettings:
    return TlsSettings.of(
        {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.key": certified.key_pem(),
            "ssl.keystore.certificate.chain": certified.certificate_pem(),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": certified.authority_pem(),
            **{name.replace("_", "."): value for name, value in more.items()},
        },
        "listener.name.x.",
    )


def listener(settings: TlsSettings, rules: str = "DEFAULT", *, is_inter_broker: bool = False) -> ListenerTls:
    return ListenerTls(settings, PrincipalRules(rules), is_inter_broker=is_inter_broker)


def changed(tls: ListenerTls, settings: TlsSettings) -> bool:
    """Whether there was anything to take over."""
    made = tls.check(settings)
    if made is not None:
        tls.take(made)
    return made is not None


def test_the_principal_is_the_name_of_the_certificate_by_the_rules(authority: Authority) -> None:
    tls = listener(of(authority.issue("b")), r"RULE:^CN=([^,]+),OU=staff$/$1/L")
    assert tls.principal_of(None) == ANONYMOUS
    alice, bob = authority.issue("Alice", unit="staff"), authority.issue("bob")
    assert tls.principal_of(der(alice)) == Principal("User", "alice")
    with pytest.raises(ValueError, match=r"no rule of ssl\.principal\.mapping\.rules matches .*CN=bob"):
        tls.principal_of(der(bob))


def der(certified: Certified) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certified.certificate.public_bytes(Encoding.DER)


def test_a_broker_must_be_able_to_connect_to_itself(authority: Authority) -> None:
    other = Authority(time.time() * 1000, "other")
    good = of(authority.issue("b"))
    distrusting = of(authority.issue("b"), ssl_truststore_certificates=other.pem())
    listener(good, is_inter_broker=True)
    listener(distrusting)
    with pytest.raises(ConfigError, match="could not connect to each other"):
        listener(distrusting, is_inter_broker=True)


def test_which_steps_of_handshakes_are_short(authority: Authority) -> None:
    to_server = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), to_server, server_hostname="b").do_handshake()
    first, last = to_server.read(), b"\x14\x03\x03\x00\x01\x01\x17\x03\x03\x00\x01F"

    def short(tls: ListenerTls) -> list[bool]:
        return [tls.is_short(first), tls.is_short(last), tls.is_short(first[:-1])]

    assert short(listener(of(authority.issue("b")))) == [True, True, False]
    assert short(listener(of(authority.issue("b", rsa_bits=3072)))) == [False, True, False]
    without_tls13 = replace(of(authority.issue("b")), protocols=("TLSv1.2",))
    assert short(listener(without_tls13)) == [False, True, False]
    for client_auth in ("requested", "required"):  # certificates of clients are verified in a thread
        settings = replace(of(authority.issue("b")), client_auth=client_auth)
        assert short(listener(settings)) == [True, False, False]
    tls = listener(of(authority.issue("b")))
    assert changed(tls, of(authority.issue("b", rsa_bits=3072)))
    assert short(tls) == [False, True, False]


def test_the_same_name_and_more_hosts_may_replace_a_certificate(authority: Authority) -> None:
    tls = listener(of(authority.issue("b", ["h1"])), is_inter_broker=True)
    renewed = of(authority.issue("b", ["h1", "10.0.0.1"]))
    assert tls.check(renewed) is not None
    assert changed(tls, renewed)
    assert not changed(tls, renewed)


def test_what_may_not_replace_it(authority: Authority) -> None:
    before = authority.issue("b", ["h1", "10.0.0.1"])
    tls = listener(of(before), is_inter_broker=True)
    other = Authority(time.time() * 1000, "other")
    for wanted, words in (
        (of(authority.issue("c", ["h1", "10.0.0.1"])), "CN=b became CN=c"),
        (of(authority.issue("b", ["h2"])), "lacks the subject alternative names 10.0.0.1, h1"),
        (of(before, ssl_keystore_key=None, ssl_keystore_certificate_chain=None), "cannot be added or removed"),
        (of(other.issue("b", ["h1", "10.0.0.1"])), "Old and new stores do not trust each other"),
        (of(before, ssl_truststore_certificates="junk"), "holds no certificate"),
    ):
        with pytest.raises(ConfigError) as found:
            tls.check(wanted)
        assert words in found.value.detail
    assert not changed(tls, of(before))


def test_the_authorities_above_a_certificate_may_change_and_the_case_of_its_name(authority: Authority) -> None:
    """A public authority signs with another certificate of its own from one year to the next."""
    before = authority.issue("Broker One", ["h1"])
    for certified, above in (
        (before, authority.pem()),
        (authority.issue("Broker One", ["h1"]), ""),
        (authority.issue("broker  one", ["h1"]), Authority(time.time() * 1000, "another").pem()),
    ):
        tls = listener(of(before, ssl_keystore_certificate_chain=before.certificate_pem() + authority.pem() * 2))
        assert changed(tls, of(certified, ssl_keystore_certificate_chain=certified.certificate_pem() + above))


def test_a_key_store_cannot_be_added(authority: Authority) -> None:
    own = authority.issue("b")
    with pytest.raises(ConfigError, match="Key store cannot be added or removed"):
        listener(of(own, ssl_keystore_key=None, ssl_keystore_certificate_chain=None)).check(of(own))


def test_a_broker_tries_itself_whatever_its_host_is_called(authority: Authority) -> None:
    settings = of(authority.issue("b", ["h1"]), ssl_endpoint_identification_algorithm="https")
    assert listener(settings, is_inter_broker=True).has_key


def test_a_trust_store_may_be_removed_but_not_added(authority: Authority) -> None:
    own = authority.issue("b")
    without = {"ssl_truststore_certificates": None, "ssl_truststore_type": None}
    assert changed(listener(of(own)), of(own, **without))
    with pytest.raises(ConfigError, match="Trust store cannot be added"):
        listener(of(own, **without)).check(of(own))


def test_old_and_new_stores_of_brokers_must_trust_each_other_both_ways(authority: Authority) -> None:
    other = Authority(time.time() * 1000, "another authority")
    both = authority.pem() + other.pem()
    old, new = authority.issue("b", ["localhost"]), other.issue("b", ["localhost"])
    for before, after in (
        (of(old), of(new, ssl_truststore_certificates=both)),  # the new certificate is not trusted by the old stores
        (of(old, ssl_truststore_certificates=both), of(new)),  # nor the old one by the new stores
    ):
        with pytest.raises(ConfigError, match="Old and new stores do not trust each other"):
            listener(before, is_inter_broker=True).check(after)
    known = of(old, ssl_truststore_certificates=both)
    assert listener(known, is_inter_broker=True).check(of(new, ssl_truststore_certificates=both)) is not None


def test_a_file_that_was_changed_is_read_again(tmp_path: Path, authority: Authority) -> None:
    path = tmp_path / "b.pem"
    path.write_text(authority.issue("b").pem("pw"))
    inline = {"ssl_keystore_key": None, "ssl_keystore_certificate_chain": None}
    settings = of(authority.issue("b"), **inline, ssl_keystore_location=str(path), ssl_key_password="pw")
    tls = listener(settings)
    assert tls.check(settings) is None
    path.write_text(authority.issue("b").pem("pw"))
    os.utime(path, (1, 1))
    assert changed(tls, settings)
    assert not changed(tls, settings)
