"""The machines: log directories, disks, descriptors, memory, clocks."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_py.operations.doctor.examination import ClockSeen, DiskSeen, Examination
from kafka_py.operations.doctor.findings import DoctorFinding, Severity, shortened

NEARLY_FULL = 0.85
FULL = 0.95
GiB = 1 << 30
CLOCK_TOLERANCE_MS = 2_000.0
DESCRIPTORS = 0.8
HEAP = 0.95


def failed_log_dirs(seen: Examination) -> Iterator[DoctorFinding]:
    """Log directories that their brokers report as offline."""
    if seen.snapshot is None:
        return
    failed = [
        f"broker {broker}: {path or 'a directory that it does not name'}: {directory.error.code.name}"
        for broker, directories in seen.snapshot.log_dirs.items()
        for path, directory in directories.items()
        if directory.error is not None
    ]
    if failed:
        yield DoctorFinding(
            "log-dir-offline",
            Severity.ERROR,
            f"{len(failed)} log director{'ies are' if len(failed) > 1 else 'y is'} offline.",
            "The broker could not read or write there; its replicas are out of use until the broker is restarted.",
            "Repair or replace the disk (`dmesg`, the broker's log), then restart the broker; its replicas are copied "
            "again from their leaders.",
            shortened(failed),
        )


def disks(seen: Examination) -> Iterator[DoctorFinding]:
    """Disks of log directories that are full, or soon."""
    used = [(1 - disk.free_bytes / disk.total_bytes, disk) for disk in seen.disks if disk.total_bytes > 0]
    yield from _disks(seen, [each for each in used if each[0] >= FULL], "disk-full", Severity.ERROR)
    nearly = [each for each in used if NEARLY_FULL <= each[0] < FULL]
    yield from _disks(seen, nearly, "disk-nearly-full", Severity.WARNING)


def _disks(
    seen: Examination, used: list[tuple[float, DiskSeen]], name: str, severity: Severity
) -> Iterator[DoctorFinding]:
    if used:
        yield DoctorFinding(
            name,
            severity,
            f"{len(used)} disk{'s' if len(used) > 1 else ''} of log directories "
            f"{'are' if len(used) > 1 else 'is'} {used[0][0]:.0%} full or more.",
            "With the first write that fails the broker takes the whole directory offline, or stops.",
            f"Shorten the retention of the largest topics: `kafka-configs.sh --bootstrap-server {seen.servers} --alter "
            "--entity-type topics --entity-name TOPIC --add-config retention.bytes=N`, move replicas "
            "(`kafka-reassign-partitions.sh`), or add disks.",
            shortened([
                f"broker {disk.broker}: {disk.path}: {part:.0%} of {disk.total_bytes / GiB:.1f} GiB used, "
                f"{disk.free_bytes / GiB:.2f} GiB free"
                for part, disk in used
            ]),
        )  # fmt: skip


def clocks(seen: Examination) -> Iterator[DoctorFinding]:
    """Brokers whose clocks differ by more than can be an error of measuring."""
    known = [*seen.clocks, ClockSeen("this machine", "its own clock", 0.0, 0.0)]
    behind = min(known, key=lambda clock: clock.ahead_ms)
    ahead = max(known, key=lambda clock: clock.ahead_ms)
    apart_ms = ahead.ahead_ms - behind.ahead_ms - ahead.error_ms - behind.error_ms
    if apart_ms > CLOCK_TOLERANCE_MS:
        yield DoctorFinding(
            "clocks-differ",
            Severity.WARNING,
            f"The clocks of {ahead.broker} and {behind.broker} differ by at least {apart_ms / 1000:.1f} s.",
            "Retention, lookups by time, transactions, tokens and certificates go by these clocks.",
            "Let chrony or ntpd set the clocks of all machines (`chronyc tracking`).",
            tuple(
                f"{clock.broker}: {clock.ahead_ms / 1000:+.1f} s from here, by {clock.source}" for clock in seen.clocks
            ),
        )


def processes(seen: Examination) -> Iterator[DoctorFinding]:
    """Descriptors and heap, from pages of metrics."""
    for page in seen.metrics:
        values = page.values
        most, opened = values.get("process_max_fds", 0.0), values.get("process_open_fds", 0.0)
        if most > 0 and opened / most >= DESCRIPTORS:
            yield DoctorFinding(
                "descriptors-nearly-used",
                Severity.WARNING,
                f"The broker of {page.url} has {opened:.0f} of {most:.0f} descriptors open.",
                "Each segment and each connection needs one; without any the broker takes its log directory offline.",
                "Raise the limit: LimitNOFILE=100000 in its systemd unit, or `ulimit -n` where it is started.",
            )
        used = values.get("jvm_memory_bytes_used", values.get("jvm_memory_used_bytes", 0.0))
        heap = values.get("jvm_memory_bytes_max", values.get("jvm_memory_max_bytes", 0.0))
        if heap > 0 and used / heap >= HEAP:
            yield DoctorFinding(
                "heap-nearly-used",
                Severity.WARNING,
                f"The broker of {page.url} uses {used / heap:.0%} of its heap.",
                "Long collections of garbage end its session with ZooKeeper, and it leaves all in-sync sets.",
                "Raise KAFKA_HEAP_OPTS (-Xms6g -Xmx6g is usual), and look for leaks in plug-ins.",
            )


def pages_of_metrics(seen: Examination) -> Iterator[DoctorFinding]:
    """Pages that were named and cannot be read."""
    for page in seen.metrics:
        if page.fault:
            yield DoctorFinding(
                "metrics-unreadable",
                Severity.NOTE,
                f"The page of metrics {page.url} cannot be read: {page.fault}.",
                "Nothing watches this broker's descriptors and memory.",
                "Set metrics.http.port in its server.properties (or start its JMX exporter), or correct the address.",
            )
