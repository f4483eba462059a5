"""The system's randomness, drawn from a seed while a simulation runs: client jitter, session, cluster and topic ids.

Code under test makes generators of its own; for the time of a run those start from the seed as well.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock


@contextmanager
def seeded(seed: int) -> Iterator[random.Random]:
    """Every generator made without a seed of its own, and every random uuid, follows from `seed`; yields one more."""
    source = random.Random(seed)

    class Seeded(random.Random):
        def __init__(self, own_seed: int | None = None) -> None:
            super().__init__(source.getrandbits(64) if own_seed is None else own_seed)

    def uuid4() -> uuid.UUID:
        return uuid.UUID(int=source.getrandbits(128), version=4)

    with (
        mock.patch.object(random, "Random", Seeded),
        mock.patch.object(random, "SystemRandom", Seeded),
        mock.patch.object(uuid, "uuid4", uuid4),
    ):
        random.seed(seed)
        yield Seeded(seed)
