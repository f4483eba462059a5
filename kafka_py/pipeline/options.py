"""Every option of the data source `kafka_py`: one row each; readers, writers, errors and the documentation read it.

Names, types and defaults are those of Spark's Kafka connector where it has the option (`spark=True`). Settings with the
prefix `kafka.` go to the client by Kafka's names. Pure: text in, typed values out.
Source: Spark's Structured Streaming + Kafka integration guide.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping
from enum import Flag, auto
from typing import Any, NamedTuple

from kafka_py.base.errors import ConfigError

KAFKA_PREFIX = "kafka."
DECISION_TOPIC = "spark-sink-decisions"
"""The default topic for the decisions of exactlyOnce."""


class Where(Flag):
    """Where an option means something; elsewhere it is let pass, as Spark's connector does."""

    BATCH = auto()
    STREAM = auto()
    WRITE = auto()
    READ = BATCH | STREAM
    ALL = BATCH | STREAM | WRITE


class SparkOption(NamedTuple):
    """One option. `parse` raises ValueError with what is wrong about the text."""

    name: str
    kind: str
    default: str | None
    where: Where
    about: str
    parse: Callable[[str], Any]
    spark: bool = True
    batch_default: str | None = None
    """Of the batch reader, where it differs."""


def _text(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text.strip()


def _bool(text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise ValueError("must be true or false")
    return text.strip().lower() == "true"


def _positive(text: str) -> int:
    if not re.fullmatch(r"\d{1,18}", text.strip()) or int(text) == 0:
        raise ValueError("must be a positive whole number")
    return int(text)


def _natural(text: str) -> int:
    if not re.fullmatch(r"\d{1,18}", text.strip()):
        raise ValueError("must be a whole number, 0 or more")
    return int(text)


def _topics(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise ValueError("must name at least one topic, separated by commas")
    return names


def _pattern(text: str) -> str:
    try:
        re.compile(_text(text))
    except re.error as error:
        raise ValueError(f"is no regular expression: {error}") from None
    return text


_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def _duration_ms(text: str) -> int:
    found = re.fullmatch(r"\s*(\d{1,15})\s*(ms|s|min|m|h|d)?\s*", text)
    if found is None:
        raise ValueError("must be a time such as 500ms, 30s or 15m")
    return int(found[1]) * _UNITS_MS[found[2] or "ms"]


def _json_object(text: str, example: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ValueError(f"must be JSON such as {example}")
    return value


def _assignment(text: str) -> dict[str, tuple[int, ...]]:
    example = '{"topicA":[0,1],"topicB":[2]}'
    chosen = {}
    for topic, numbers in _json_object(text, example).items():
        if not isinstance(numbers, list) or not all(type(each) is int and each >= 0 for each in numbers):
            raise ValueError(f"must be JSON such as {example}")
        chosen[topic] = tuple(numbers)
    if not any(chosen.values()):
        raise ValueError("must name at least one partition")
    return chosen


def _per_partition(text: str, example: str, least: int) -> dict[tuple[str, int], int]:
    found: dict[tuple[str, int], int] = {}
    for topic, numbers in _json_object(text, example).items():
        if not isinstance(numbers, dict):
            raise ValueError(f"must be JSON such as {example}")
        for number, value in numbers.items():
            if not number.isdigit() or type(value) is not int or value < least:
                raise ValueError(f"must be JSON such as {example}")
            found[topic, int(number)] = value
    return found


def _offsets(*words: str) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        if text.strip().lower() in words:
            return text.strip().lower()
        example = '{"topicA":{"0":23,"1":-2}}'
        try:
            return _per_partition(text, example, -2)
        except ValueError:
            raise ValueError(f"must be {', '.join(words)} or JSON such as {example}") from None

    return parse


def _timestamps(text: str) -> dict[tuple[str, int], int]:
    return _per_partition(text, '{"topicA":{"0":1700000000000}}', 0)


def _one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.strip().lower() not in words:
            raise ValueError(f"must be one of {', '.join(words)}")
        return text.strip().lower()

    return parse


B, S, W = Where.BATCH, Where.STREAM, Where.WRITE

ROWS = (
    SparkOption("kafka.bootstrap.servers", "host:port list", None, Where.ALL, "Where the cluster is. Required.", _text),
    SparkOption("subscribe", "topic list", None, Where.READ, "Topics to read, separated by commas.", _topics),
    SparkOption("subscribePattern", "regular expression", None, Where.READ,
        "Topics in whose name it is found (^ and $ anchor it); looked up for every micro-batch.", _pattern),
    SparkOption("assign", "JSON", None, Where.READ, 'Partitions to read: {"topicA":[0,1]}.', _assignment),
    SparkOption("startingTimestamp", "long, ms", None, Where.READ,
        "Every partition begins at the first record of this time or later. Goes before the next two.", _natural),
    SparkOption("startingOffsetsByTimestamp", "JSON, ms", None, Where.READ,
        'A time for each partition: {"topicA":{"0":1700000000000}}. Goes before startingOffsets.', _timestamps),
    SparkOption("startingOffsetsByTimestampStrategy", "error, latest", "error", Where.READ,
        "What to do where no record is so young: fail, or begin at the end.", _one_of("error", "latest")),
    SparkOption("startingOffsets", "earliest, latest, committed, JSON", "latest", Where.READ,
        "Where a batch read or a new stream begins; in JSON -2 is the earliest and -1 the latest. `committed` begins "
        "where startingGroup has read to.",
        _offsets("earliest", "latest", "committed"), batch_default="earliest"),
    SparkOption("endingTimestamp", "long, ms", None, B,
        "Every partition ends before the first record of this time.", _natural),
    SparkOption("endingOffsetsByTimestamp", "JSON, ms", None, B, "A time for each partition.", _timestamps),
    SparkOption("endingOffsets", "latest, JSON", "latest", B,
        "Where a batch read ends (exclusive); in JSON -1 is the latest.", _offsets("latest")),
    SparkOption("failOnDataLoss", "boolean", "true", Where.READ,
        "Whether offsets that no longer exist (deleted, or of a topic that was deleted or re-created) end the query.",
        _bool),
    SparkOption("kafkaConsumer.pollTimeoutMs", "long, ms", "120000", Where.READ,
        "How long an executor keeps trying to read from a partition.", _positive),
    SparkOption("fetchOffset.numRetries", "integer", "3", Where.READ, "Attempts to look offsets up.", _natural),
    SparkOption("fetchOffset.retryIntervalMs", "long, ms", "1000", Where.READ,
        "Pause between such attempts.", _natural),
    SparkOption("maxOffsetsPerTrigger", "long", None, S,
        "Most offsets in a micro-batch, shared among partitions by what they have.", _positive),
    SparkOption("minOffsetsPerTrigger", "long", None, S, "A micro-batch waits until there are so many.", _positive),
    SparkOption("maxTriggerDelay", "time", "15m", S, "The longest that minOffsetsPerTrigger may hold records up.",
        _duration_ms),
    SparkOption("minPartitions", "integer", None, Where.READ,
        "At least so many Spark partitions; large ranges are split.",
        _positive),
    SparkOption("maxRecordsPerPartition", "long", None, Where.READ, "No Spark partition has more offsets.", _positive),
    SparkOption("groupIdPrefix", "string", "spark-kafka-source", Where.READ,
        "Begins the client id, by which brokers log and meter the reader. No group is joined.", _text),
    SparkOption("kafka.group.id", "string", None, Where.READ,
        "The client id, where kafka.client.id is not given.", _text),
    SparkOption("includeHeaders", "boolean", "false", Where.ALL, "Whether there is a column of headers.", _bool),
    SparkOption("topic", "string", None, W, "Where all records go; a column `topic` counts less.", _text),
    # What users of Spark's connector miss.
    SparkOption("startingGroup", "string", None, Where.READ,
        "The consumer group whose committed offsets startingOffsets=committed means.", _text, spark=False),
    SparkOption("startingGroupFallback", "earliest, latest", "earliest", Where.READ,
        "Where partitions begin for which that group has no offset.", _one_of("earliest", "latest"), spark=False),
    SparkOption("commitGroup", "string", None, S,
        "A consumer group for which the stream's position is committed after each micro-batch, for lag tools.",
        _text, spark=False),
    SparkOption("pushFilters", "boolean", "false", B,
        "Whether filters on topic, partition, offset and timestamp choose what is fetched, in sessions with "
        "spark.sql.python.filterPushdown.enabled. For a frame that is used in one query only: Spark keeps the choice.",
        _bool, spark=False),
    SparkOption("exactlyOnce", "boolean", "false", W,
        "Whether batches are written in transactions: read-committed consumers see each one whole, and once.",
        _bool, spark=False),
    SparkOption("transactionalIdPrefix", "string", None, W,
        "Begins the transactional ids of exactlyOnce; for one running query only. A stream with the option "
        "checkpointLocation needs none: it is made from that.", _text, spark=False),
    SparkOption("writeName", "string", None, W,
        "With exactlyOnce the name of a batch write: a second write of the same name writes nothing. Writes in "
        "foreachBatch need one, and count once per micro-batch.", _text, spark=False),
    SparkOption("decisionTopic", "string", DECISION_TOPIC, W,
        "The compacted topic in which exactlyOnce keeps what is decided; created where it is missing.", _text,
        spark=False),
    SparkOption("tornBatch", "fail, accept", "fail", W,
        "With exactlyOnce, what to do about a decided batch of which some transactions timed out before they were "
        "committed: fail at each start, or continue without their records.", _one_of("fail", "accept"), spark=False),
    SparkOption("fetchBytes", "integer", str(4 * 1024 * 1024), Where.READ,
        "Bytes of one partition in one fetch; kafka.max.partition.fetch.bytes counts more.", _positive, spark=False),
)  # fmt: skip
"""In the order of the documentation."""

BY_NAME = {row.name.lower(): row for row in ROWS}

REFUSED = {
    "kafka.auto.offset.reset": "use startingOffsets instead",
    "kafka.key.deserializer": "keys are bytes; convert the column",
    "kafka.value.deserializer": "values are bytes; convert the column",
    "kafka.key.serializer": "keys are bytes or text; convert the column",
    "kafka.value.serializer": "values are bytes or text; convert the column",
    "kafka.enable.auto.commit": "use commitGroup instead",
    "kafka.interceptor.classes": "interceptors would run on other bytes than Spark's",
}
"""Settings of the client that Spark's connector refuses, too."""

FIXED_FOR_WRITING = {"acks": "all", "enable.idempotence": "true"}
"""What the sink promises; another value is refused, not overridden in silence."""


class Options:
    """The options of one read or write, parsed. Raises ConfigError that names the option and its value."""

    def __init__(self, given: Mapping[str, str], where: Where) -> None:
        self.where = where
        self._values: dict[str, Any] = {}
        self.kafka: dict[str, str] = {}
        lowered = {name.lower(): value for name, value in given.items()}
        for name, value in lowered.items():
            self._take(name, value)
        for row in ROWS:
            if row.name not in self._values and row.where & where:
                default = row.batch_default if where is B and row.batch_default else row.default
                self._values[row.name] = None if default is None else row.parse(default)
        if "bootstrap.servers" not in self.kafka:
            raise ConfigError("Option kafka.bootstrap.servers must be given: where the cluster is, as host:port")
        if where is W:
            self._check_write()
        else:
            self._check_read()

    def _take(self, name: str, value: str) -> None:
        if name in REFUSED:
            raise ConfigError(f"Option {name} is not supported: {REFUSED[name]}")
        row = BY_NAME.get(name)
        if name.startswith(KAFKA_PREFIX):
            self.kafka[name.removeprefix(KAFKA_PREFIX)] = value
        elif row is None:
            close = difflib.get_close_matches(name, BY_NAME, 1, 0.85)
            if close:
                raise ConfigError(f"Option {name} does not exist; is {BY_NAME[close[0]].name} meant?")
        if row is not None and row.where & self.where:
            try:
                self._values[row.name] = row.parse(value)
            except ValueError as error:
                raise ConfigError(f"Option {row.name} {error}, not {value!r}") from None

    def _check_read(self) -> None:
        chosen = [name for name in ("subscribe", "subscribePattern", "assign") if self[name] is not None]
        if len(chosen) != 1:
            given = f", not both {' and '.join(chosen)}" if chosen else ""
            raise ConfigError(f"One of the options subscribe, subscribePattern and assign must be given{given}")
        if self.where is B and self["startingOffsets"] == "latest":
            raise ConfigError("Option startingOffsets of a batch read must not be 'latest': there would be nothing")
        if isinstance(self["startingOffsets"], dict):
            self._check_offsets()
        if self["startingOffsets"] == "committed" and self["startingGroup"] is None:
            raise ConfigError("Option startingGroup must be given with startingOffsets=committed")
        if self.where is B and isinstance(self["endingOffsets"], dict):
            wrong = [f"{topic}-{number}" for (topic, number), at in self["endingOffsets"].items() if at == -2]
            if wrong:
                raise ConfigError(f"Option endingOffsets must not be -2 (earliest), as it is for {wrong[0]}")
        least, most = self.get("minOffsetsPerTrigger"), self.get("maxOffsetsPerTrigger")
        if least is not None and most is not None and least > most:
            raise ConfigError(f"Option minOffsetsPerTrigger must not be above maxOffsetsPerTrigger: {least} > {most}")

    def _check_offsets(self) -> None:
        latest = [f"{topic}-{number}" for (topic, number), at in self["startingOffsets"].items() if at == -1]
        if self.where is B and latest:
            raise ConfigError(f"Option startingOffsets of a batch read must not be -1 (latest), as for {latest[0]}")

    def _check_write(self) -> None:
        for name, value in FIXED_FOR_WRITING.items():
            given = self.kafka.get(name, value)
            if given.lower() not in (value, "-1" if name == "acks" else value):
                raise ConfigError(f"Option kafka.{name} must be {value}, or left out: the sink promises it")
        if "transactional.id" in self.kafka:
            raise ConfigError(
                "Option kafka.transactional.id is not supported: use exactlyOnce with transactionalIdPrefix, "
                "from which each task's id is made"
            )
        for name in ("transactionalIdPrefix", "writeName"):
            if self[name] is not None and not self["exactlyOnce"]:
                raise ConfigError(f"Option {name} needs exactlyOnce=true")

    def __getitem__(self, name: str) -> Any:
        """The typed value of an option that means something here; None where there is neither value nor default."""
        return self._values[name]

    def get(self, name: str) -> Any:
        """As [], and None for an option of another place."""
        return self._values.get(name)

    def client_settings(self, role: str) -> dict[str, str]:
        """Settings for a client of ours; `role` becomes part of a client id that was not given."""
        settings = dict(self.kafka)
        named = settings.pop("group.id", None)
        if "client.id" not in settings:
            settings["client.id"] = named or f"{self.get('groupIdPrefix') or 'spark-kafka-sink'}-{role}"
        return settings
