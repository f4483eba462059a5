"""What a process gets from the world outside, as one value that is handed in where its parts are put together.

Here is what every floor knows: time and chance, from which new ids come. A floor above adds what it needs besides, such
as the network, in a value of its own that extends this one. A simulation hands in another value, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kafka_py.base.chance import Chance
from kafka_py.base.clock import SYSTEM_CLOCK, Clock


@dataclass(frozen=True, slots=True)
class Environment:
    """The machine's own, unless given."""

    clock: Clock = SYSTEM_CLOCK
    chance: Chance = field(default_factory=Chance)
