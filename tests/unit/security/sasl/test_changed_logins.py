"""Changed bytes in every message of a login: each is refused or answered, and none raises what was not foreseen."""

import random
from typing import Any

import pytest

from kafka_py.broker.requests.login_answers import ConnectionAnswers
from kafka_py.net.principal import Principal
from kafka_py.security.sasl.mechanisms import Identity
from kafka_py.security.sasl.oauth_tokens import unsecured_login, validate_unsecured
from kafka_py.security.sasl.oauthbearer import OAuthBearerServer, format_first
from kafka_py.security.sasl.plain import PlainServer, StoredPasswords
from kafka_py.security.sasl.scram import ScramServer, ScramUser
from kafka_py.security.sasl.scram_credentials import credential_of
from kafka_py.security.sasl.server_exchange import LoginRules, Next, ServerExchange
from kafka_py.wire.frames import encode_request
from kafka_py.wire.messages.api_versions import ApiVersionsRequest
from kafka_py.wire.messages.metadata import MetadataRequest
from kafka_py.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_py.wire.messages.sasl_handshake import SaslHandshakeRequest

NOW_MS = 1e12
LOGINS = 2_000
SCRAM = "SCRAM-SHA-256"
USER = ScramUser(credential_of(SCRAM, b"salted", b"salt", 4096), "alice")
TOKEN = unsecured_login({"unsecuredLoginStringClaim_sub": "alice"}, NOW_MS)
assert TOKEN is not None
MAKE: dict[str, Any] = {
    "PLAIN": lambda: PlainServer(StoredPasswords({"user_alice": "secret"})),
    SCRAM: lambda: ScramServer(SCRAM, lambda *asked: USER, "nonce"),
    "OAUTHBEARER": lambda: OAuthBearerServer(lambda token: validate_unsecured(token, {}, NOW_MS), is_quick=True),
}
TOKENS = (
    b"\0alice\0secret", b"n,,n=alice,r=abc", b"c=biws,r=abcnonce,p=AAAA", format_first(TOKEN.value, {"a": "b"}), b"\1",
)  # fmt: skip


class NamelessConnection:
    """Takes the name of a client's software."""

    def describe_client(self, name: str, version: str) -> None:
        pass


def principal_of(identity: Identity) -> Principal:
    return Principal("User", identity.name)


def frame(request: Any, version: int) -> bytes:
    return encode_request(request, version, 7, "client")[4:]


def frames() -> list[bytes]:
    tokens = [frame(SaslAuthenticateRequest(auth_bytes=each), version) for each in TOKENS for version in (0, 1, 2)]
    handshakes = [frame(SaslHandshakeRequest(mechanism=each), version) for each in MAKE for version in (0, 1)]
    versions = [frame(ApiVersionsRequest(), version) for version in range(4)]
    return [*tokens, *TOKENS, *handshakes, *versions, frame(MetadataRequest(topics=None), 1)]


def changed(data: bytes, rng: random.Random) -> bytearray:
    made = bytearray(data)
    for _ in range(rng.choice((0, 0, 1, 1, 2, 4))):
        place = rng.randrange(len(made) + 1)
        kind = rng.random()
        if kind < 0.5 and place < len(made):
            made[place] = rng.choice((0, 1, 17, 36, 44, 61, 127, 255, rng.randrange(256)))
        elif kind < 0.7:
            del made[place:]
        else:
            made[place:place] = rng.randbytes(rng.randrange(6))
    return made


@pytest.mark.parametrize("seed", [1, 2])
def test_changed_bytes_are_refused_or_answered(seed: int) -> None:
    rng = random.Random(seed)
    rules, given = LoginRules(tuple(MAKE), MAKE, principal_of, {"PLAIN": 5000}), frames()
    answers: Any = ConnectionAnswers(NamelessConnection())  # type: ignore[arg-type]
    ends = dict.fromkeys(Next, 0)
    for _ in range(LOGINS):
        exchange = ServerExchange(rules, answers)
        if rng.random() < 0.5:
            mechanism, version = rng.choice(list(MAKE)), rng.choice((0, 1, 1))
            exchange.take(bytearray(frame(SaslHandshakeRequest(mechanism=mechanism), version)), NOW_MS)
        for _ in range(4):
            outcome = exchange.take(changed(rng.choice(given), rng), NOW_MS)
            ends[outcome.next] += 1
            if outcome.next is not Next.CONTINUE:
                break
    assert ends[Next.FAIL] and ends[Next.CLOSE] and ends[Next.COMPLETE]
