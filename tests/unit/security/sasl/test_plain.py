from typing import Any

import pytest

from kafka_py.base.errors import KafkaError
from kafka_py.security.sasl.mechanisms import AuthenticationRefused, Success, Work
from kafka_py.security.sasl.plain import PlainClient, PlainServer, StoredPasswords

STORED = StoredPasswords({"user_alice": "pässword", "user_empty": "", "other": "x"})


def refusal(token: bytes) -> str:
    with pytest.raises(AuthenticationRefused) as refused:
        PlainServer(STORED).step(token)
    return str(refused.value)


def test_the_right_password_is_accepted() -> None:
    made = PlainServer(STORED).step(PlainClient("alice", "pässword").first())
    assert isinstance(made, Success)
    assert (made.identity.name, made.token) == ("alice", b"")


@pytest.mark.parametrize(
    ("token", "text"),
    [
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"a\0b\0c\0d\0e", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0\0x", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"\0alice\0wrong", "Authentication failed: Invalid username or password"),
        (b"\0nobody\0wrong", "Authentication failed: Invalid username or password"),
        (b"\0empty\0x", "Authentication failed: Invalid username or password"),
        (
            "bob\0alice\0pässword".encode(),
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
    ],
)
def test_a_refusal_says_why(token: bytes, text: str) -> None:
    assert refusal(token) == text


def test_a_callback_decides_instead_of_the_login_entry() -> None:
    asked: list[Any] = []

    def check(username: str, password: str) -> bool:
        asked.append((username, password))
        return username == "bob"

    made = PlainServer(STORED, check).step(b"\0bob\0x")
    assert isinstance(made, Work)
    assert made.then(made.call()) == Success(made.then(True).identity, b"")  # type: ignore[union-attr]
    assert asked == [("bob", "x")]
    with pytest.raises(AuthenticationRefused, match="could not be verified"):
        raise made.failed(OSError("no connection to the directory"))


def test_a_password_with_a_zero_byte_cannot_be_sent() -> None:
    with pytest.raises(KafkaError):
        PlainClient("alice", "a\0b")


def test_who_does_not_exist_has_no_password() -> None:
    assert not StoredPasswords({"user_alice": "secret"}).has("bob", "")
