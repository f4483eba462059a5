"""One remark about a property file: how grave it is, where, about which setting."""

from __future__ import annotations

import enum
from typing import NamedTuple


class Gravity(enum.Enum):
    """What follows from a finding."""

    ERROR = "error"
    """The broker or client does not start with it."""
    WARNING = "warning"
    """It starts, but probably does not do what was meant."""
    NOTE = "note"
    """A setting of Apache Kafka 2.8.2 that changes nothing here, or an old name that still works."""


class ConfigFinding(NamedTuple):
    """line: where the setting is in the file, counted from 1; 0 for the file as a whole."""

    gravity: Gravity
    line: int
    text: str

    def shown(self, file: str) -> str:
        """As compilers print it, so that editors find the place."""
        place = f"{file}:{self.line}" if self.line else file
        return f"{place}: {self.gravity.value}: {self.text}"
