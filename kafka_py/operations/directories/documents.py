"""Plans for log directories as lines of text and as documents for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafka_py.operations.directories.model import DirectoriesProposal, DirectoryLoad
from kafka_py.operations.rebalancing.summary import MOST_MOVES, size_text


def directories_lines(proposal: DirectoriesProposal) -> Iterator[str]:
    """The dry run."""
    yield f"{'BROKER':<8}{'REPLICAS':<18}{'BYTES':<26}{'WANTED':<26}DIRECTORY"
    for before, after in zip(proposal.before, proposal.after, strict=True):
        replicas = f"{before.replicas:,} -> {after.replicas:,}"
        held = f"{size_text(before.size_bytes)} -> {size_text(after.size_bytes)}"
        path = before.id.path if before.is_online else f"{before.id.path} (offline)"
        yield f"{before.id.broker:<8}{replicas:<18}{held:<26}{_wanted(after):<26}{path}"
    yield ""
    left = [load for load in proposal.after if not load.is_balanced]
    for load in left:
        yield f"with this plan {load.id} holds {size_text(load.size_bytes)}, {_wanted(load)} are wanted"
    yield from proposal.notes
    if not proposal.moves:
        yield "Nothing has to change."
        return
    yield f"{len(proposal.moves):,} replicas and {size_text(proposal.moved_bytes)} are moved"
    for move in proposal.moves[:MOST_MOVES]:
        yield f"  {move.replica}: {move.source} -> {move.target}  {size_text(move.size_bytes)}"
    if len(proposal.moves) > MOST_MOVES:
        yield f"  and {len(proposal.moves) - MOST_MOVES:,} more; --output json lists all"


def _wanted(load: DirectoryLoad) -> str:
    if load.lowest is None or load.highest is None:
        return "-"
    return f"{size_text(load.lowest)} to {size_text(load.highest)}"


def directories_document(proposal: DirectoriesProposal) -> dict[str, Any]:
    """The proposal for programs."""
    return {
        "action": "drain-log-dirs" if proposal.request.drained else "log-dirs",
        "moved_replicas": len(proposal.moves),
        "moved_bytes": proposal.moved_bytes,
        "directories": [
            {"broker": before.id.broker, "path": before.id.path, "is_online": before.is_online,
             "before": _load(before), "after": _load(after)}
            for before, after in zip(proposal.before, proposal.after, strict=True)
        ],
        "notes": list(proposal.notes),
        "moves": [
            {"topic": one.replica.partition.topic, "partition": one.replica.partition.partition,
             "broker": one.replica.broker, "before": one.source, "after": one.target, "size_bytes": one.size_bytes}
            for one in proposal.moves
        ],
    }  # fmt: skip


def _load(load: DirectoryLoad) -> dict[str, Any]:
    return {"replicas": load.replicas, "size_bytes": load.size_bytes, "lowest": load.lowest, "highest": load.highest,
            "is_balanced": load.is_balanced}  # fmt: skip
