"""A plan and its execution as lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kafka_py.operations.rebalancing.model import Goal, GoalViolation, Proposal
from kafka_py.operations.rebalancing.progress import RunProgress

MOST_MOVES, MOST_VIOLATIONS = 30, 10
_UNITS = ("B", "KB", "MB", "GB", "TB", "PB")


def size_text(number: float) -> str:
    """`1.5 GB`, by powers of 1024."""
    for unit in _UNITS[:-1]:
        if abs(number) < 1024:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} {_UNITS[-1]}"


def duration_text(seconds: float | None) -> str:
    """`12 s`, `3 min`, `2.5 h`; `?` for what is not known."""
    if seconds is None:
        return "?"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def proposal_lines(proposal: Proposal) -> Iterator[str]:
    """The dry run."""
    yield from brokers_table(proposal)
    yield ""
    yield from _violations("now", proposal.violations)
    yield from _violations("with this plan", proposal.remaining)
    yield from proposal.notes
    yield ""
    if proposal.is_empty:
        yield "Nothing has to change."
        return
    yield (
        f"{len(proposal.changes):,} partitions change, {proposal.moved_replicas:,} replicas and "
        f"{size_text(proposal.moved_bytes)} are copied, {len(proposal.elections):,} preferred leaders are elected"
    )
    for change in proposal.changes[:MOST_MOVES]:
        before, after = (",".join(map(str, ids)) for ids in (change.before, change.after))
        copied = f"  {size_text(change.moved_bytes)}" if change.added else ""
        yield f"  {change.partition}: {before} -> {after}{copied}"
    if len(proposal.changes) > MOST_MOVES:
        yield f"  and {len(proposal.changes) - MOST_MOVES:,} more; --output json lists all"


def brokers_table(proposal: Proposal) -> Iterator[str]:
    """One line per broker, before and after."""
    titles = ("REPLICAS", "PREFERRED", "BYTES", "VIOLATIONS")
    yield f"{'BROKER':<8}{'RACK':<12}" + "".join(f"{title:<26}" for title in titles).rstrip()
    for before, after in zip(proposal.before, proposal.after, strict=True):
        pairs = (
            (f"{before.replicas:,}", f"{after.replicas:,}"), (f"{before.preferred:,}", f"{after.preferred:,}"),
            (size_text(before.size_bytes), size_text(after.size_bytes)),
            (f"{before.violations}", f"{after.violations}"),
        )  # fmt: skip
        rack = (before.rack or "-") if before.is_live else "not live"
        yield (f"{before.broker:<8}{rack:<12}" + "".join(f"{f'{old} -> {new}':<26}" for old, new in pairs)).rstrip()


def _violations(when: str, found: Sequence[GoalViolation]) -> Iterator[str]:
    counts = Counter(one.goal for one in found)
    listed = ", ".join(f"{goal} {counts[goal]}" for goal in Goal if goal in counts)
    yield f"violations {when}: {listed or 'none'}"
    for one in found[:MOST_VIOLATIONS]:
        yield f"  {one.goal}: {one.text}"
    if len(found) > MOST_VIOLATIONS:
        yield f"  and {len(found) - MOST_VIOLATIONS:,} more"


def progress_line(progress: RunProgress) -> str:
    """How far a run is."""
    share = f"{100 * progress.copied_bytes // progress.total_bytes} %, " if progress.total_bytes else ""
    parts = [f"{share}{progress.done:,} of {progress.total:,} partitions"]
    if progress.total_bytes:
        parts.append(f"{size_text(progress.copied_bytes)} of {size_text(progress.total_bytes)}")
    if progress.moving:
        parts.append(f"batch {progress.batch}: {progress.moving} moving")
    if progress.done < progress.total:
        parts.append(f"{duration_text(progress.left_s)} left")
    if progress.note:
        parts.append(progress.note)
    return ", ".join(parts)
