"""The log of state changes: who leads what, as the controller decides it and as brokers do it.

Its logger has the name that Apache Kafka gives it, so that it can have a file of its own (state-change.log). One line
tells of all that changed in one step; how every single partition fared is said at DEBUG. Knows no states.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from itertools import islice

NAME = "state.change.logger"
LOG = logging.getLogger(NAME)

MOST_NAMED = 20
"""So many partitions or replicas are named in one line."""


def named(things: Collection[object] | Iterable[object], count: int | None = None) -> str:
    """`t-0, t-1` and how many more there are. count: of things, where they have no length."""
    total = len(things) if isinstance(things, Collection) else count or 0
    first = ", ".join(map(str, islice(things, MOST_NAMED)))
    return f"{first} and {total - MOST_NAMED} more" if total > MOST_NAMED else first
