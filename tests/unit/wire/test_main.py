"""`python -m kafka_py.wire`: describe, source, apis, and its help."""

import json

import pytest

from kafka_py.wire.__main__ import main, message_classes


def test_describe_prints_a_line_of_json_for_each_message(capsys):
    main(["describe"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == 129
    assert [row["name"] for row in rows] == [cls.__name__ for cls in message_classes()]


def test_describe_spells_as_kafkas_schemas(capsys):
    main(["describe", "HeartbeatRequest"])
    assert json.loads(capsys.readouterr().out) == {
        "apiKey": 12,
        "type": "request",
        "name": "HeartbeatRequest",
        "validVersions": "0-4",
        "flexibleVersions": "4+",
        "fields": [
            {"name": "GroupId", "type": "string", "versions": "0+", "default": ""},
            {"name": "GenerationId", "type": "int32", "versions": "0+", "default": "0"},
            {"name": "MemberId", "type": "string", "versions": "0+", "default": ""},
            {
                "name": "GroupInstanceId",
                "type": "string",
                "versions": "3+",
                "nullableVersions": "3+",
                "default": "null",
            },
        ],
    }


def test_describe_leaves_out_what_only_clients_know(capsys):
    main(["describe", "DescribeLogDirsResponse"])
    told = json.loads(capsys.readouterr().out)
    assert told["validVersions"] == "0-2"
    assert [field["name"] for field in told["fields"]] == ["ThrottleTimeMs", "Results"]
    assert [field["name"] for field in told["fields"][1]["fields"]] == ["ErrorCode", "LogDir", "Topics"]


def test_describe_tells_of_tags_and_structs(capsys):
    main(["describe", "FetchResponse"])
    row = json.loads(capsys.readouterr().out)
    (responses,) = [field for field in row["fields"] if field["name"] == "Responses"]
    assert responses["type"] == "[]FetchableTopicResponse"
    fields = {field["name"]: field for field in responses["fields"][1]["fields"]}
    assert (fields["DivergingEpoch"]["tag"], fields["DivergingEpoch"]["taggedVersions"]) == (0, "12+")
    assert fields["DivergingEpoch"]["type"] == "EpochEndOffset"


def test_source_prints_both_functions(capsys):
    main(["source", "HeartbeatResponse", "1"])
    out = capsys.readouterr().out
    assert "def decode(buf, pos):" in out
    assert "out += pack_ih(o0.throttle_time_ms, o0.error_code)" in out


@pytest.mark.parametrize(
    ("name", "version", "complaint"), [("Nothing", "0", "Nothing"), ("FetchRequest", "13", "0-12")]
)
def test_source_of_what_is_not_there(name, version, complaint):
    with pytest.raises(SystemExit, match=complaint):
        main(["source", name, version])


def test_apis(capsys):
    main(["apis"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 58
    assert lines[1].split() == ["1", "Fetch", "0-12", "flexible", "from", "12"]


@pytest.mark.parametrize("arguments", [["--help"], ["describe", "--help"], ["source", "--help"]])
def test_help(capsys, arguments):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 0
    assert "usage: python -m kafka_py.wire" in capsys.readouterr().out


def test_no_command_is_a_usage_error(capsys):
    with pytest.raises(SystemExit) as caught:
        main([])
    assert caught.value.code == 2
