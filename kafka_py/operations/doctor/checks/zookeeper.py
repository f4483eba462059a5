"""The ZooKeeper servers that were named: whether they serve, how fast, and who leads."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_py.operations.doctor.examination import Examination
from kafka_py.operations.doctor.findings import DoctorFinding, Severity

SLOW_MS = 100.0
SLOW_ROUND_TRIP_MS = 500.0
OUTSTANDING = 100


def servers_that_do_not_serve(seen: Examination) -> Iterator[DoctorFinding]:
    """Those that do not answer, or answer that they do not serve."""
    servers = seen.zookeepers or ()
    down = [each for each in servers if each.fault]
    if not down:
        return
    lost = len(servers) - len(down) <= len(servers) // 2
    yield DoctorFinding(
        "zookeeper-down",
        Severity.ERROR if lost else Severity.WARNING,
        f"{len(down)} of {len(servers)} ZooKeeper servers do not serve.",
        "Without a majority no broker can change anything: no elections, no topics, and in the end no brokers."
        if lost else "One more, and the ensemble may have no majority.",
        "Start them (`zookeeper-server-start.sh`), and look at their logs and disks.",
        tuple(f"{each.server}: {each.fault}" for each in down),
    )  # fmt: skip


def slow_servers(seen: Examination) -> Iterator[DoctorFinding]:
    """Long latencies, and requests that wait."""
    slow = [
        each
        for each in seen.zookeepers or ()
        if not each.fault
        and (
            each.average_latency_ms >= SLOW_MS
            or each.round_trip_ms >= SLOW_ROUND_TRIP_MS
            or each.outstanding >= OUTSTANDING
        )
    ]
    if slow:
        yield DoctorFinding(
            "zookeeper-slow",
            Severity.WARNING,
            f"{len(slow)} ZooKeeper server{'s answer' if len(slow) > 1 else ' answers'} slowly.",
            "Brokers lose their sessions (zookeeper.session.timeout.ms), and then all their leaders at once.",
            "Give its transaction log (dataLogDir) a disk of its own, without other load, and the server enough memory "
            "not to swap.",
            tuple(
                f"{each.server}: answered in {each.round_trip_ms:.0f} ms, average latency "
                f"{each.average_latency_ms:.1f} ms, at most {each.most_latency_ms:.0f} ms, {each.outstanding} requests "
                "wait"
                for each in slow
            ),
        )


def modes(seen: Examination) -> Iterator[DoctorFinding]:
    """Servers that belong to different ensembles, or to none although there are several."""
    serving = [each for each in seen.zookeepers or () if not each.fault]
    shown = tuple(f"{each.server}: {each.mode}" for each in serving)
    leaders = [each for each in serving if each.mode == "leader"]
    alone = [each for each in serving if each.mode == "standalone"]
    if len(leaders) > 1 or (alone and len(serving) > 1):
        yield DoctorFinding(
            "zookeepers-apart",
            Severity.ERROR,
            "The ZooKeeper servers do not form one ensemble.",
            "Brokers that use one server do not see those that use another.",
            "Name all servers in every zoo.cfg (server.1=..., server.2=...), with a myid file each, and restart them.",
            shown,
        )
    elif len(alone) == 1 and seen.snapshot is not None and len(seen.snapshot.nodes) > 2:
        yield DoctorFinding(
            "zookeeper-alone",
            Severity.NOTE,
            f"{len(seen.snapshot.nodes)} brokers depend on one ZooKeeper server.",
            "While it is down nothing can be changed, and no broker that fails is replaced.",
            "Run an ensemble of three servers.",
            shown,
        )
