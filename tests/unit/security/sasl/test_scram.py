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
from kafka_py.security.sasl.scram_messages import MOST_BYTES, client_first_bare, parse_client_first

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


def proven(one: ScramServer, unproven: bytes) -> bytes:
    """A last message of a client that knows the password, whatever it says besides."""
    first = b"n=alice,r=client"
    answer = challenge(one, b"n,," + first)
    salted = salted_password(MECHANISM, "secret", b"salt", 4096)
    signature = hmac.digest(USER.credential.stored_key, b",".join((first, answer, unproven)), "sha256")
    own = client_key(MECHANISM, salted)
    proof = bytes(a ^ b for a, b in zip(own, signature, strict=True))
    return unproven + b",p=" + base64.b64encode(proof)


def test_a_client_that_repeats_its_nonce_is_accepted() -> None:
    """As librdkafka before 2.2; what it sends is what its proof covers."""
    one = server()
    assert isinstance(one.step(proven(one, b"c=biws,r=clientclientserver")), Success)


@pytest.mark.parametrize("unproven", [b"c=eSws,r=clientserver", b"c=biws,r=clientother", b"c=biws,r=clientserverx"])
def test_a_proof_of_another_exchange_is_refused(unproven: bytes) -> None:
    one = server()
    with pytest.raises(InvalidCredentials, match="another exchange"):
        one.step(proven(one, unproven))


@pytest.mark.parametrize("proof", [b"AAAA", b"/" * 44 + b"//8="])
def test_a_proof_of_another_length_is_refused(proof: bytes) -> None:
    one = server()
    challenge(one)
    with pytest.raises(InvalidCredentials, match="another length"):
        one.step(b"c=biws,r=clientserver,p=" + proof)


def test_a_login_ends_with_its_token() -> None:
    one = server(USER._replace(principal="owner", expires_ms=99.0))
    other = ScramClient(MECHANISM, "alice", "secret", "client", is_token=True)
    final = other.step(challenge(one, other.first()))
    assert final is not None
    made = one.step(final)
    assert isinstance(made, Success)
    assert (made.identity.name, made.identity.expires_ms, made.identity.is_token) == ("owner", 99.0, True)


@pytest.mark.parametrize(("said", "is_token"), [("true", True), ("TRUE", True), ("yes", False)])
def test_the_extension_of_tokens_is_true_in_any_case(said: str, is_token: bool) -> None:
    assert parse_client_first(f"n,,n=a,r=b,tokenauth={said}".encode()).is_token is is_token


@pytest.mark.parametrize("name", ["a=2C", "a,b", "=3D=2C", "=,"])
def test_a_name_is_what_the_client_wrote(name: str) -> None:
    assert parse_client_first(b"n,," + client_first_bare(name, "r", {}).encode()).username == name


@pytest.mark.parametrize(("most", "is_done"), [(5000, True), (4999, False)])
def test_a_client_does_only_so_many_iterations_for_a_broker(
    most: int, is_done: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafka_py.security.sasl.scram.MOST_ASKED", most)
    client = ScramClient(MECHANISM, "alice", "secret", "client")
    if is_done:
        assert client.step(b"r=clientserver,s=c2FsdA==,i=5000") is not None
    else:
        with pytest.raises(KafkaError, match="5000 iterations, at most are 4999"):
            client.step(b"r=clientserver,s=c2FsdA==,i=5000")


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
     "salt=AA==,stored_key=AA==,server_key=AA==,iterations=4096,more=1",
     "salt=AA==,stored_key=AA==,server_key=AA==,iterations=4096,more"],
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
