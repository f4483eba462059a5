"""The table of options: types, defaults, and a message for whatever cannot be taken."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from kafka_py.base.errors import ConfigError
from kafka_py.pipeline.log_source import OPTIONS as LOG_OPTIONS
from kafka_py.pipeline.options import ROWS, B, Options, S, W, Where
from kafka_py.testing.processes import ROOT

SERVER = {"kafka.bootstrap.servers": "localhost:9092"}
READ = {**SERVER, "subscribe": "t"}


def test_defaults_are_those_of_the_connector() -> None:
    batch, stream = Options(READ, Where.BATCH), Options(READ, Where.STREAM)
    assert (batch["startingOffsets"], stream["startingOffsets"]) == ("earliest", "latest")
    assert (batch["endingOffsets"], batch["failOnDataLoss"], batch["includeHeaders"]) == ("latest", True, False)
    assert stream["maxTriggerDelay"] == 15 * 60_000
    assert batch.get("maxOffsetsPerTrigger") is None


def test_names_are_taken_in_any_case() -> None:
    options = Options({"KAFKA.Bootstrap.Servers": "h:1", "SUBSCRIBE": "a, b,a", "MinPartitions": "7"}, Where.BATCH)
    assert options["subscribe"] == ("a", "b")
    assert options["minPartitions"] == 7


def test_kafka_settings_go_to_the_client_without_their_prefix() -> None:
    options = Options({**READ, "kafka.fetch.max.bytes": "99", "kafka.group.id": "g"}, Where.BATCH)
    assert options.client_settings("driver") == {
        "bootstrap.servers": "localhost:9092", "fetch.max.bytes": "99", "client.id": "g",
    }  # fmt: skip
    assert Options({**READ, "groupIdPrefix": "mine"}, Where.BATCH).client_settings("driver")["client.id"] == (
        "mine-driver"
    )


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("startingOffsets", '{"t":{"0":5,"1":-2}}', {("t", 0): 5, ("t", 1): -2}),
        ("startingOffsets", " Earliest ", "earliest"),
        ("startingTimestamp", "0", 0),
        ("startingOffsetsByTimestamp", '{"t":{"0":1000}}', {("t", 0): 1000}),
        ("endingOffsetsByTimestamp", "{}", {}),
        ("failOnDataLoss", "FALSE", False),
        ("minPartitions", "3", 3),
    ],
)
def test_values_are_typed(name: str, text: str, value: object) -> None:
    assert Options({**READ, name: text}, Where.BATCH)[name] == value


@pytest.mark.parametrize(
    ("text", "value"), [("500ms", 500), ("30s", 30_000), ("2 min", 120_000), ("1h", 3_600_000), ("250", 250)]
)
def test_times_have_units(text: str, value: int) -> None:
    assert Options({**READ, "maxTriggerDelay": text}, Where.STREAM)["maxTriggerDelay"] == value


MALFORMED = {
    "subscribe": " , ",
    "subscribePattern": "a(",
    "assign": '{"t":["x"]}',
    "startingTimestamp": "-5",
    "startingOffsetsByTimestamp": '{"t":{"0":-1}}',
    "startingOffsetsByTimestampStrategy": "skip",
    "startingOffsets": '{"t":{"0":-3}}',
    "endingTimestamp": "soon",
    "endingOffsetsByTimestamp": "[]",
    "endingOffsets": "earliest",
    "failOnDataLoss": "yes",
    "kafkaConsumer.pollTimeoutMs": "0",
    "fetchOffset.numRetries": "many",
    "fetchOffset.retryIntervalMs": "-1",
    "maxOffsetsPerTrigger": "1.5",
    "minOffsetsPerTrigger": "",
    "maxTriggerDelay": "15 parsecs",
    "minPartitions": "0",
    "maxRecordsPerPartition": "-1",
    "groupIdPrefix": " ",
    "kafka.group.id": "",
    "kafka.bootstrap.servers": "",
    "includeHeaders": "1",
    "topic": "",
    "startingGroup": "",
    "startingGroupFallback": "middle",
    "commitGroup": " ",
    "pushFilters": "maybe",
    "fetchBytes": "0",
    "exactlyOnce": "perhaps",
    "transactionalIdPrefix": " ",
    "writeName": "",
    "decisionTopic": "",
    "tornBatch": "skip",
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_malformed_value_is_refused_naming_option_and_value(row) -> None:
    """Every row of the table, wherever it means something; elsewhere the same text is let pass."""
    bad = MALFORMED[row.name]
    for where in (Where.BATCH, Where.STREAM, Where.WRITE):
        given = {**(SERVER if where is Where.WRITE else READ), row.name: bad}
        if row.name in ("subscribePattern", "assign"):
            given.pop("subscribe", None)
            if not row.where & where:
                continue
        if row.where & where:
            with pytest.raises(ConfigError) as refusal:
                Options(given, where)
            assert f"Option {row.name}" in str(refusal.value)
            assert repr(bad) in str(refusal.value)
        else:
            Options(given, where)


@pytest.mark.parametrize(
    ("where", "given", "message"),
    [
        (Where.BATCH, {"subscribe": "t"}, "kafka.bootstrap.servers must be given"),
        (Where.BATCH, SERVER, "One of the options"),
        (Where.STREAM, {**READ, "subscribePattern": "x"}, "not both subscribe and subscribePattern"),
        (Where.BATCH, {**READ, "startingOffsets": "latest"}, "must not be 'latest'"),
        (Where.BATCH, {**READ, "startingOffsets": '{"t":{"0":-1}}'}, r"-1 \(latest\), as for t-0"),
        (Where.BATCH, {**READ, "endingOffsets": '{"t":{"0":-2}}'}, r"-2 \(earliest\), as it is for t-0"),
        (Where.STREAM, {**READ, "startingOffsets": "committed"}, "startingGroup must be given"),
        (Where.STREAM, {**READ, "minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "8"}, "9 > 8"),
        (Where.BATCH, {**READ, "kafka.enable.auto.commit": "true"}, "use commitGroup instead"),
        (Where.BATCH, {**READ, "subscribes": "t"}, "is subscribe meant"),
        (Where.WRITE, {**SERVER, "kafka.acks": "1"}, "kafka.acks must be all"),
        (Where.WRITE, {**SERVER, "kafka.enable.idempotence": "false"}, "kafka.enable.idempotence must be true"),
        (Where.WRITE, {**SERVER, "kafka.transactional.id": "x"}, "use exactlyOnce with transactionalIdPrefix"),
        (Where.WRITE, {**SERVER, "transactionalIdPrefix": "x"}, "transactionalIdPrefix needs exactlyOnce=true"),
        (Where.WRITE, {**SERVER, "writeName": "x"}, "writeName needs exactlyOnce=true"),
    ],
)
def test_options_that_do_not_fit_together(where: Where, given: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Options(given, where)


def test_strange_names_pass_as_with_the_connector() -> None:
    assert Options({**READ, "path": "/x", "mergeSchema": "true"}, Where.BATCH)["subscribe"] == ("t",)


def test_the_page_has_every_option_as_the_table_has_it() -> None:
    page = (ROOT / "docs" / "pipeline.md").read_text()
    for row in ROWS:
        places = [name for name, where in (("batch", B), ("stream", S), ("write", W)) if row.where & where]
        default = f"{row.default}; batch: {row.batch_default}" if row.batch_default else row.default or ""
        spark = "same" if row.spark else "ours"
        assert f"| `{row.name}` | {row.kind} | {default} | {', '.join(places)} | {spark} | {row.about} |\n" in page
    for name, about in LOG_OPTIONS.items():
        assert f"| `{name}` | {about} |\n" in page
