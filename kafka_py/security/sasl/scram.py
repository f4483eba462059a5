"""SCRAM-SHA-256 and SCRAM-SHA-512: a login that never sends the password (RFC 5802, RFC 7677).

Each side proves to the other that it knows the password or the credential made from it. The broker's work is a few
digests; the client derives a key in thousands of iterations.
Source: RFC 5802; ScramSaslServer, ScramSaslClient; KIP-84, KIP-48 (delegation tokens).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.security.sasl.mechanisms import (
    AuthenticationRefused,
    Challenge,
    Identity,
    InvalidCredentials,
    ServerStep,
    Success,
    Work,
)
from kafka_py.security.sasl.scram_credentials import (
    DIGESTS,
    LEAST_ITERATIONS,
    ScramCredential,
    client_key,
    salted_password,
    server_key,
)
from kafka_py.security.sasl.scram_messages import (
    GS2_HEADER,
    TOKEN_EXTENSION,
    ClientFinal,
    ClientFirst,
    ServerFirst,
    client_first_bare,
    parse_client_final,
    parse_client_first,
    parse_server_final,
    parse_server_first,
)

MOST_ASKED = 1_000_000
"""Iterations that a client does for a broker, about half a second's; 2.8.2 stores credentials of up to 16,384."""


class ScramUser(NamedTuple):
    """What the broker knows of a user, or of a delegation token. expires_ms: when the token ends, wall clock."""

    credential: ScramCredential
    principal: str
    expires_ms: float | None = None


class Derivation(NamedTuple):
    """A user whose credential is not known yet. derive: makes it, in some milliseconds; then the user is found."""

    derive: Callable[[], object]


FindUser = Callable[[str, str, bool], ScramUser | Derivation | None]
"""(mechanism, user name or token id, whether it is a token) -> the user, if known."""


class ScramServer:
    """The broker's side of one exchange. server_nonce: drawn for this exchange alone."""

    def __init__(self, mechanism: str, find: FindUser, server_nonce: str) -> None:
        self.name = mechanism
        self._find = find
        self._server_nonce = server_nonce
        self._begun: tuple[ClientFirst, ServerFirst, ScramUser] | None = None
        self._is_over = False

    def step(self, token: bytes) -> ServerStep:
        if self._is_over:
            raise InvalidCredentials("a token after the end of the exchange")
        try:
            if self._begun is None:
                return self._begin(parse_client_first(token))
            self._is_over = True
            return self._finish(parse_client_final(token), *self._begun)
        except ValueError as error:
            raise InvalidCredentials(str(error)) from None

    def _begin(self, first: ClientFirst) -> ServerStep:
        user = self._find(self.name, first.username, first.is_token)
        if user is None:
            raise InvalidCredentials("an unknown user")
        if isinstance(user, Derivation):
            return self._begin_with(user, first)
        if first.authorization_id and first.authorization_id != first.username:
            raise AuthenticationRefused(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        credential = user.credential
        if credential.iterations < LEAST_ITERATIONS:
            raise InvalidCredentials(f"a stored credential of only {credential.iterations} iterations")
        answer = ServerFirst(first.nonce + self._server_nonce, credential.salt, credential.iterations)
        self._begun = first, answer, user
        return Challenge(answer.text.encode())

    def _begin_with(self, derivation: Derivation, first: ClientFirst) -> Work:
        """Begins again when there is a credential; whose it is may have been removed meanwhile."""
        return Work(
            derivation.derive, lambda _: self._begin(first), lambda error: InvalidCredentials(f"no credential: {error}")
        )

    def _finish(self, final: ClientFinal, first: ClientFirst, answer: ServerFirst, user: ScramUser) -> Success:
        # Older librdkafka repeats its own nonce in front; the proof covers the broker's nonce in any case.
        if not final.nonce.endswith(answer.nonce) or final.binding != first.gs2.encode():
            raise InvalidCredentials("a last message that belongs to another exchange")
        digest, credential = DIGESTS[self.name], user.credential
        signed = f"{first.bare},{answer.text},{final.unproven}".encode()
        signature = hmac.digest(credential.stored_key, signed, digest)
        if len(final.proof) != len(signature):
            raise InvalidCredentials("a proof of another length")
        found = hashlib.new(digest, _xor(final.proof, signature)).digest()
        if not hmac.compare_digest(found, credential.stored_key):
            raise InvalidCredentials("a wrong proof")
        own = base64.b64encode(hmac.digest(credential.server_key, signed, digest))
        return Success(Identity(user.principal, user.expires_ms, first.is_token), b"v=" + own)


class ScramClient:
    """The client's side of one exchange. is_token: name and password are id and code of a delegation token."""

    is_slow = True

    def __init__(self, mechanism: str, username: str, password: str, nonce: str, *, is_token: bool = False) -> None:
        self.name = mechanism
        self._password = password
        self._nonce = nonce
        self._bare = client_first_bare(username, nonce, {TOKEN_EXTENSION: "true"} if is_token else {})
        self._expected: bytes | None = None

    def first(self) -> bytes:
        return (GS2_HEADER + self._bare).encode()

    def step(self, token: bytes) -> bytes | None:
        try:
            if self._expected is None:
                return self._prove(parse_server_first(token), token.decode())
            final = parse_server_final(token)
        except ValueError as error:
            raise _refused(self.name, str(error)) from None
        if final.error is not None:
            raise _refused(self.name, f"the broker answers {final.error}")
        if final.signature is None or not hmac.compare_digest(final.signature, self._expected):
            raise _refused(self.name, "the broker does not know the password")
        return None

    def _prove(self, answer: ServerFirst, received: str) -> bytes:
        if not answer.nonce.startswith(self._nonce) or answer.nonce == self._nonce:
            raise ValueError("the broker's nonce does not begin with the client's")
        if answer.iterations < LEAST_ITERATIONS:
            raise ValueError(f"the broker asks for {answer.iterations} iterations, at least are {LEAST_ITERATIONS}")
        if answer.iterations > MOST_ASKED:
            raise ValueError(f"the broker asks for {answer.iterations} iterations, at most are {MOST_ASKED}")
        digest = DIGESTS[self.name]
        salted = salted_password(self.name, self._password, answer.salt, answer.iterations)
        own_key = client_key(self.name, salted)
        unproven = f"c={base64.b64encode(GS2_HEADER.encode()).decode()},r={answer.nonce}"
        signed = f"{self._bare},{received},{unproven}".encode()
        signature = hmac.digest(hashlib.new(digest, own_key).digest(), signed, digest)
        self._expected = hmac.digest(server_key(self.name, salted), signed, digest)
        return f"{unproven},p={base64.b64encode(_xor(own_key, signature)).decode()}".encode()


def _refused(mechanism: str, reason: str) -> KafkaError:
    return KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, f"The login by {mechanism} failed: {reason}")


def _xor(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).to_bytes(len(one), "big")
