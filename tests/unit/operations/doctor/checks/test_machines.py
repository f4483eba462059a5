"""Log directories, disks, descriptors, memory and clocks."""

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.admin.log_dirs import LogDirDescription
from kafka_py.operations.doctor.checks import machines
from kafka_py.operations.doctor.examination import ClockSeen, DiskSeen, MetricsSeen
from kafka_py.operations.doctor.findings import Severity

from .seen_clusters import ids, only, seen, snapshot


def test_an_offline_log_directory_is_an_error() -> None:
    failed = LogDirDescription(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR), {})
    finding = only(machines.failed_log_dirs, seen(snapshot=snapshot(log_dirs={2: {"/data": failed}})))
    assert finding.evidence == ("broker 2: /data: KAFKA_STORAGE_ERROR",)
    fine = LogDirDescription(None, {})
    assert ids(machines.failed_log_dirs, seen(snapshot=snapshot(log_dirs={2: {"/data": fine}}))) == []


def test_disks_are_nearly_full_full_or_in_order() -> None:
    disks = (DiskSeen(1, "/a", 100, 3), DiskSeen(2, "/b", 100, 10), DiskSeen(3, "/c", 100, 50))
    assert ids(machines.disks, seen(disks=disks)) == [
        ("disk-full", Severity.ERROR),
        ("disk-nearly-full", Severity.WARNING),
    ]
    assert ids(machines.disks, seen(disks=disks[2:])) == []
    assert ids(machines.disks, seen(disks=disks[:1])) == [("disk-full", Severity.ERROR)]


def test_clocks_that_differ_by_more_than_the_error_are_found() -> None:
    clocks = (ClockSeen("broker 1", "s", 100.0, 50.0), ClockSeen("broker 2", "s", -9_000.0, 50.0))
    finding = only(machines.clocks, seen(clocks=clocks))
    assert (finding.id, "broker 1 and broker 2" in finding.what) == ("clocks-differ", True)


def test_a_difference_within_the_error_is_no_finding() -> None:
    assert ids(machines.clocks, seen(clocks=(ClockSeen("broker 1", "s", 2_500.0, 600.0),))) == []
    assert ids(machines.clocks, seen()) == []


def test_descriptors_and_heap_that_are_nearly_used_are_found() -> None:
    page = MetricsSeen("h:1", values={"process_open_fds": 900.0, "process_max_fds": 1000.0})
    assert only(machines.processes, seen(metrics=(page,))).id == "descriptors-nearly-used"
    heap = MetricsSeen("h:1", values={"jvm_memory_bytes_used": 99.0, "jvm_memory_bytes_max": 100.0})
    assert only(machines.processes, seen(metrics=(heap,))).id == "heap-nearly-used"
    fine = MetricsSeen("h:1", values={"process_open_fds": 9.0, "process_max_fds": 1000.0})
    assert ids(machines.processes, seen(metrics=(fine,))) == []


def test_a_page_that_cannot_be_read_is_a_note() -> None:
    assert ids(machines.pages_of_metrics, seen(metrics=(MetricsSeen("h:1", "refused"),))) == [
        ("metrics-unreadable", Severity.NOTE)
    ]
    assert ids(machines.pages_of_metrics, seen(metrics=(MetricsSeen("h:1"),))) == []
