"""The same appends to Apache's log and to ours leave the same files; Apache's dump tool finds no fault in ours.

What is not the wall clock's must be equal to the byte: data, offset and time indexes, transaction index, producer
snapshots, leader epochs, checkpoints.
"""

import bisect
import re
import struct
from pathlib import Path

import pytest
from fed_logs import TOPICS, OurLogs, Twins, feed

from kafka_py.log.state.producer_snapshots import decode_snapshot
from kafka_py.records.batch import iter_headers

TIME_ENTRY = struct.Struct(">qi")
DUMP_LOG = "kafka.tools.DumpLogSegments"
COMPLAINTS = re.compile("mismatch|non-consecutive|out of order|corrupt|exception|invalid bytes|isvalid: false", re.I)


@pytest.fixture(scope="module")
def our_logs(tmp_path_factory):
    made = OurLogs(tmp_path_factory.mktemp("logs"))
    feed(made)
    return made


def paths(root: Path, *suffixes: str) -> list[str]:
    return [str(path) for suffix in suffixes for path in sorted(root.glob(f"*/*.{suffix}"))]


def test_apaches_dump_tool_reads_our_records(our_logs, apache_kafka):
    logs = paths(our_logs.our_log_dir, "log")
    result = apache_kafka.run(DUMP_LOG, "--deep-iteration", "--files", ",".join(logs))
    assert (result.exit_code, result.stderr) == (0, "")
    assert not COMPLAINTS.search(result.stdout), COMPLAINTS.search(result.stdout)
    assert result.stdout.count("Dumping ") == len(logs) > 20
    stored = [header for path in logs for _, header in iter_headers(Path(path).read_bytes())]
    assert result.stdout.count("\nbaseOffset: ") == len(stored)
    assert result.stdout.count("\n| offset: ") == sum(header.record_count for header in stored)


def test_apaches_dump_tool_finds_our_indexes_sane(our_logs, apache_kafka):
    indexes = paths(our_logs.our_log_dir, "index", "timeindex")
    result = apache_kafka.run(DUMP_LOG, "--index-sanity-check", "--files", ",".join(indexes))
    assert (result.exit_code, result.stderr) == (0, "")
    said = [line for line in result.lines if not line.startswith("Dumping ")]
    is_bare = {path: path.endswith(".index") and not Path(path).stat().st_size for path in indexes}
    assert said == [f"{path} is empty." if is_bare[path] else f"{path} passed sanity check." for path in indexes]


def test_apaches_dump_tool_verifies_our_indexes(our_logs, apache_kafka):
    indexes = paths(our_logs.our_log_dir, "index", "timeindex")
    result = apache_kafka.run(DUMP_LOG, "--verify-index-only", "--files", ",".join(indexes))
    assert (result.exit_code, result.stderr) == (0, "")
    assert [line for line in result.lines if not line.endswith(" is empty.")] == [f"Dumping {path}" for path in indexes]


@pytest.fixture(scope="module")
def twins(apache_kafka, zookeeper, tmp_path_factory):
    made = Twins(tmp_path_factory.mktemp("twins"), f"{zookeeper.connect}/twins")
    try:
        feed(made)
        yield made
    finally:
        made.apache.kill()


@pytest.mark.core
@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["log", "index", "txnindex"])
def test_segment_files_are_equal_to_the_byte(twins, suffix):
    pairs = twins.files(f"*/*.{suffix}")
    assert len(pairs) > 5
    for theirs, ours in pairs:
        assert ours.read_bytes() == theirs.read_bytes(), theirs


@pytest.mark.core
@pytest.mark.slow
def test_time_indexes_name_the_same_times_and_batches(twins):
    """A leader of Apache's decodes an uncompressed batch to name the record with the largest time stamp; ours names the
    batch's last record, as both do for compressed batches. Lookups start at the batch, so either finds the same."""
    pairs = twins.files("*/*.timeindex")
    assert len(pairs) > 10
    equal = 0
    for theirs, ours in pairs:
        ends = [header.last_offset for _, header in iter_headers(ours.with_suffix(".log").read_bytes())]
        base_offset = int(ours.stem)
        entries = []
        for path in (theirs, ours):
            data = path.read_bytes()
            assert len(data) % TIME_ENTRY.size == 0
            entries.append([
                (timestamp, bisect.bisect_left(ends, base_offset + relative))
                for timestamp, relative in TIME_ENTRY.iter_unpack(data)
            ])  # fmt: skip
        assert entries[1] == entries[0], theirs
        equal += theirs.read_bytes() == ours.read_bytes()
    assert equal > 5


@pytest.mark.core
@pytest.mark.slow
def test_snapshots_hold_the_same_producers(twins):
    pairs = twins.files("*/*.snapshot")
    assert len(pairs) > 10
    for pair in pairs:
        theirs, ours = ({number: fields_of(producer) for number, producer in decode_snapshot(path.read_bytes())}
                        for path in pair)  # fmt: skip
        assert ours == theirs, pair


def fields_of(producer) -> tuple:
    return (producer.epoch, list(producer.batches), producer.last_timestamp, producer.coordinator_epoch,
            producer.txn_first_offset)  # fmt: skip


@pytest.mark.core
@pytest.mark.slow
def test_leader_epochs_are_equal_to_the_byte(twins):
    pairs = twins.files("*/leader-epoch-checkpoint")
    assert len(pairs) == len(TOPICS)
    for theirs, ours in pairs:
        assert ours.read_bytes() == theirs.read_bytes(), theirs


@pytest.mark.core
@pytest.mark.slow
def test_checkpoints_say_the_same(twins):
    for theirs, ours in twins.files("*-checkpoint"):
        if not theirs.name.startswith("cleaner"):
            assert sorted(ours.read_text().splitlines()) == sorted(theirs.read_text().splitlines()), theirs.name


@pytest.mark.core
@pytest.mark.slow
def test_there_are_no_other_files(twins):
    names = [{str(path.relative_to(root)) for path in root.rglob("*")}
             for root in (twins.their_log_dir, twins.our_log_dir)]  # fmt: skip
    # Apache 2.8.2 writes partition.metadata only with the second LeaderAndIsr that it gets for a partition.
    differing = {name for name in names[0] ^ names[1] if not name.endswith("partition.metadata")}
    assert differing == {"meta.properties"}


@pytest.mark.core
@pytest.mark.slow
def test_apaches_dump_tool_prints_our_state_files_like_its_own(twins, apache_kafka):
    printed = []
    for root in (twins.their_log_dir, twins.our_log_dir):
        result = apache_kafka.run(DUMP_LOG, "--files", ",".join(paths(root, "snapshot", "txnindex", "index")))
        assert (result.exit_code, result.stderr) == (0, "")
        assert not COMPLAINTS.search(result.stdout)
        printed.append(sorted(result.stdout.replace(str(root), "").splitlines()))
    assert printed[1] == printed[0]
    assert any("currentTxnFirstOffset: Some(" in line for line in printed[1])
    assert any("lastStableOffset:" in line for line in printed[1])
