"""The users with SCRAM credentials, as the brokers of a cluster read them from `/config/users`.

Kept for both mechanisms, enabled or not. Source: KIP-84; CredentialCache, ScramServerCallbackHandler.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from kafka_py.base.errors import ConfigError
from kafka_py.security.sasl.scram import Derivation, ScramUser
from kafka_py.security.sasl.scram_credentials import DIGESTS, ScramCredential, parse_credential

_log = logging.getLogger(__name__)

FindToken = Callable[[str, str], ScramUser | Derivation | None]
"""(mechanism, id of a delegation token) -> its owner, if it is known."""


def no_tokens(_mechanism: str, _token_id: str) -> None:
    """No delegation token is known."""


class ScramUsers:
    """The credentials by mechanism and user name. find_token: knows delegation tokens."""

    def __init__(self, find_token: FindToken = no_tokens) -> None:
        self._credentials: dict[str, dict[str, ScramCredential]] = {mechanism: {} for mechanism in DIGESTS}
        self.find_token = find_token

    def load(self, name: str, settings: Mapping[str, str]) -> None:
        """Takes over a user's settings at the start of a broker. Raises ConfigError for a malformed credential."""
        for mechanism in DIGESTS:
            if mechanism in settings:
                try:
                    self._credentials[mechanism][name] = parse_credential(settings[mechanism])
                except ValueError as error:
                    raise ConfigError(f"The {mechanism} credential of user {name} in ZooKeeper: {error}") from None

    def change(self, name: str, settings: Mapping[str, str]) -> None:
        """Takes over changed settings; a malformed credential is logged, and the previous one is kept."""
        for mechanism, credentials in self._credentials.items():
            text = settings.get(mechanism)
            if text is None:
                credentials.pop(name, None)
                continue
            try:
                credentials[name] = parse_credential(text)
            except ValueError as error:
                _log.error("The changed %s credential of user %s is ignored: %s", mechanism, name, error)

    def names(self) -> set[str]:
        """Those who have a credential."""
        return set().union(*self._credentials.values())

    def find(self, mechanism: str, name: str, is_token: bool) -> ScramUser | Derivation | None:
        """The user of that name, or the owner of the token of that id."""
        if is_token:
            return self.find_token(mechanism, name)
        credential = self._credentials[mechanism].get(name)
        return None if credential is None else ScramUser(credential, name)
