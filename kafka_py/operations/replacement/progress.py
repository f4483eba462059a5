"""How far a replacement is: a small JSON file, by which another process continues it or turns it round.

It stays when all brokers are replaced, for the way back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from kafka_py.operations.replacement.plan_file import MAKES, ReplacementRefused, other_make


@dataclass
class ReplacementProgress:
    """to: the make that the brokers become. makes: of every broker, what it is now.

    current: the one that is being replaced, None between two. is_stopped: whether its former make has been stopped, so
    that only the start is left, unless it is there already. is_started: whether the new make was started and may still
    come up. is_turned: whether it was turned round with its former make stopped, so that it has to be started again in
    whatever state the cluster is.
    """

    to: str
    makes: dict[int, str]
    current: int | None = None
    is_stopped: bool = False
    is_started: bool = False
    is_turned: bool = False

    @property
    def done(self) -> list[int]:
        return [number for number, make in sorted(self.makes.items()) if make == self.to]

    def left(self, controller: int) -> list[int]:
        """The one under way first; the controller last, so that it moves once and not with every broker."""
        missing = [number for number, make in self.makes.items() if make != self.to]
        return sorted(missing, key=lambda each: (each != self.current, each == controller, each))


def directed(stored: ReplacementProgress | None, to: str, ids: Iterable[int]) -> ReplacementProgress:
    """What is to be done. Brokers of which nothing is stored are of the other make.

    Turned round while a broker was under way, that one comes first. If its former make had been stopped, whatever runs
    of the new one is stopped, because its start may be what has failed; otherwise the former make still runs, or is
    started again. Raises ReplacementRefused if that broker is not among the ids.
    """
    known = {} if stored is None else stored.makes
    makes = {number: known.get(number, other_make(to)) for number in ids}
    if stored is None or stored.current is None:
        return ReplacementProgress(to, makes)
    current = stored.current
    if current not in makes:
        raise ReplacementRefused(f"broker {current} is being replaced, and is not in the plan: put it back")
    if stored.to == to:
        return ReplacementProgress(to, makes, current, stored.is_stopped, stored.is_started, stored.is_turned)
    makes[current] = other_make(to)
    return ReplacementProgress(to, makes, current, not stored.is_stopped, is_turned=stored.is_stopped)


def read_progress(path: Path) -> ReplacementProgress | None:
    """None when there is no file. Raises ReplacementRefused for a file that is not one."""
    advice = "remove it if all brokers in the plan are of one make"
    try:
        values = json.loads(path.read_text())
        made = ReplacementProgress(**{**values, "makes": {int(key): make for key, make in values["makes"].items()}})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ReplacementRefused(f"{path} cannot be read ({error}): {advice}") from None
    is_known = {made.to, *made.makes.values()} <= set(MAKES)
    if not is_known or not (made.current is None or made.current in made.makes):
        raise ReplacementRefused(f"{path} is not the progress of a replacement: {advice}")
    return made


def as_text(progress: ReplacementProgress) -> str:
    """The content of the file."""
    return json.dumps(asdict(progress)) + "\n"
