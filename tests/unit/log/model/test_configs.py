"""Settings of the log: the broker's, the topic's, and how one falls back on the other."""

from pathlib import Path

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.base.options import MAX_LONG
from kafka_py.log.model.broker_options import LogOptions
from kafka_py.log.model.configs import TOPIC_SYNONYMS, LogConfig
from kafka_py.log.model.format_versions import magic_of_version, valid_version
from kafka_py.records.compression import Codec


def test_a_topic_has_the_brokers_values_unless_it_has_its_own():
    broker = LogOptions.parse({"log.segment.bytes": "1000", "message.max.bytes": "77", "log.preallocate": "true"})
    config = LogConfig.for_topic(broker, {"max.message.bytes": "5000"})
    assert (config.segment_bytes, config.max_message_bytes, config.preallocate) == (1000, 5000, True)
    assert config.originals == {"max.message.bytes": "5000"}
    assert LogConfig.for_topic().segment_bytes == 1 << 30


@pytest.mark.parametrize(
    ("given", "topic_setting", "value"),
    [
        ({}, "retention.ms", 604_800_000),
        ({"log.retention.hours": "1"}, "retention.ms", 3_600_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "2"}, "retention.ms", 120_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "2", "log.retention.ms": "3"}, "retention.ms", 3),
        ({"log.retention.ms": "-5"}, "retention.ms", -1),
        ({"log.retention.hours": "-1"}, "retention.ms", -1),
        ({}, "segment.ms", 604_800_000),
        ({"log.roll.hours": "2"}, "segment.ms", 7_200_000),
        ({"log.roll.hours": "2", "log.roll.ms": "9"}, "segment.ms", 9),
        ({"log.roll.jitter.hours": "1"}, "segment.jitter.ms", 3_600_000),
        ({"log.roll.jitter.ms": "7"}, "segment.jitter.ms", 7),
        ({}, "flush.ms", MAX_LONG),
        ({"log.flush.scheduler.interval.ms": "50"}, "flush.ms", 50),
        ({"log.flush.scheduler.interval.ms": "50", "log.flush.interval.ms": "20"}, "flush.ms", 20),
        ({"log.cleaner.delete.retention.ms": "8"}, "delete.retention.ms", 8),
        ({"log.segment.delete.delay.ms": "8"}, "file.delete.delay.ms", 8),
        ({"min.insync.replicas": "2"}, "min.insync.replicas", 2),
        ({"unclean.leader.election.enable": "true"}, "unclean.leader.election.enable", True),
    ],
)
def test_settings_with_several_sources_take_the_strongest(given, topic_setting, value):
    config = LogConfig.for_topic(LogOptions.parse(given))
    assert getattr(config, LogConfig.ROWS[topic_setting].attribute) == value


def test_s2_098_retention_in_numbers():
    """S2-098: 7 days are 168 h are 604800000 ms; a segment is 1 GiB; dirty ratio 0.5."""
    broker = LogOptions.parse({})
    config = LogConfig.for_topic(broker)
    assert (broker.log_retention_hours, config.retention_ms) == (168, 604_800_000)
    assert config.retention_ms == 7 * 24 * 3_600_000
    assert (config.segment_bytes, config.retention_bytes) == (1_073_741_824, -1)
    assert config.min_cleanable_dirty_ratio == 0.5


def test_we1_7_the_largest_message_by_default():
    """WE1-7: the example's 1000012 has become 1 MiB and the log overhead of 12 bytes."""
    assert LogOptions.parse({}).message_max_bytes == LogConfig.for_topic().max_message_bytes == (1 << 20) + 12


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("segment.bytes", "13"),
        ("segment.ms", "0"),
        ("retention.ms", "-2"),
        ("max.message.bytes", "-1"),
        ("min.cleanable.dirty.ratio", "1.01"),
        ("cleanup.policy", "delete,shred"),
        ("compression.type", "brotli"),
        ("message.timestamp.type", "Whenever"),
        ("message.format.version", "3.0"),
        ("min.insync.replicas", "0"),
        ("preallocate", "maybe"),
        ("leader.replication.throttled.replicas", "1:2,x"),
        ("max.compaction.lag.ms", "0"),
    ],
)
def test_a_bad_topic_value_is_refused_by_name(name, value):
    with pytest.raises(ConfigError, match=name.replace(".", r"\.")):
        LogConfig.check({name: value})


def test_an_unknown_topic_setting_is_refused_by_check_and_left_aside_otherwise():
    with pytest.raises(ConfigError, match=r"Unknown topic config name: segment\.byts"):
        LogConfig.check({"segment.byts": "1"})
    assert LogConfig.for_topic(None, {"segment.byts": "1"}).unknown == ["segment.byts"]


def test_the_compaction_lags_must_be_in_order():
    with pytest.raises(ConfigError, match=r"max\.compaction\.lag\.ms"):
        LogConfig.check({"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "9"})


@pytest.mark.parametrize("value", ["", "*", "0:1", "0:1,1:2"])
def test_throttled_replicas_are_a_star_or_pairs(value):
    LogConfig.check({"follower.replication.throttled.replicas": value})


def test_what_appending_looks_at_is_worked_out_once():
    config = LogConfig.for_topic(None, {"cleanup.policy": "compact,delete", "compression.type": "zstd"})
    assert (config.is_compacted, config.is_deletable, config.target_codec) == (True, True, Codec.ZSTD)
    plain = LogConfig.for_topic()
    assert (plain.is_compacted, plain.is_deletable, plain.target_codec) == (False, True, None)
    assert (plain.stamps_append_time, plain.checks_timestamps) == (False, False)
    assert LogConfig.for_topic(None, {"message.timestamp.difference.max.ms": 5}).checks_timestamps
    assert LogConfig.for_topic(None, {"compression.type": "uncompressed"}).target_codec is Codec.NONE


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"log.dirs": " , "}, "log.dirs"),
        ({"log.cleanup.policy": ""}, "log.cleanup.policy"),
        ({"log.cleaner.dedupe.buffer.size": "1048576"}, "dedupe"),
        ({"log.retention.ms": "0"}, "log.retention.ms"),
        ({"log.retention.hours": "0"}, "log.retention.hours"),
        ({"log.segment.bytes": "x"}, "log.segment.bytes"),
    ],
)
def test_a_bad_broker_setting_is_refused_by_name(given, words):
    with pytest.raises(ConfigError, match=words.replace(".", r"\.")):
        LogOptions.parse(given)


def test_log_dirs_win_over_log_dir_and_either_may_be_a_list():
    assert LogOptions.parse({}).log_directories == ["/tmp/kafka-logs"]
    assert LogOptions.parse({"log.dir": "/a, /b"}).log_directories == ["/a", "/b"]
    assert LogOptions.parse({"log.dir": "/a", "log.dirs": "/b,/c"}).log_directories == ["/b", "/c"]


@pytest.mark.parametrize(
    ("version", "magic"),
    [
        ("0.8.0", 0), ("0.9.0", 0), ("0.10.0-IV0", 1), ("0.10.2", 1), ("0.11.0", 2), ("0.11.0-IV2", 2), ("2.6", 2),
        ("2.8.2", 2),
    ],
)
def test_format_versions(version, magic):
    assert valid_version(version)
    assert magic_of_version(version) == magic


@pytest.mark.parametrize("version", ["", "3.0", "2.9", "0.7.0", "2.8-IV2", "two"])
def test_other_versions_are_not_valid(version):
    assert not valid_version(version)


def test_every_topic_setting_with_a_broker_default_has_a_synonym():
    without = {"leader.replication.throttled.replicas", "follower.replication.throttled.replicas"}
    assert set(LogConfig.ROWS) - set(TOPIC_SYNONYMS) == without
    assert all(name in LogOptions.ROWS for names in TOPIC_SYNONYMS.values() for name in names)
    assert TOPIC_SYNONYMS["retention.ms"] == ("log.retention.ms", "log.retention.minutes", "log.retention.hours")


REFERENCE = Path(__file__).resolve().parents[4] / "docs" / "reference" / "configs.tsv"


def test_the_tables_agree_with_the_reference():
    rows = [line.split("\t") for line in REFERENCE.read_text().splitlines()[1:]]
    for scope, table in (("broker", LogOptions), ("topic", LogConfig)):
        expected = {row[1]: row for row in rows if row[0] == scope}
        for name, option in table.ROWS.items():
            _, _, kind, default, _, importance, live, *_ = expected[name]
            text = "null" if option.default is None else option.text(option.default) or '""'
            assert (option.kind.name.lower(), text, option.importance) == (kind, default, importance), name
            if scope == "broker":
                assert option.live.value == live, name
    assert {row[1] for row in rows if row[0] == "topic"} == set(LogConfig.ROWS)
    assert {row[1] for row in rows if row[0] == "broker" and row[1].startswith("log.")} <= set(LogOptions.ROWS)
