"""kafka-dump-log.sh by file kind; what Apache's tool says of the same files is compared in tests/compat."""

import struct
import zlib

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.broker.settings import scala_order
from kafka_py.cli import dump_log
from kafka_py.cli.common.command import CommandFailed, UsageError
from kafka_py.cli.console.record_texts import (
    decoder_named,
    offsets_texts,
    plain_texts,
    transaction_texts,
)
from kafka_py.log.state.producer_snapshots import encode_snapshot
from kafka_py.log.state.producer_state import AppendedBatch, ProducerStateEntry
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.control import ControlType, end_txn_marker
from kafka_py.wire.compiler import encode_versioned
from kafka_py.wire.messages.offset_commit_record import OffsetCommitKey
from kafka_py.wire.messages.transaction_log_record import PartitionsSchema, TransactionLogKey, TransactionLogValue
from kafka_py.wire.stored_records import UndecodableRecord

NAME = "00000000000000000010"


def batch(values, base_offset=10, timestamp=1000, **fields):
    builder = BatchBuilder(base_offset=base_offset, leader_epoch=0, **fields)
    for number, value in enumerate(values):
        builder.append(timestamp + number, b"k", value, [("h", None)] if value == b"h" else ())
    return builder.build()


LOG = batch([b"a", b"b"]) + batch([b"c"], 12, 2000)  # at 0 and 79


def offset_index(*entries):
    return b"".join(struct.pack(">ii", *entry) for entry in entries)


def time_index(*entries):
    return b"".join(struct.pack(">qi", *entry) for entry in entries)


class Files:
    """A folder and the command on what is in it."""

    def __init__(self, folder, capsys):
        self.folder = folder
        self.capsys = capsys

    def put(self, suffix, data, name=NAME):
        path = self.folder / f"{name}.{suffix}"
        path.write_bytes(data)
        return path

    def dump(self, *paths, options=(), code=0):
        """(lines without the file's announcement, error lines)"""
        assert dump_log.main(["--files", ",".join(map(str, paths)), *options]) == code
        said = self.capsys.readouterr()
        lines = [line for line in said.out.splitlines() if not line.startswith("Dumping ")]
        return lines, [line.replace(str(self.folder), "DIR") for line in said.err.splitlines()]


@pytest.fixture
def files(tmp_path, capsys):
    return Files(tmp_path, capsys)


# ---- .log


def test_batches_are_shown_with_header_and_checksum(files):
    lines, errors = files.dump(files.put("log", batch([b"a", b"b"], producer_id=7, producer_epoch=1, base_sequence=5)))
    assert errors == []
    assert lines[0] == "Starting offset: 10"
    assert lines[1].startswith(
        "baseOffset: 10 lastOffset: 11 count: 2 baseSequence: 5 lastSequence: 6 producerId: 7 producerEpoch: 1 "
        "partitionLeaderEpoch: 0 isTransactional: false isControl: false position: 0 CreateTime: 1001 size: 79 "
        "magic: 2 compresscodec: NONE crc: "
    )
    assert lines[1].endswith(" isvalid: true")
    assert len(lines) == 2


def test_records_are_shown_in_depth(files):
    path = files.put("log", batch([b"a", b"h", None], producer_id=7, producer_epoch=1, base_sequence=5))
    deep, _ = files.dump(path, options=["--deep-iteration"])
    assert deep[3] == (
        "| offset: 11 isValid: true crc: null keySize: 1 valueSize: 1 CreateTime: 1001 baseOffset: 10 lastOffset: 12 "
        "baseSequence: 5 lastSequence: 7 producerEpoch: 1 partitionLeaderEpoch: 0 batchSize: 90 magic: 2 "
        "compressType: NONE position: 0 sequence: 6 headerKeys: [h]"
    )
    contents, _ = files.dump(path, options=["--print-data-log"])
    assert [line.removeprefix(before) for line, before in zip(contents[2:], deep[2:], strict=True)] == [
        " key: k payload: a", " key: k payload: h", " key: k",
    ]  # fmt: skip
    bare, _ = files.dump(path, options=["--print-data-log", "--skip-record-metadata"])
    assert bare[2:] == ["| key: k payload: a", "| key: k payload: h", "| key: k"]


def test_control_records_are_shown_as_what_they_mean(files):
    marker = end_txn_marker(ControlType.ABORT, producer_id=7, producer_epoch=0, coordinator_epoch=4, timestamp=1,
                            base_offset=10)  # fmt: skip
    lines, _ = files.dump(files.put("log", marker), options=["--print-data-log"])
    assert lines[2].endswith(" headerKeys: [] endTxnMarker: ABORT coordinatorEpoch: 4")


def test_a_wrong_checksum_is_shown(files):
    data = bytearray(LOG)
    data[17] ^= 1
    lines, _ = files.dump(files.put("log", data))
    assert [line.rpartition(" ")[2] for line in lines[1:]] == ["false", "true"]


def test_gaps_between_offsets_are_told_latest_first(files):
    path = files.put("log", LOG + batch([b"d"], 15) + batch([b"e"], 12))
    assert files.dump(path)[1] == []
    assert files.dump(path, options=["--deep-iteration"])[1] == [
        f"Non-consecutive offsets in DIR/{NAME}.log", "  15 is followed by 12", "  12 is followed by 15",
    ]  # fmt: skip


@pytest.mark.parametrize("tail", [bytes(12), bytes(17), batch([b"x"], 13)[:-1]])
def test_what_is_no_whole_batch_at_the_end_is_counted(files, tail):
    lines, errors = files.dump(files.put("log", LOG + tail))
    assert lines[-1] == f"Found {len(tail)} invalid bytes at the end of {NAME}.log"
    assert errors == []


def test_a_corrupt_log_ends_its_own_dump_in_one_line_and_the_rest_goes_on(files):
    bad = files.put("log", LOG + bytes(40))
    good = files.put("log", LOG, name="00000000000000000020")
    lines, errors = files.dump(bad, good, code=1)
    assert errors == [f"Error: DIR/{NAME}.log: size 0 is below 14 (batch at position {len(LOG)})"]
    assert lines[3] == "Starting offset: 20"


def test_old_formats_are_shown_without_what_they_lack(files):
    body = struct.pack(">bbqi", 1, 0, 1000, -1) + struct.pack(">i", 1) + b"v"
    crc = zlib.crc32(body)
    entry = struct.pack(">qiI", 10, 4 + len(body), crc) + body
    lines, _ = files.dump(files.put("log", entry), options=["--print-data-log"])
    assert lines[1:] == [
        f"offset: 10 position: 0 CreateTime: 1000 size: 35 magic: 1 compresscodec: NONE crc: {crc} isvalid: true",
        f"| offset: 10 isValid: true crc: {crc} keySize: -1 valueSize: 1 CreateTime: 1000 baseOffset: 10 "
        "lastOffset: 10 baseSequence: -1 lastSequence: -1 producerEpoch: -1 partitionLeaderEpoch: -1 batchSize: 35 "
        f"magic: 1 compressType: NONE position: 0 crc: {crc} isvalid: true payload: v",
    ]


# ---- .index and .timeindex


def test_an_offset_index_is_shown_and_held_against_its_log(files):
    files.put("log", LOG)
    path = files.put("index", offset_index((1, 0), (2, 0)) + bytes(16))
    complaint = [f"Mismatches in :DIR/{NAME}.index", "  Index offset: 12, log offset: 11"]
    assert files.dump(path) == (["offset: 11 position: 0", "offset: 12 position: 0"], complaint)
    assert files.dump(path, options=["--verify-index-only"]) == ([], complaint)
    assert files.dump(path, options=["--index-sanity-check"]) == ([f"{path} passed sanity check."], [])


def test_an_empty_offset_index_says_so(files):
    files.put("log", LOG)
    path = files.put("index", b"")
    for options in ([], ["--index-sanity-check"]):
        assert files.dump(path, options=options)[0] == [f"{path} is empty."]


@pytest.mark.parametrize(
    ("index", "options", "message"),
    [
        (offset_index((1, 0), (9, 5000)), [], "points to position 5000"),
        (offset_index((1, 0), (2, 80)), [], "points to position 80"),
        (offset_index((1, 0)), ["--max-message-size", "78"], "no whole batch of at most 78 bytes"),
        (offset_index((1, 0)) + b"x", ["--index-sanity-check"], "its 9 bytes are no whole number of entries of 8"),
        (offset_index((1, 0), (-3, 79)), ["--index-sanity-check"], "its last offset 7 is below its base offset 10"),
    ],
)
def test_an_offset_index_that_cannot_be_is_an_error(files, index, options, message):
    files.put("log", LOG)
    _, errors = files.dump(files.put("index", index), options=options, code=1)
    assert len(errors) == 1
    assert message in errors[0]


def test_a_time_index_is_shown_and_held_against_its_log(files):
    files.put("log", LOG)
    files.put("index", offset_index((1, 0), (2, 79)))
    path = files.put("timeindex", time_index((1001, 1), (1999, 2), (1500, 2), (3000, 1 << 20)))
    lines, errors = files.dump(path)
    assert lines[0] == "timestamp: 1001 offset: 11"
    assert errors == [
        f"Found timestamp mismatch in :DIR/{NAME}.timeindex",
        "  Index timestamp: 1999, log timestamp: 2000",
        "  Index timestamp: 1500, log timestamp: 2000",
        f"Found out of order timestamp in :DIR/{NAME}.timeindex",
        "  Index timestamp: 1500, Previously indexed timestamp: 1999",
        "The following indexed offsets are not found in the log.",
        "Indexed offset: 1048586, found log offset: -1",
    ]
    assert files.dump(path, options=["--verify-index-only"]) == ([], errors)


def test_a_time_index_that_names_the_middle_of_a_batch_is_told(files):
    files.put("log", LOG)
    files.put("index", offset_index((1, 0)))
    _, errors = files.dump(files.put("timeindex", time_index((1000, 0))))
    assert errors[1] == "Indexed offset: 10, found log offset: 11"


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (time_index((2000, 1)) + b"zz", "its 14 bytes are no whole number of entries of 12"),
        (time_index((2000, 1), (1000, 2)), "its last timestamp 1000 is below its first timestamp 2000"),
        (time_index((1000, 1), (2000, -2)), "its last offset 8 is below its base offset 10"),
    ],
)
def test_a_time_index_that_is_not_sane_is_an_error(files, index, message):
    files.put("log", LOG)
    files.put("index", b"")
    _, errors = files.dump(files.put("timeindex", index), options=["--index-sanity-check"], code=1)
    assert message in errors[0]


def test_an_index_needs_its_log(files):
    _, errors = files.dump(files.put("index", offset_index((1, 0))), code=1)
    assert errors == [f"Error: Cannot read DIR/{NAME}.log: No such file or directory"]


# ---- .snapshot, .txnindex, and what is none of these


def test_producers_are_shown(files):
    writing, silent = ProducerStateEntry(1, [AppendedBatch(6, 12, 2, 99)]), ProducerStateEntry(3)
    writing.txn_first_offset, writing.last_timestamp = 4, 99
    lines, _ = files.dump(files.put("snapshot", encode_snapshot([(1000, writing), (9, silent)])))
    assert lines == [
        "producerId: 1000 producerEpoch: 1 coordinatorEpoch: -1 currentTxnFirstOffset: Some(4) firstSequence: 4 "
        "lastSequence: 6 lastOffset: 12 offsetDelta: 2 timestamp: 99",
        "producerId: 9 producerEpoch: 3 coordinatorEpoch: -1 currentTxnFirstOffset: None ",
    ]


def test_a_corrupt_snapshot_is_told_and_is_no_failure(files):
    lines, errors = files.dump(files.put("snapshot", b"\0\1" + bytes(8)))
    assert (lines, len(errors)) == ([], 1)
    assert "checksum" in errors[0]


def test_aborted_transactions_are_shown(files):
    lines, _ = files.dump(files.put("txnindex", struct.pack(">hqqqq", 0, 1000, 5, 9, 5) + b"rest"))
    assert lines == ["version: 0 producerId: 1000 firstOffset: 5 lastOffset: 9 lastStableOffset: 5"]


def test_files_of_other_kinds_are_left_alone(files):
    path = files.put("log.deleted", LOG)
    assert files.dump(path) == ([], [f"Ignoring unknown file DIR/{NAME}.log.deleted"])
    _, errors = files.dump(files.put("log", LOG, name="foo"), code=1)
    assert errors == ["Error: DIR/foo.log: its name does not begin with an offset"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--print-data-log"], 'Missing required argument "[files]"'), (["--files", "a", "--files", "b"], "multiple")],
)
def test_wrong_usage_is_refused(arguments, message):
    with pytest.raises(UsageError) as caught:
        dump_log.main(arguments)
    assert message in str(caught.value)


# ---- decoders


def test_keys_and_values_can_have_decoders_of_their_own(files):
    path = files.put("log", batch([(5).to_bytes(8, "big")]))
    options = ["--skip-record-metadata", "--value-decoder-class"]
    assert files.dump(path, options=[*options, "kafka.serializer.LongDecoder"])[0][2] == "| key: k payload: 5"
    java = "org.apache.kafka.common.serialization.LongDeserializer"
    assert files.dump(path, options=[*options, java, "--key-decoder-class"])[0][2] == "| key: k payload: 5"
    assert files.dump(path, options=[*options, "kafka.serializer.DefaultDecoder"])[0][2] == "| key: k payload: 5"
    lines, errors = files.dump(path, options=[*options, "kafka.serializer.IntegerDecoder"], code=1)
    assert len(lines) == 2
    assert errors[0].startswith(f"Error: DIR/{NAME}.log: the record at offset 10: a key or value cannot be decoded")


def test_text_that_is_no_utf_8_is_shown_with_replacements():
    string = decoder_named("key-decoder-class", dump_log.STRINGS)
    assert plain_texts(string, string)(b"a\xff", None) == ("a\ufffd", None)


UNKNOWN_STATE = TransactionLogValue(
    producer_id=0, producer_epoch=0, transaction_timeout_ms=0, transaction_status=9, transaction_partitions=[],
    transaction_last_update_timestamp_ms=0, transaction_start_timestamp_ms=0,
)  # fmt: skip


@pytest.mark.parametrize(
    ("decoder", "key", "value", "message"),
    [
        (offsets_texts, None, b"", "no key"),
        (offsets_texts, b"\0", None, "version"),
        (offsets_texts, b"\0\7", None, "key of version 7"),
        (offsets_texts, b"\0\1\0", None, "OffsetCommitKey"),
        (offsets_texts, encode_versioned(OffsetCommitKey(group="g", topic="t", partition=0), 1), b"\0\x09",
         "OffsetCommitValue"),
        (transaction_texts, None, b"", "no key"),
        (transaction_texts, b"\0\2", None, "TransactionLogKey"),
        (transaction_texts, encode_versioned(TransactionLogKey(transactional_id="x"), 0),
         encode_versioned(UNKNOWN_STATE, 0), "unknown state 9"),
    ],
)  # fmt: skip
def test_records_that_are_not_the_decoders_are_told(decoder, key, value, message):
    with pytest.raises(UndecodableRecord, match=message):
        decoder(key, value)


def test_records_of_kraft_are_refused(capsys):
    with pytest.raises(CommandFailed, match="without ZooKeeper"):
        dump_log.main(["--files", "x.log", "--cluster-metadata-decoder"])


# ---- worked examples


def field(line, name):
    return line.split(f"{name}: ")[1].split(" ")[0]


def test_w5_15_one_record_is_shown_with_size_76(files):
    """W5.15, W5.17, W5.18, W5.19: the sizes that the dump shows."""
    sizes = []
    for records in ([(b"key", b"value")], [(None, b"value")], [(None, b"value1")] * 10, [(b"key", b"value")] * 6):
        builder = BatchBuilder(base_offset=10)
        for key, value in records:
            builder.append(1_600_000_000_000, key, value)
        lines, _ = files.dump(files.put("log", builder.build()))
        sizes.append((field(lines[1], "size"), field(lines[1], "count")))
    assert sizes == [("76", "1"), ("73", "1"), ("191", "10"), ("151", "6")]


def batch_of_size(first_offset, last_offset, size):
    """A batch of these offsets that has exactly so many bytes; its last record is padded."""
    for padding in range(size):
        values = [b""] * (last_offset - first_offset) + [bytes(padding)]
        made = batch(values, first_offset)
        if len(made) == size:
            return made
    raise AssertionError(f"no batch of {size} bytes")


def test_w5_25_an_index_with_offsets_22_and_26_is_shown(files):
    """W5.25: entries [22, 656] and [26, 838], sound against a log whose batches lie there."""
    parts = [batch_of_size(0, 21, 656), batch_of_size(22, 22, 90), batch_of_size(23, 25, 92), batch_of_size(26, 26, 80)]
    files.put("log", b"".join(parts), name=f"{0:020d}")
    path = files.put("index", offset_index((22, 656), (26, 838)), name=f"{0:020d}")
    assert files.dump(path) == (["offset: 22 position: 656", "offset: 26 position: 838"], [])


def test_partitions_of_a_transaction_are_in_the_order_of_scalas_hash_set():
    names = [PartitionsSchema(topic="numbers", partition_ids=[0]), PartitionsSchema(topic="__x", partition_ids=[9, 3])]
    value = TransactionLogValue(transaction_status=1, transaction_partitions=names)
    key = encode_versioned(TransactionLogKey(transactional_id="x"), 0)
    _, shown = transaction_texts(key, encode_versioned(value, 0))
    partitions = [TopicPartition("numbers", 0), TopicPartition("__x", 9), TopicPartition("__x", 3)]
    wanted = ",".join(map(str, scala_order.of_partitions(partitions)))
    assert f",partitions=[{wanted}]," in shown


def test_of_a_whole_log_directory_every_file_is_dumped(files):
    """Partition by partition; checkpoints, and files on their way out, are left alone."""
    for partition in ("t-0", "t-1"):
        (files.folder / "logs" / partition).mkdir(parents=True)
        (files.folder / "logs" / partition / f"{NAME}.log").write_bytes(LOG)
        (files.folder / "logs" / partition / f"{NAME}.index").write_bytes(b"")
        (files.folder / "logs" / partition / "leader-epoch-checkpoint").write_text("0\n0\n")
        (files.folder / "logs" / partition / f"{NAME}.log.deleted").write_bytes(b"junk")
    (files.folder / "logs" / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    assert dump_log.main(["--files", str(files.folder / "logs")]) == 0
    said = files.capsys.readouterr().out.splitlines()
    dumped = [line.split("/logs/")[1] for line in said if line.startswith("Dumping ")]
    assert dumped == [f"t-{number}/{NAME}.{suffix}" for number in (0, 1) for suffix in ("index", "log")]
