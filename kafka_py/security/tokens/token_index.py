"""The tokens that a broker knows, found by id and by HMAC, and the SCRAM credentials of those that are used.

A credential takes milliseconds to derive, so it is derived outside the event loop, when a token is first used, and once
for all logins that wait for it: the many processes of one job come with the same token at the same time.
Source: DelegationTokenCache; DelegationTokenManager, ScramFormatter.
"""

from __future__ import annotations

import threading

from kafka_py.base.chance import Chance
from kafka_py.security.sasl.scram import Derivation, ScramUser
from kafka_py.security.sasl.scram_credentials import (
    LEAST_ITERATIONS,
    ScramCredential,
    credential_of,
    random_text,
    salted_password,
)
from kafka_py.security.tokens.delegation_tokens import DelegationToken


class TokenIndex:
    """All tokens. Each has the version of its znode."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._tokens: dict[str, tuple[DelegationToken, int]] = {}
        self._ids: dict[bytes, str] = {}
        self._logins: dict[str, dict[str, _Credential]] = {}  # of tokens that were used, by mechanism

    def __len__(self) -> int:
        return len(self._tokens)

    def tokens(self) -> list[DelegationToken]:
        """All of them at this moment."""
        return [token for token, _ in self._tokens.values()]

    def of(self, token_id: str) -> tuple[DelegationToken, int] | None:
        """The token of that id, and the version of its znode."""
        return self._tokens.get(token_id)

    def id_of(self, hmac: bytes) -> str | None:
        """The id of the token with that HMAC."""
        return self._ids.get(hmac)

    def put(self, token: DelegationToken, version: int) -> None:
        self._tokens[token.token_id] = token, version
        self._ids[token.hmac] = token.token_id

    def remove(self, token_id: str) -> None:
        found = self._tokens.pop(token_id, None)
        if found is not None:
            del self._ids[found[0].hmac]
            self._logins.pop(token_id, None)

    def find_login(self, mechanism: str, token_id: str) -> ScramUser | Derivation | None:
        """The owner of a token, as who its holder logs in."""
        found = self._tokens.get(token_id)
        if found is None:
            return None
        token = found[0]
        by_mechanism = self._logins.setdefault(token_id, {})
        credential = by_mechanism.get(mechanism)
        if credential is None:
            salt = random_text(self._chance).encode()
            credential = by_mechanism[mechanism] = _Credential(mechanism, token.password, salt)
        if credential.derived is None:
            return Derivation(credential.derive)
        return ScramUser(credential.derived, token.owner.name, token.expires_ms)


class _Credential:
    """A credential that is derived by the first thread that asks for it; others wait for that one."""

    def __init__(self, mechanism: str, password: str, salt: bytes) -> None:
        self.derived: ScramCredential | None = None
        self._origin = mechanism, password, salt
        self._lock = threading.Lock()

    def derive(self) -> None:
        mechanism, password, salt = self._origin
        with self._lock:
            if self.derived is None:
                salted = salted_password(mechanism, password, salt, LEAST_ITERATIONS)
                self.derived = credential_of(mechanism, salted, salt, LEAST_ITERATIONS)
