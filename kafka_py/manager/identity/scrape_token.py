"""The token with which a program such as Prometheus reads the metrics, where users log in.

It is the text of a file (metrics_token), which is read for each scrape, so that a new token needs no restart.
"""

from __future__ import annotations

import hmac
from pathlib import Path

from kafka_py.base.errors import ConfigError

LEAST_CHARACTERS = 16
"""Shorter ones could be guessed."""
MOST_BYTES = 4096


class ScrapeToken:
    """The token of one file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> str:
        """The token. Raises ConfigError, which names the file, for one that cannot be read or is no token."""
        try:
            with self.path.open("rb") as file:
                token = file.read(MOST_BYTES + 1).decode("ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or error
            raise ConfigError(f"metrics_token: {self.path} cannot be read: {reason}") from None
        if not LEAST_CHARACTERS <= len(token) <= MOST_BYTES or not token.isprintable() or " " in token:
            raise ConfigError(
                f"metrics_token: {self.path} has no token: one line of {LEAST_CHARACTERS} to {MOST_BYTES} characters "
                f"without blanks, as of `openssl rand -hex 32`"
            )
        return token

    def is_same(self, given: str) -> bool:
        """Whether that is the token; takes as long however much of it is right. Raises ConfigError."""
        return hmac.compare_digest(self.read().encode(), given.encode())
