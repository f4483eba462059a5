"""kafka-py rebalance: spreads partitions over brokers; shows the plan, and carries it out with --execute.

    kafka-py rebalance --bootstrap-server localhost:9092
    kafka-py rebalance --bootstrap-server localhost:9092 --remove-brokers 3 --execute --throttle 50MB
    kafka-py rebalance --bootstrap-server localhost:9092 --resume rebalance.state.json
    kafka-py rebalance --bootstrap-server localhost:9092 --log-dirs all --execute --throttle 50MB
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from kafka_py.cli.common.command import CommandFailed, UsageError, log_warnings, run
from kafka_py.cli.common.connection_options import admin_properties
from kafka_py.cli.common.documents import print_document
from kafka_py.cli.common.whole_files import replace_text
from kafka_py.cli.rebalancing.rebalance_options import ACTIONS, add_rows, capacities_of, request_of
from kafka_py.cli.umbrella.options import UmbrellaParser


def parser() -> UmbrellaParser:
    table = UmbrellaParser(
        "rebalance",
        "Moves replicas so that racks are distinct and brokers evenly loaded, with as little copying as possible. "
        "Without --execute the plan is only shown. Goals, in order: what is removed holds nothing, racks, disk "
        "capacity; then replicas, leaders and bytes per broker, replicas of each topic.",
    )
    add_rows(table)
    return table


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    if not options.bootstrap_server:
        raise UsageError('Missing required argument "[bootstrap-server]"')
    if options.batch_partitions < 1:
        raise UsageError("--batch-partitions is at least 1")
    if options.throttle is not None and options.throttle < 1:
        raise UsageError("--throttle is at least 1 byte per second: with less nothing is ever copied")
    if options.resume and options.cancel:
        raise UsageError("--resume and --cancel exclude one another")
    _refuse_mixtures(options)
    log_warnings()
    from kafka_py.operations.rebalancing.model import RebalanceRefused

    try:
        return _main(options)
    except (RebalanceRefused, OSError) as error:
        raise CommandFailed(str(error)) from None


def _refuse_mixtures(options: argparse.Namespace) -> None:
    """Moves between log directories are a plan of their own. Raises UsageError."""
    given = [name for name in ("--log-dirs", "--drain-log-dirs") if getattr(options, name[2:].replace("-", "_"))]
    if not given:
        return
    others = (*ACTIONS, "topics", "exclude_topics", "capacity", "max_bytes", "reassignment_json_file",
              "rollback_json_file")  # fmt: skip
    named = [f"--{name.replace('_', '-')}" for name in others if getattr(options, name) not in (None, False)]
    if len(given) > 1 or named:
        raise UsageError(f"Only one of {', '.join([*given, *named])} can be asked for at a time")


def _main(options: argparse.Namespace) -> int:
    from kafka_py.operations.rebalancing.plan_file import sole_execution

    if options.cancel or options.resume:
        path = Path(options.cancel or options.resume)
        path.stat()  # no lock beside a file that does not exist
        with sole_execution(path):
            return _continue(options, path)
    if not options.execute:
        return _plan(options)
    with sole_execution(Path(options.state)):
        return _plan(options)


def _continue(options: argparse.Namespace, path: Path) -> int:
    """--resume and --cancel."""
    import asyncio

    from kafka_py.cli.rebalancing.rebalance_runs import cancel, execute
    from kafka_py.operations.directories.plan_file import is_of_directories
    from kafka_py.operations.rebalancing.plan_file import read_state

    if is_of_directories(path.read_text(encoding="utf-8")):
        return _continue_directories(options, path)
    state = read_state(path)
    properties = admin_properties(options)
    if options.cancel:
        asyncio.run(cancel(properties, options.zookeeper, state, path))
        return 0
    if "throttle" in getattr(options, "given", ()):
        state.throttle = options.throttle
    return asyncio.run(execute(properties, options.zookeeper, state, path, options.on_interrupt))


def _continue_directories(options: argparse.Namespace, path: Path) -> int:
    """--resume and --cancel of moves between log directories."""
    import asyncio

    from kafka_py.cli.rebalancing.log_dir_runs import cancel_moves, execute_directories
    from kafka_py.operations.directories.plan_file import read_directories

    state = read_directories(path)
    properties = admin_properties(options)
    if options.cancel:
        asyncio.run(cancel_moves(properties, options.zookeeper, state, path))
        return 0
    if "throttle" in getattr(options, "given", ()):
        state.throttle = options.throttle
    return asyncio.run(execute_directories(properties, options.zookeeper, state, path, options.on_interrupt))


def _plan_directories(options: argparse.Namespace) -> int:
    """--log-dirs and --drain-log-dirs: shows the plan, writes it down, and carries it out if that is asked for."""
    import asyncio

    from kafka_py.cli.rebalancing.log_dir_runs import directories_request, execute_directories, plan_directories
    from kafka_py.operations.directories.documents import directories_document, directories_lines
    from kafka_py.operations.directories.plan_file import new_directories_state, write_directories
    from kafka_py.operations.rebalancing.batches import BatchLimits

    request = directories_request(options.log_dirs, options.drain_log_dirs, options.tolerance)
    properties = admin_properties(options)
    path = Path(options.state)
    if options.execute:
        _refuse_overwriting(path, options)
    planned = asyncio.run(plan_directories(properties, request))
    if options.output is not None:
        print_document({**directories_document(planned.proposal), "unseen": list(planned.notes)}, options.output)
    else:
        print("\n".join([*directories_lines(planned.proposal), *planned.notes]), flush=True)
    if not options.execute or not planned.proposal.moves:
        return 0
    if planned.moving:  # before the state of the execution that may have begun them is overwritten
        raise CommandFailed(
            f"{len(planned.moving)} replicas are being moved, such as {planned.moving[0]}: wait until that has ended, "
            "or cancel it, and plan again"
        )
    limits = BatchLimits(options.batch_partitions, options.batch_bytes)
    state = new_directories_state(planned.proposal, planned.cluster_id, options.throttle, limits)
    write_directories(path, state)
    return asyncio.run(execute_directories(properties, options.zookeeper, state, path, options.on_interrupt))


def _plan(options: argparse.Namespace) -> int:
    """Shows the plan, writes it down, and carries it out if that is asked for."""
    if options.log_dirs is not None or options.drain_log_dirs is not None:
        return _plan_directories(options)
    import asyncio

    from kafka_py.cli.rebalancing.rebalance_runs import execute, plan
    from kafka_py.operations.rebalancing.batches import BatchLimits
    from kafka_py.operations.rebalancing.documents import proposal_document
    from kafka_py.operations.rebalancing.plan_file import new_state, write_state
    from kafka_py.operations.rebalancing.summary import proposal_lines

    properties = admin_properties(options)
    path = Path(options.state)
    if options.execute:
        _refuse_overwriting(path, options)
    planned = asyncio.run(plan(properties, request_of(options), capacities_of(options.capacity)))
    document = proposal_document(planned.proposal)
    if options.output is not None:
        print_document(document, options.output)
    else:
        print("\n".join([*proposal_lines(planned.proposal), *planned.notes]), flush=True)
    for name, key in ((options.reassignment_json_file, "reassignment"), (options.rollback_json_file, "rollback")):
        if name:
            replace_text(Path(name), json.dumps(document[key], separators=(",", ":"), ensure_ascii=False))
    if not options.execute or planned.proposal.is_empty:
        return 0
    if planned.moving:  # before the state of the execution that may have begun them is overwritten
        raise CommandFailed(
            f"{len(planned.moving)} partitions are being reassigned, such as {planned.moving[0]}: wait until that has "
            "ended, or cancel it, and plan again"
        )
    limits = BatchLimits(options.batch_partitions, options.batch_bytes)
    state = new_state(planned.proposal, planned.cluster_id, options.throttle, limits)
    write_state(path, state)
    return asyncio.run(execute(properties, options.zookeeper, state, path, options.on_interrupt))


def _refuse_overwriting(path: Path, options: argparse.Namespace) -> None:
    """Raises CommandFailed where the state of an execution that has not ended would be lost."""
    from kafka_py.operations.directories.plan_file import is_of_directories, parse_directories
    from kafka_py.operations.rebalancing.model import RebalanceRefused
    from kafka_py.operations.rebalancing.plan_file import parse_state

    if not path.exists():
        return
    try:
        text = path.read_text(encoding="utf-8")
        before = parse_directories(text) if is_of_directories(text) else parse_state(text)
    except RebalanceRefused as error:
        raise CommandFailed(f"{path} would be overwritten: {error}") from None
    if is_of_directories(text) != bool(options.log_dirs or options.drain_log_dirs) and before.pending:
        raise CommandFailed(f"{path} is of another kind of rebalance, which has not ended: give another --state")
    if not before.is_finished and before.has_throttles:
        raise CommandFailed(
            f"{path} is of an execution whose throttles are set: --resume {path} continues it, --cancel {path} ends it"
        )


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
