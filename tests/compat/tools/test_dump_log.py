"""kafka-dump-log.sh says of sound and of broken files what Apache's tool says, line by line and with its exit code.

Where Apache's ends with a stack trace ours has one line, so of those runs only what comes before is compared.
"""

import struct
from pathlib import Path

import pytest
from fed_logs import OurLogs, Twins, feed

from kafka_py.cli import dump_log
from kafka_py.records.builder import BatchBuilder
from kafka_py.wire.compiler import encode_versioned
from kafka_py.wire.messages.consumer_protocol import ConsumerProtocolAssignment, TopicPartitions
from kafka_py.wire.messages.group_metadata_record import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from kafka_py.wire.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from kafka_py.wire.messages.transaction_log_record import PartitionsSchema, TransactionLogKey, TransactionLogValue

DUMP_LOG = "kafka.tools.DumpLogSegments"


@pytest.fixture
def same(apache_kafka, capsys):
    """Runs both tools with the same arguments and compares; returns our lines. errors: whether stderr is compared."""

    def check(*arguments, errors=True):
        theirs = apache_kafka.run(DUMP_LOG, *arguments)
        code = dump_log.main(arguments)
        ours = capsys.readouterr()
        assert ours.out.splitlines() == theirs.stdout.splitlines()
        assert code == theirs.exit_code
        if code:
            assert "Exception" in theirs.stderr
            assert ours.err.startswith("Error: ")
            assert len(ours.err.splitlines()) == 1
        elif errors:
            mine, classic = ours.err.splitlines(), theirs.stderr.splitlines()
            if "," in arguments[1]:  # of several files, in the order of a hash map
                mine, classic = sorted(mine), sorted(classic)
            assert mine == classic
        return ours.out.splitlines()

    return check


@pytest.fixture(scope="module")
def our_logs(tmp_path_factory) -> Path:
    made = OurLogs(tmp_path_factory.mktemp("logs"))
    feed(made)
    return made.our_log_dir


def files(root: Path, *suffixes: str) -> str:
    return ",".join(str(path) for suffix in suffixes for path in sorted(root.glob(f"*/*.{suffix}")))


@pytest.mark.parametrize("options", [(), ("--deep-iteration",)])
def test_the_records_of_a_log_directory(same, our_logs, options):
    assert len(same("--files", files(our_logs, "log"), *options)) > 500


def test_the_other_files_of_a_log_directory(same, our_logs):
    lines = same("--files", files(our_logs, "index", "timeindex", "snapshot", "txnindex"))
    assert any("currentTxnFirstOffset: Some(" in line for line in lines)
    assert any("lastStableOffset:" in line for line in lines)


@pytest.mark.parametrize("option", ["--verify-index-only", "--index-sanity-check"])
def test_the_indexes_of_a_log_directory_are_sound(same, our_logs, option):
    same("--files", files(our_logs, "index", "timeindex"), option)


@pytest.fixture(scope="module")
def their_logs(apache_kafka, zookeeper, tmp_path_factory):
    """What Apache's own broker wrote."""
    twins = Twins(tmp_path_factory.mktemp("twins"), f"{zookeeper.connect}/dumped-twins")
    try:
        feed(twins)
        yield twins.their_log_dir
    finally:
        twins.apache.kill()


@pytest.mark.slow
@pytest.mark.parametrize("option", [None, "--deep-iteration", "--verify-index-only", "--index-sanity-check"])
def test_the_files_of_apaches_broker(same, their_logs, option):
    """Its time indexes name records inside of batches, about which both tools complain."""
    names = files(their_logs, "log", "index", "timeindex", "snapshot", "txnindex")
    assert same("--files", names, *([option] if option else []))


# ---- small files, made by hand

NAME = "00000000000000000010"


def batch(values, base_offset=10, timestamp=1000, **fields) -> bytes:
    builder = BatchBuilder(base_offset=base_offset, leader_epoch=0, **fields)
    for number, value in enumerate(values):
        builder.append(timestamp + number, b"k", value)
    return builder.build()


LOG = batch([b"a", b"b"]) + batch([b"c"], 12, 2000) + batch([b"d"], 13, 3000)  # at 0, 79 and 149
INDEX_ENTRIES = ((1, 0), (2, 79), (3, 149))


def offset_index(*entries: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">ii", *entry) for entry in entries)


def time_index(*entries: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">qi", *entry) for entry in entries)


def put(folder: Path, suffix: str, data: bytes) -> str:
    path = folder / f"{NAME}.{suffix}"
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize("options", [("--print-data-log",), ("--print-data-log", "--skip-record-metadata"),
                                     ("--deep-iteration", "--skip-record-metadata")])  # fmt: skip
def test_keys_values_and_headers(same, tmp_path, options):
    builder = BatchBuilder(base_offset=10, leader_epoch=2, producer_id=7, producer_epoch=1, base_sequence=2147483646)
    for key, value, headers in ((b"k", b"v\xc3\xa4", [("h", b"1"), ("i", None)]), (None, b"v", []), (b"k", None, []),
                                (None, None, []), (b"", b"", [])):  # fmt: skip
        builder.append(1000, key, value, headers)
    same("--files", put(tmp_path, "log", builder.build()), *options)


@pytest.mark.slow
@pytest.mark.parametrize(
    "tail", [bytes(10), bytes(12), bytes(17), bytes(18), b"\xff" * 40, batch([b"zz"], 14)[:-5], batch([b"zz"], 14)[:16],
             batch([b"zz"], 14)[:30]],
)  # fmt: skip
def test_bytes_that_are_no_batch_at_the_end_of_a_log(same, tmp_path, tail):
    same("--files", put(tmp_path, "log", LOG + tail))


@pytest.mark.slow
def test_a_wrong_checksum_and_offsets_with_gaps(same, tmp_path):
    broken = bytearray(batch([b"a", b"b"], 20) + batch([b"c"], 5) + batch([b"d"], 9))
    broken[17] ^= 1
    lines = same("--files", put(tmp_path, "log", LOG + broken), "--print-data-log")
    assert sum(line.endswith("isvalid: false") for line in lines) == 1


@pytest.mark.slow
@pytest.mark.parametrize("codec", [0, 1, 2, 3])
@pytest.mark.parametrize("magic", [0, 1])
def test_the_old_formats(same, tmp_path, magic, codec):
    from kafka.record.legacy_records import LegacyRecordBatchBuilder

    data = b""
    for first in (10, 13):
        builder = LegacyRecordBatchBuilder(magic, codec, 1 << 20)
        for number, (key, value) in enumerate([(b"k", b"v1"), (None, b"v2"), (b"kk", None)]):
            offset = number if codec and magic else first + number
            builder.append(offset, 1000 + number if magic else None, key, value)
        entry = bytearray(builder.build())
        if codec:
            entry[:8] = struct.pack(">q", first + 2)
        data += entry
    same("--files", put(tmp_path, "log", data))
    same("--files", put(tmp_path, "log", data), "--print-data-log")


@pytest.mark.slow
@pytest.mark.parametrize("option", [None, "--verify-index-only", "--index-sanity-check"])
@pytest.mark.parametrize("index", [
    offset_index(*INDEX_ENTRIES),
    offset_index((1, 0), (2, 79)) + bytes(16),
    bytes(16),
    offset_index((0, 0), (2, 0), (3, 149)),
    offset_index((1, 0), (2, 79)) + b"xxx",
    offset_index((1, 0), (9, 5000)),
    offset_index((1, 0), (2, 80)),
    offset_index((1, 0), (-2, 79)),
    b"",
], ids=["sound", "zeroes", "only zeroes", "mismatches", "odd size", "beyond the log", "inside a batch", "negative",
        "empty"])  # fmt: skip
def test_offset_indexes(same, tmp_path, index, option):
    put(tmp_path, "log", LOG)
    same("--files", put(tmp_path, "index", index), *([option] if option else []))


@pytest.mark.slow
@pytest.mark.parametrize("option", [None, "--index-sanity-check"])
@pytest.mark.parametrize("index", [
    time_index((1001, 1), (2000, 2), (3000, 3)),
    time_index((1000, 0), (2000, 2)),
    time_index((1005, 1), (2001, 2)),
    time_index((1001, 1), (1001, 1), (3000, 3), (2000, 2)),
    time_index((3001, 1), (2000, 2)),
    time_index((1001, 1), (2000, 7), (3000, 9)),
    time_index((1001, 1), (2000, 2)) + bytes(24),
    time_index((1001, 1), (2000, 2)) + b"zz",
    time_index((1001, 1), (2000, -5)),
    b"",
], ids=["sound", "inside a batch", "mismatches", "disorder", "falling", "not found", "zeroes", "odd size", "negative",
        "empty"])  # fmt: skip
def test_time_indexes(same, tmp_path, index, option):
    put(tmp_path, "log", LOG)
    put(tmp_path, "index", offset_index(*INDEX_ENTRIES))
    same("--files", put(tmp_path, "timeindex", index), *([option] if option else []))


@pytest.mark.slow
def test_files_that_are_not_there_or_of_no_known_kind(same, tmp_path):
    same("--files", str(tmp_path / f"{NAME}.log"))
    same("--files", put(tmp_path, "log.deleted", LOG))
    same("--files", put(tmp_path, "index", offset_index(*INDEX_ENTRIES)))
    same("--files", str(tmp_path / f"{NAME}.txnindex"))
    same("--files", put(tmp_path, "snapshot", bytes(10)), errors=False)


# ---- the brokers' own topics


def record_log(folder: Path, records) -> str:
    builder = BatchBuilder(base_offset=10, leader_epoch=0)
    for key, value in records:
        builder.append(1000, key, value)
    return put(folder, "log", builder.build())


def test_committed_offsets_and_groups(same, tmp_path):
    commit = {"group": "g1", "topic": "t-1", "partition": 3}
    values = [
        encode_versioned(OffsetCommitValue(offset=5, metadata=metadata, commit_timestamp=9), version)
        for version, metadata in ((0, ""), (1, "m"), (2, "ä"), (3, "m m"))
    ]
    assigned = ConsumerProtocolAssignment(
        assigned_partitions=[TopicPartitions(topic="t", partitions=[0, 2]), TopicPartitions(topic="u", partitions=[1])]
    )
    with_data = ConsumerProtocolAssignment(assigned_partitions=[], user_data=b"\x01\xab")
    groups = [
        GroupMetadataValue(
            protocol_type=protocol_type, generation=4, protocol=protocol, leader="m1",
            members=[MemberMetadata(member_id="m1", client_id="c", client_host="/h", assignment=assignment)],
        )
        for protocol_type, protocol, assignment in (
            ("consumer", "range", encode_versioned(assigned, 0)),
            ("consumer", "sticky", encode_versioned(with_data, 1)),
            ("connect", "default", b"\x00\xff"),
            ("connect", None, b""),
        )
    ]  # fmt: skip
    group_key = encode_versioned(GroupMetadataKey(group="g1"), 2)
    records = [(encode_versioned(OffsetCommitKey(**commit), 1), value) for value in [*values, None]]
    records.append((encode_versioned(OffsetCommitKey(**commit), 0), values[0]))
    records += [(group_key, encode_versioned(group, version)) for version, group in enumerate(groups)]
    records.append((group_key, encode_versioned(GroupMetadataValue(protocol_type="", generation=5, members=[]), 3)))
    records.append((group_key, None))
    lines = same("--files", record_log(tmp_path, records), "--offsets-decoder", "--skip-record-metadata", errors=False)
    assert lines[3] == "| key: offset_commit::group=g1,partition=t-1-3 payload: offset=5"
    assert any('"assignment":"{m1=[]:1AB}"' in line for line in lines)


def test_transactions(same, tmp_path):
    key = encode_versioned(TransactionLogKey(transactional_id="x"), 0)
    records = [(key, None)]
    for status in range(8):
        partitions = [PartitionsSchema(topic="t1", partition_ids=[3])] if status in (1, 2, 3, 7) else []
        value = TransactionLogValue(
            producer_id=9, producer_epoch=1, transaction_timeout_ms=60000, transaction_status=status,
            transaction_partitions=partitions if status else None, transaction_last_update_timestamp_ms=5,
            transaction_start_timestamp_ms=4,
        )  # fmt: skip
        records.append((key, encode_versioned(value, 0)))
    lines = same("--files", record_log(tmp_path, records), "--transaction-log-decoder")
    assert lines[5].endswith("payload: producerId:9,producerEpoch:1,state=Ongoing,partitions=[t1-3],"
                             "txnLastUpdateTimestamp=5,txnTimeoutMs=60000")  # fmt: skip
