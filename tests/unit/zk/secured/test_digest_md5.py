"""DIGEST-MD5 against the worked example of the standard and a server of our own."""

import hashlib
import re

import pytest

from kafka_py.base.chance import Chance
from kafka_py.zk.secured import digest_md5
from kafka_py.zk.secured.digest_md5 import DigestMd5, DigestMd5Exchange, LoginFailed, parse_directives

CHALLENGE = b'realm="zk-sasl-md5",nonce="abc+/=",qop="auth",charset=utf-8,algorithm=md5-sess'


def md5(data: bytes) -> bytes:
    return hashlib.md5(data).digest()


def proof(method: str, username: bytes, password: bytes, nonce: str, client_nonce: str) -> str:
    """Computed by the formula of RFC 2831, section 2.1.2.1."""
    a1 = md5(username + b":zk-sasl-md5:" + password) + f":{nonce}:{client_nonce}".encode()
    a2 = f"{method}:zookeeper/zk-sasl-md5".encode()
    inner = f"{md5(a1).hex()}:{nonce}:00000001:{client_nonce}:auth:{md5(a2).hex()}"
    return md5(inner.encode()).hex()


def test_the_example_of_the_standard(monkeypatch):
    monkeypatch.setattr(digest_md5, "SERVICE", "imap")
    monkeypatch.setattr(digest_md5, "HOST", "elwood.innosoft.com")
    exchange = DigestMd5Exchange("chris", "secret", "OA6MHXh6VqTrRk")
    answer = exchange.respond(
        b'realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",qop="auth",algorithm=md5-sess,charset=utf-8'
    )
    assert parse_directives(answer)["response"] == b"d388dad90d4bbd760a152321f2143af7"
    assert exchange.respond(b"rspauth=ea40f60335c427b5527b84dbabcdfffd") == b""
    assert exchange.is_complete


@pytest.mark.parametrize(
    ("username", "password", "hashed"),
    [
        ("broker", "secret", (b"broker", b"secret")),
        ('quo"te\\d', "s p", (b'quo"te\\d', b"s p")),
        ("bröker", "pässword", ("bröker".encode("latin-1"), "pässword".encode("latin-1"))),
        ("broker", "euro €", (b"broker", "euro €".encode())),
    ],
)
def test_a_server_that_knows_the_password_is_convinced_and_convinces(username, password, hashed):
    exchange = DigestMd5(username, password, Chance(1)).exchange()
    assert exchange.first() == b""
    answer = exchange.respond(CHALLENGE)
    given = parse_directives(answer)
    assert given["username"].decode() == username
    assert (given["realm"], given["nonce"], given["qop"]) == (b"zk-sasl-md5", b"abc+/=", b"auth")
    assert given["digest-uri"] == b"zookeeper/zk-sasl-md5"
    numbers = ("abc+/=", given["cnonce"].decode())
    assert given["response"].decode() == proof("AUTHENTICATE", *hashed, *numbers)
    assert not exchange.is_complete
    assert exchange.respond(f"rspauth={proof('', *hashed, *numbers)}".encode()) == b""
    assert exchange.is_complete


def test_a_server_that_does_not_know_the_password_is_not_believed():
    exchange = DigestMd5("broker", "secret", Chance(1)).exchange()
    exchange.respond(CHALLENGE)
    for wrong in (b"rspauth=" + b"0" * 32, b"other=1", b""):
        with pytest.raises(LoginFailed, match="proved"):
            exchange.respond(wrong)
    assert not exchange.is_complete


@pytest.mark.parametrize(
    ("challenge", "why"),
    [
        (b'nonce="n",qop="auth-int,auth-conf"', "qop=auth"),
        (b'realm="r",qop="auth"', "no nonce"),
        (b'realm="r', "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
def test_challenges_that_cannot_be_answered_fail_without_a_secret_in_the_text(challenge, why):
    with pytest.raises(LoginFailed, match=why) as failure:
        DigestMd5("broker", "secret", Chance(1)).exchange().respond(challenge)
    assert "secret" not in str(failure.value)


def test_directives_are_read_with_quotes_and_without_and_the_first_of_a_name_counts():
    assert parse_directives(b'realm="a,b\\"c" , qop=auth,realm="second",stale=') == {
        "realm": b'a,b"c', "qop": b"auth", "stale": b"",
    }  # fmt: skip


def test_every_login_has_a_number_of_its_own_and_none_shows_its_password():
    login = DigestMd5("broker", "hush-hush", Chance(1))
    numbers = {re.search(rb'cnonce="(\w+)"', login.exchange().respond(CHALLENGE))[1] for _ in range(3)}
    assert len(numbers) == 3
    assert "hush" not in repr(login)
