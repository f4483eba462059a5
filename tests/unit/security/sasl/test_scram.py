"""What both sides of SCRAM refuse; the messages are tested by the golden samples."""

import base64
import hmac

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import KafkaError
from kafka_py.security.sasl.mechanisms import AuthenticationRefused, Challenge, InvalidCredentials, Success
from kafka_py.security.sasl.scram import ScramClient, ScramServer, ScramUser
from kafka_py.security.sasl.scram_credentials import (
    client_key,
    credential_of,
    parse_credential,
    random_text,
    salted_password,
)
from kafka_py.security.sasl.scram_messages import MOST_BYTES, parse_client_first

MECHANISM = "SCRAM-SHA-256"


def user(password: str = "secret", iterations: int = 4096) -> ScramUser:
    salted = salted_password(MECHANISM, password, b"salt", iterations)
    return ScramUser(credential_of(MECHANISM, salted, b"salt", iterations), "alice")


USER = user()


def server(found: ScramUser | None = USER) -> ScramServer:
    return ScramServer(MECHANISM, lambda mechanism, name, is_token: found, "server")


def challenge(of: ScramServer, first: bytes = b"n,,n=alice,r=client") -> bytes:
    made = of.step(first)
    assert isinstance(made, Challenge)
    return made.token


def test_a_wrong_password_is_refused() -> None:
    one, other = server(), ScramClient(MECHANISM, "alice", "wrong", "client")
    final = other.step(challenge(one, other.first()))
    assert final is not None
    with pytest.raises(InvalidCredentials):
        one.step(final)


@pytest.mark.parametrize("found", [None, user(iterations=4095)])
def test_an_unknown_user_and_a_weak_credential_are_refused(found: ScramUser | None) -> None:
    with pytest.raises(InvalidCredentials):
        server(found).step(b"n,,n=alice,r=client")


def test_another_authorization_id_is_refused() -> None:
    with pytest.raises(AuthenticationRefused, match="different from username"):
        server().step(b"n,a=bob,n=alice,r=client")


@pytest.mark.parametrize("change", [(b"c=biws", b"c=eSws"), (b"r=clientserver", b"r=clientother"), (b",p=", b",p=AA")])
def test_a_last_message_that_does_not_fit_the_first_is_refused(change: tuple[bytes, bytes]) -> None:
    one, other = server(), ScramClient(MECHANISM, "alice", "secret", "client")
    final = other.step(challenge(one, other.first()))
    assert final is not None
    with pytest.raises(InvalidCredentials):
        one.step(final.replace(*change))


def test_a_client_that_repeats_its_nonce_is_accepted() -> None:
    """As librdkafka before 2.2; what it sends is what its proof covers."""
    one, first = server(), b"n=alice,r=client"
    answer = challenge(one, b"n,," + first)
    unproven = b"c=biws,r=clientclientserver"
    salted = salted_password(MECHANISM, "secret", b"salt", 4096)
    signature = hmac.digest(USER.credential.stored_key, b",".join((first, answer, unproven)), "sha256")
    own = client_key(MECHANISM, salted)
    proof = bytes(a ^ b for a, b in zip(own, signature, strict=True))
    assert isinstance(one.step(unproven + b",p=" + base64.b64encode(proof)), Success)


def test_a_token_after_the_end_is_refused() -> None:
    one, other = server(), ScramClient(MECHANISM, "alice", "secret", "client")
    final = other.step(challenge(one, other.first()))
    assert final is not None
    one.step(final)
    with pytest.raises(InvalidCredentials):
        one.step(final)


@pytest.mark.parametrize(
    "answers",
    [
        [b"nonsense"],
        [b"r=other,s=c2FsdA==,i=4096"],
        [b"r=client,s=c2FsdA==,i=4096"],
        [b"r=clientserver,s=c2FsdA==,i=4095"],
        [b"r=clientserver,s=c2FsdA==,i=9999999999"],
        [b"r=clientserver,s=c2FsdA==,i=4096", b"v=AAAA"],
        [b"r=clientserver,s=c2FsdA==,i=4096", b"e=other-error"],
    ],
)
def test_a_client_refuses_a_broker_that_does_not_know_the_password(answers: list[bytes]) -> None:
    client = ScramClient(MECHANISM, "alice", "secret", "client")
    with pytest.raises(KafkaError):
        for answer in answers:
            client.step(answer)


@pytest.mark.parametrize(
    "text",
    ["", "salt=AA==", "salt=AA==,stored_key=AA==,server_key=AA==,iterations=x",
     "salt=*,stored_key=AA==,server_key=AA==,iterations=4096",
     "salt=AA==,stored_key=AA==,server_key=AA==,iterations=4096,more=1"],
)  # fmt: skip
def test_a_malformed_credential_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_credential(text)


def test_a_nonce_is_base_36_and_differs_each_time() -> None:
    chance = Chance(1)
    one, other = random_text(chance), random_text(chance)
    assert one != other
    assert int(one, 36) > 0


@pytest.mark.parametrize(("more", "is_read"), [(0, True), (1, False)])
def test_a_message_has_at_most_16_kilobytes(more: int, is_read: bool) -> None:
    """Expressions take up to 0.15 microseconds a character, and the event loop waits for them."""
    message = b"n,,n=" + b"a" * (MOST_BYTES - len(b"n,,n=,r=b") + more) + b",r=b"
    try:
        parse_client_first(message)
    except ValueError as error:
        assert not is_read and str(error) == f"{MOST_BYTES + 1} bytes are too many for the first message of a client"
    else:
        assert is_read
