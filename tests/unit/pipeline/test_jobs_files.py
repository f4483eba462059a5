"""Pipelines' files: keys checked by name, variables filled, the shipped ones in order; and the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")
pytest.importorskip("yaml")

from kafka_py.base.errors import ConfigError
from kafka_py.pipeline.jobs.generic import _letters, read_pipeline
from kafka_py.pipeline.jobs.run import cause, main, parse
from kafka_py.pipeline.jobs.spec import Section, read_file
from kafka_py.testing.processes import ROOT

SHIPPED = sorted((ROOT / "config").glob("pipeline-*"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_the_shipped_files_are_in_order(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(path), "--check"]) == 0
    assert "in order" in capsys.readouterr().out


def test_variables_are_filled_from_the_command_line_then_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("a: ${ONE}\nb: ${TWO:-two}\nc: ${THREE:-}\nd: 5\n")
    monkeypatch.setenv("ONE", "of the environment")
    section = read_file(path, {"ONE": "given"})
    assert [section.text(key, "") for key in "abcd"] == ["given", "two", "", "5"]
    monkeypatch.delenv("ONE")
    with pytest.raises(ConfigError, match=r"\$\{ONE\} has no value"):
        read_file(path)


def test_toml_is_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text('name = "x"\n[kafka]\n"bootstrap.servers" = "h:1"\n')
    section = read_file(path)
    assert section.section("kafka").settings("none") == {}
    assert read_file(path).settings("kafka") == {"bootstrap.servers": "h:1"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2]", "must be a mapping of keys"),
        ("a: [", "p.yaml"),
        ("job: fly", "job must be one of pipeline, .*, not 'fly'"),
        ("sauce: {}\nsource: {topic: t}\nsink: {kind: console}", "sauce is not a key of this place"),
        ("source: {topic: t, formt: raw}\nsink: {kind: console}", "source.formt is not a key"),
        ("source: {topic: t, files: f}\nsink: {kind: console}", "source.topic must be given, or else one of"),
        ("source: {topic: t, format: json}\nsink: {kind: console}", "source.schema is missing"),
        ("source: {topic: t, format: avro}\nsink: {kind: console}", "source.schema is missing: the Avro schema"),
        ("source: {topic: t, format: avro, schema: no.avsc}\nsink: {kind: console}", "schema: no.avsc: No such file"),
        ("source: {topic: t, format: avro, schema: '{\"a'}\nsink: {kind: console}", "schema is no JSON"),
        ("source: {topic: t, format: avro, schema: '{}'}\nsink: {kind: console}", "schema must be an Avro record"),
        ("source: {topic: t}\nsink: {kind: parquet}", "sink.path is missing"),
        ("source: {topic: t}\nsink: {kind: carrier-pigeon}", "sink.kind must be one of"),
        ("source: {topic: t}\nsink: {kind: json, path: p}\ntrigger: available-now", "checkpoint is missing"),
        ("source: {topic: t}\nsink: {kind: console}\ndead_letter_topic: d", "goes with a topic whose values are JSON"),
        ("source: {segments: d}\nsink: {kind: console}\ntrigger: 1 second", "trigger must be batch"),
        ("source: {topic: t, watermark: {column: at}}\nsink: {kind: console}", "source.watermark.delay is missing"),
        ("source: {topic: t, options: 5}\nsink: {kind: console}", "source.options must be a mapping, not int"),
        ("source: {topic: t}\nsink: {kind: console}\nkafka: secret", r"kafka must be a mapping, not str\n"),
        ("kafka: {sasl.jaas.config: secret\nsink: [", r"is not YAML: .*, line \d\n"),
        ("kafka:\n  sasl.jaas.config: 'secret\n", r"is not YAML: [^']*, line 3\n"),
        ("steps: 7\nsource: {topic: t}\nsink: {kind: console}", "steps must be a list of texts"),
        ("job: mirror\nsource: {topic: t}\ntarget: {}", "state is missing"),
        ("job: audit\nproducer: nobody\nleft: {topic: t}\nright: {topic: t}", "producer must be none, key or header"),
        ("job: history\nsamples: many\npath: p", "samples must be a number, not 'many'"),
    ],
)
def test_a_wrong_file_is_refused_naming_the_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(text)
    assert main([str(path), "--check"]) == 2
    said = capsys.readouterr().err


    assert re.search(message, said), said


def pipeline_of(sink: dict[str, object], name: str = "copy"):
    source = {"topic": "in", "format": "json", "schema": "id INT", "kafka": {"bootstrap.servers": "h:1"}}
    return read_pipeline(Section({"source": source, "sink": sink, "dead_letter_topic": "bad"}), name)


def test_a_sink_to_a_topic_is_exactly_once_under_the_pipelines_name() -> None:
    pipeline = pipeline_of({"topic": "out", "exactly_once": True, "options": {"tornBatch": "accept"}})
    wanted = {"exactlyOnce": "true", "transactionalIdPrefix": "copy", "tornBatch": "accept", "topic": "out"}
    assert pipeline.sink.options == wanted
    assert _letters(pipeline).options == {
        "topic": "bad", "kafka.bootstrap.servers": "h:1", "exactlyOnce": "true",
        "transactionalIdPrefix": "copy-dead-letters", "tornBatch": "accept",
    }  # fmt: skip
    own = pipeline_of({"topic": "out", "exactly_once": True, "options": {"transactionalIdPrefix": "mine"}})
    assert own.sink.options["transactionalIdPrefix"] == "mine"


def test_other_sinks_have_no_transactions() -> None:
    pipeline = pipeline_of({"topic": "out", "exactly_once": False})
    assert pipeline.sink.options == {"topic": "out"}
    assert _letters(pipeline).options == {"topic": "bad", "kafka.bootstrap.servers": "h:1"}
    with pytest.raises(ConfigError, match="exactly_once is not a key"):
        pipeline_of({"kind": "json", "path": "p", "exactly_once": True})


def test_the_command_line() -> None:
    given = parse(["f.yaml", "--master", "local[2]", "--set", "A=b=c", "--check"])
    assert given == (Path("f.yaml"), "local[2]", {"A": "b=c"}, True)
    for wrong in (["--master"], ["--set", "x"], ["f", "g"], [], ["--fly", "f"]):
        with pytest.raises(ConfigError):
            parse(wrong)


def test_help_and_a_missing_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--help"]) == 0
    assert main([]) == 2
    assert main([str(tmp_path / "none.yaml")]) == 2
    assert "No such file" in capsys.readouterr().err


def test_the_cause_is_found_among_sparks_pages() -> None:
    text = """Job aborted due to stage failure
    at org.apache.spark.Foo
    kafka_py.base.errors.KafkaError: OFFSET_OUT_OF_RANGE: t-0: offsets from 3 on are gone
    at java.lang.Thread"""
    assert cause(Exception(text)).startswith("kafka_py.base.errors.KafkaError: OFFSET_OUT_OF_RANGE: t-0")
    assert cause(Exception("plain")) == "plain"
    assert cause(Exception()) == "Exception"


def test_sections_tell_types() -> None:
    section = Section({"n": 1.5, "t": True, "s": ["a"], "bad": [1]}, "here")
    assert section.number("n") == 1.5
    assert section.flag("t", False) is True
    assert section.texts("s") == ["a"]
    with pytest.raises(ConfigError, match=r"here\.bad must be a list of texts"):
        section.texts("bad")
    with pytest.raises(ConfigError, match=r"here\.t must be a number"):
        section.number("t")
