"""The options of `kafka-py rebalance`, and the request that they mean."""

from __future__ import annotations

import argparse
import re
from typing import NamedTuple

from kafka_py.cli.common.command import CommandParser, UsageError
from kafka_py.cli.common.connection_options import add_connection
from kafka_py.cli.common.documents import output_option
from kafka_py.operations.rebalancing.batches import DEFAULT_BATCH_BYTES, DEFAULT_BATCH_PARTITIONS
from kafka_py.operations.rebalancing.model import (
    DEFAULT_TOLERANCE_PERCENT,
    SOFT_GOALS,
    Goal,
    PlanRequest,
    RebalanceAction,
)

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTP]?)(?:i?B)?(?:/s)?", re.IGNORECASE)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
ACTIONS = {
    "add_brokers": RebalanceAction.ADD_BROKERS,
    "remove_brokers": RebalanceAction.REMOVE_BROKERS,
    "demote_brokers": RebalanceAction.DEMOTE_BROKERS,
    "fix_racks": RebalanceAction.FIX_RACKS,
    "replication_factor": RebalanceAction.REPLICATION_FACTOR,
}
FINISH, CANCEL = "finish", "cancel"
BYTES = "Bytes: 500MB, 2GB"


def size_of(text: str) -> int:
    """Bytes in a text such as 500MB, by powers of 1024. Raises ValueError."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    return int(float(found[1]) * 1024 ** _POWERS[found[2].upper()])


def add_rows(table: CommandParser) -> None:
    """All options."""
    add_connection(table)
    table.option("--zookeeper", "For brokers before 2.4, which take no reassignments by request: the ZooKeeper servers "
                 "with an optional chroot path, host:port/path.", metavar="String: urls")  # fmt: skip
    table.option("--add-brokers", "Move replicas only to these brokers: 3,4.", metavar="Integers")
    table.option("--remove-brokers", "Move everything away from these brokers, live or not.", metavar="Integers")
    table.option("--demote-brokers", "Let other brokers lead what these lead; nothing is copied.", metavar="Integers")
    table.flag("--fix-racks", "Only spread the replicas of each partition over racks.")
    table.option("--replication-factor", "Give each partition so many replicas.", metavar="Integer", kind=int)
    table.option("--log-dirs", "Even out bytes over the log directories of each broker, of these brokers or of all; "
                 "nothing moves between brokers.", metavar="Integers or all")  # fmt: skip
    table.option("--drain-log-dirs", "Move all replicas from these log directories to others of the same broker: "
                 "0=/disk1,1=/disk1.", metavar="List")  # fmt: skip
    table.option("--topics", "Only topics whose whole name matches.", metavar="Regular expression")
    table.option("--exclude-topics", "Not topics whose whole name matches.", metavar="Regular expression")
    table.option("--goals", f"The soft goals to reach, in any order: {','.join(SOFT_GOALS)}.", metavar="List",
                 default=",".join(SOFT_GOALS))  # fmt: skip
    table.option("--tolerance", "How far a broker may be from the average.", metavar="Percent", kind=int,
                 default=DEFAULT_TOLERANCE_PERCENT)  # fmt: skip
    table.option("--capacity", "What the replicas of a broker may take: 2TB, or by broker 0=2TB,1=4TB.",
                 metavar="Bytes or list")  # fmt: skip
    table.option("--max-bytes", "Copy no more than this for the soft goals.", metavar=BYTES, kind=size_of)
    output_option(table)
    table.option("--reassignment-json-file", "Write the plan to this file, as kafka-reassign-partitions.sh takes it.",
                 metavar="File")  # fmt: skip
    table.option("--rollback-json-file", "Write the present replicas of all that changes to this file.", metavar="File")
    table.flag("--execute", "Carry the plan out. Without it the plan is only shown.")
    table.option("--throttle", "The most bytes per second that each broker copies, as 50MB.", metavar=BYTES,
                 kind=size_of)  # fmt: skip
    table.option("--batch-partitions", "How many partitions move at a time.", metavar="Integer", kind=int,
                 default=DEFAULT_BATCH_PARTITIONS)  # fmt: skip
    table.option("--batch-bytes", "How many bytes are copied at a time.", metavar=BYTES, kind=size_of,
                 default=DEFAULT_BATCH_BYTES)  # fmt: skip
    table.option("--state", "The file in which an execution keeps what is done.", metavar="File",
                 default="rebalance.state.json")  # fmt: skip
    table.option("--on-interrupt", "What the first Ctrl-C does with the running batch; the second one cancels it.",
                 choices=(FINISH, CANCEL), default=FINISH)  # fmt: skip
    table.option("--resume", "Continue the execution that this state file is of.", metavar="File")
    table.option("--cancel", "Cancel what runs of the execution that this state file is of, remove its throttles.",
                 metavar="File")  # fmt: skip


class Capacities(NamedTuple):
    """by_broker: bytes by broker id. default: for the others, None for no limit."""

    by_broker: dict[int, int]
    default: int | None


def capacities_of(text: str | None) -> Capacities:
    """The value of --capacity. Raises UsageError."""
    by_broker: dict[int, int] = {}
    default = None
    for part in (text or "").split(",") if text else ():
        id_, equals, size = part.rpartition("=")
        try:
            if equals:
                by_broker[int(id_)] = size_of(size)
            else:
                default = size_of(size)
        except ValueError:
            raise UsageError(f"--capacity takes sizes such as 2TB or 0=2TB,1=4TB, not {part!r}") from None
    return Capacities(by_broker, default)


def request_of(options: argparse.Namespace) -> PlanRequest:
    """What is asked for. Raises UsageError."""
    given = [name for name in ACTIONS if getattr(options, name) not in (None, False)]
    if len(given) > 1:
        listed = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UsageError(f"Only one of {listed} can be asked for at a time")
    action = ACTIONS[given[0]] if given else RebalanceAction.REBALANCE
    value = getattr(options, given[0]) if given else None
    brokers = frozenset(ids_of(value)) if isinstance(value, str) else frozenset[int]()
    return PlanRequest(
        action, brokers, options.replication_factor, options.topics, options.exclude_topics, options.tolerance,
        options.max_bytes, goals_of(options.goals),
    )  # fmt: skip


def ids_of(text: str) -> list[int]:
    """`3,4`. Raises UsageError."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"Ids of brokers are numbers such as 3,4, not {text!r}") from None


def goals_of(text: str) -> tuple[Goal, ...]:
    """The value of --goals, by priority. Raises UsageError."""
    names = {part.strip() for part in text.split(",") if part.strip()}
    unknown = sorted(names - set(SOFT_GOALS))
    if unknown:
        raise UsageError(f"There is no soft goal {unknown[0]}: there are {', '.join(SOFT_GOALS)}")
    return tuple(goal for goal in SOFT_GOALS if goal in names)
