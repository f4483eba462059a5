"""The tokens that a broker knows, found by id and by HMAC, and the SCRAM credentials of those that are used.

A credential takes milliseconds to derive, so it is derived outside the event loop, when a token is first used.
Source: DelegationTokenCache; DelegationTokenManager, ScramFormatter.
"""

from __future__ import annotations

from functools import partial

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
        self._credentials: dict[str, dict[str, ScramCredential]] = {}  # of tokens that were used, by mechanism

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
            self._credentials.pop(token_id, None)

    # ---- logins

    def find_login(self, mechanism: str, token_id: str) -> ScramUser | Derivation | None:
        """The owner of a token, as who its holder logs in."""
        found = self._tokens.get(token_id)
        if found is None:
            return None
        token = found[0]
        credential = self._credentials.get(token_id, {}).get(mechanism)
        if credential is not None:
            return ScramUser(credential, token.owner.name, token.expires_ms)
        salt = random_text(self._chance).encode()
        return Derivation(partial(_derived, mechanism, token.password, salt), partial(self._keep, mechanism, token_id))

    def _keep(self, mechanism: str, token_id: str, credential: ScramCredential) -> None:
        if token_id in self._tokens:
            self._credentials.setdefault(token_id, {})[mechanism] = credential


def _derived(mechanism: str, password: str, salt: bytes) -> ScramCredential:
    salted = salted_password(mechanism, password, salt, LEAST_ITERATIONS)
    return credential_of(mechanism, salted, salt, LEAST_ITERATIONS)
