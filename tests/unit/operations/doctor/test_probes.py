"""What the probes make of answers: ZooKeeper's srvr, pages of metrics, certificates."""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from kafka_py.clients.admin.log_dirs import LogDirDescription
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot
from kafka_py.operations.doctor import metrics_probe
from kafka_py.operations.doctor.disks_probe import disks_of
from kafka_py.operations.doctor.examination import DiskSeen
from kafka_py.operations.doctor.metrics_probe import MetricsPage, address_of, body_of, read_page, values_in
from kafka_py.operations.doctor.tls_probe import certificate_of, shown_certificate
from kafka_py.operations.doctor.zookeeper_probe import server_seen
from kafka_py.security.tls.certificates import Authority
from kafka_py.testing.clock import ManualClock

SRVR = """\
Zookeeper version: 3.5.9-83df9301aa5c2a5d284a9940177808c01bc35cef, built on 01/06/2021 19:49 GMT
Latency min/avg/max: 0/1.25/37
Received: 95
Sent: 94
Connections: 2
Outstanding: 3
Zxid: 0x34
Mode: follower
Node count: 5
"""


def test_the_answer_to_srvr_has_mode_latencies_and_waiting_requests() -> None:
    seen = server_seen("a:1", SRVR.splitlines(), 2.0)
    assert (seen.fault, seen.mode, seen.average_latency_ms, seen.most_latency_ms, seen.outstanding) == (
        "", "follower", 1.25, 37.0, 3
    )  # fmt: skip


def test_an_answer_without_mode_is_a_fault() -> None:
    assert server_seen("a:1", ["This instance is not currently serving requests"], 1.0).fault.startswith("This")
    assert server_seen("a:1", [], 1.0).fault
    assert server_seen("a:1", ["Mode: leader", "Latency min/avg/max: ?"], 1.0).average_latency_ms == -1.0


def test_a_server_that_does_not_allow_srvr_serves_all_the_same() -> None:
    seen = server_seen("a:1", ["srvr is not executed because it is not in the whitelist."], 1.0)
    assert (seen.fault, seen.mode) == ("", "unknown")


def test_known_samples_of_a_page_are_summed() -> None:
    page = """\
# HELP process_open_fds Open files
process_open_fds 12
process_max_fds 1024.0 1700000000000
jvm_memory_bytes_used{area="heap"} 5.0E7
jvm_memory_bytes_used{area="nonheap"} 1.0E9
unknown_thing{a="b"} 3
process_resident_memory_bytes nonsense
"""
    assert values_in(page.splitlines()) == {
        "process_open_fds": 12.0, "process_max_fds": 1024.0, "jvm_memory_bytes_used": 5.0e7
    }  # fmt: skip


def test_a_page_has_its_usual_name_unless_it_has_another() -> None:
    assert address_of("a:1") == "http://a:1/metrics"
    assert (address_of("https://a/x"), address_of("a:1/")) == ("https://a/x", "http://a:1/")


def test_a_date_is_half_a_second_old_on_average(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has whole seconds: 1,700,000,007 s is anything up to 8, seen at 1 s by the clock here."""
    page = MetricsPage(b"process_open_fds 1", "Tue, 14 Nov 2023 22:13:27 GMT", 1_700_000_000_900, 1_700_000_001_100)
    monkeypatch.setattr(metrics_probe, "read_page", lambda *_: page)
    [seen], [clock] = asyncio.run(metrics_probe.look_at_pages(["a:1"], ManualClock(), 1.0))
    assert seen.values == {"process_open_fds": 1.0}
    assert (clock.ahead_ms, clock.error_ms) == (6_500.0, 600.0)


def test_a_disk_is_one_of_the_broker_only_if_its_meta_properties_say_so(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=0\ncluster.id=c\nbroker.id=1\n")
    directories = {str(tmp_path): LogDirDescription(None, {}), "/no/such": LogDirDescription(None, {})}
    here = ClusterSnapshot(0, cluster_id="c", log_dirs={1: directories})
    [disk] = disks_of(here)
    assert (disk.broker, disk.path, disk.total_bytes > 0) == (1, str(tmp_path), True)
    assert disks_of(replace(here, cluster_id="other")) == ()
    assert disks_of(replace(here, log_dirs={2: directories})) == ()


def test_what_a_broker_tells_of_its_disk_counts_before_what_is_seen_here(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=0\ncluster.id=c\nbroker.id=1\n")
    directories = {str(tmp_path): LogDirDescription(None, {}, 100, 3), "/far": LogDirDescription(None, {}, 50, 0)}
    assert disks_of(ClusterSnapshot(0, cluster_id="c", log_dirs={1: directories})) == (
        DiskSeen(1, str(tmp_path), 100, 3), DiskSeen(1, "/far", 50, 0),
    )  # fmt: skip


def test_a_page_that_never_ends_is_given_up() -> None:
    """A byte now and then is no silence, by which a socket's own time-out would end it."""
    clock = ManualClock()

    class Dripping:
        def read1(self, _most: int, /) -> bytes:
            clock.advance(900)
            return b"a"

    with pytest.raises(TimeoutError, match="does not end within 5 s"):
        body_of(Dripping(), clock, 5.0)


@pytest.mark.parametrize("url", ["localhost:port/metrics", "local host:1/metrics", "http://[::1/metrics", "ftp://a/x"])
def test_an_address_that_is_none_is_a_fault_and_no_traceback(url: str) -> None:
    with pytest.raises(ValueError):
        read_page(url, ManualClock(), 1.0)


def test_what_answers_without_http_is_a_fault_and_no_traceback() -> None:
    """Such as a broker's port, or ZooKeeper's."""
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as threads:

        def answer() -> None:
            connection = listening.accept()[0]
            with connection:
                connection.recv(65536)
                connection.sendall(b"what is this\n")

        answered = threads.submit(answer)
        with pytest.raises(ValueError, match="what is this"):
            read_page(f"127.0.0.1:{listening.getsockname()[1]}", ManualClock(), 10.0)
        answered.result()


def test_a_certificate_says_for_whom_and_how_long_it_is() -> None:
    authority = Authority(1_700_000_000_000)
    issued = authority.issue("broker", ["localhost", "127.0.0.1"], days=(-1, 20)).certificate
    seen = certificate_of(issued.public_bytes(Encoding.DER))
    assert (seen.subject, seen.names, seen.is_self_signed) == ("CN=broker", ("localhost", "127.0.0.1"), False)
    assert round((seen.not_after_ms - 1_700_000_000_000) / 86_400_000) == 20
    assert "authority" in seen.issuer


def test_a_certificate_that_cannot_be_read_is_none_and_no_traceback() -> None:
    """Such as one with a name outside of ASCII, which OpenSSL takes."""
    issued = Authority(1_700_000_000_000).issue("broker", ["localhost"], days=(-1, 20)).certificate
    der = issued.public_bytes(Encoding.DER)
    assert shown_certificate(der) == certificate_of(der)
    odd = der.replace(b"localhost", b"l\xf6calhost")
    with pytest.raises(ValueError):
        certificate_of(odd)
    assert shown_certificate(odd) is None
    assert shown_certificate(None) is None
