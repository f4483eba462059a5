"""The pages of messages as a browser and the JSON interface get them, against pretend brokers."""

import asyncio
import csv
import io
import json
from collections.abc import Iterator

import pytest

from kafka_py.manager.settings import ClusterSettings, ManagerSettings
from kafka_py.testing.fakes.fake_cluster import FakeCluster
from kafka_py.testing.local_broker import batch
from kafka_py.testing.web_manager import CalledManager

BASE = "/clusters/test/topics/t/messages"
SCRIPT = "<script>alert(1)</script>"
FIRST_MS = 1_600_000_000_000
MASKS = ({"topics": "secret", "value": "$..card"},)


@pytest.fixture
def brokers() -> Iterator[FakeCluster]:
    with FakeCluster(1) as made:
        made.create_topic("t", 2)
        made.create_topic("secret")
        made.create_topic("__consumer_offsets")
        for number in range(2):
            for second in range(5):
                value = b'{"n": %d, "p": %d}' % (second, number)
                made.log("t", number).append(batch(value, timestamp=FIRST_MS + 2_000 * second + number))
        made.log("secret").append(batch(b'{"card": "4111111111111111", "n": 1}', b"raw 4111111111111111"))
        yield made


@pytest.fixture
def played(brokers):
    """Plays a scene with a manager of the pretend brokers."""

    def play(scene, **options):
        async def run():
            clusters = (ClusterSettings("test", brokers.bootstrap_servers),)
            settings = ManagerSettings(**{"clusters": clusters, "allow_changes": True, "masks": MASKS,
                                          "extra": {"history": {"is_enabled": False}}, **options})  # fmt: skip
            async with CalledManager(settings) as manager:
                await scene(manager)

        asyncio.run(run())

    return play


def offsets(answer):
    assert answer.status_code == 200, answer.text
    return [(row["partition"], row["offset"]) for row in answer.json()["messages"]]


def test_the_latest_messages_come_first_and_older_ones_follow(played):
    async def scene(manager):
        first = await manager.get(f"/api{BASE}?limit=4")
        assert offsets(first) == [(1, 4), (0, 4), (1, 3), (0, 3)]
        rest = await manager.get(f"/api{BASE}?{first.json()['next_query']}")
        assert offsets(rest) == [(1, 2), (0, 2), (1, 1), (0, 1)]
        page = await manager.get(f"{BASE}?limit=4")
        assert page.text.count("<tr>") >= 5 and "Older" in page.text

    played(scene)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("start=earliest&partitions=0&limit=2", [(0, 0), (0, 1)]),
        ("start=offset&at=4", [(0, 4), (1, 4)]),
        ("start=time&at=2020-09-13T12:26:48Z", [(0, 4), (1, 4)]),
        ("start=places&at=0:3", [(0, 3), (0, 4)]),
        ("value=%22n%22:+3&partitions=1", [(1, 3)]),
        ("value=n.*[34]&pattern=true&partitions=0", [(0, 4), (0, 3)]),
        ("json_path=$.n&json_value=2", [(1, 2), (0, 2)]),
        ("expression=value.n+%3E+3+and+partition+==+1", [(1, 4)]),
    ],
)
def test_positions_and_filters(played, query, found):
    async def scene(manager):
        assert offsets(await manager.get(f"/api{BASE}?{query}")) == found

    played(scene)


@pytest.mark.parametrize(
    "query",
    ["start=time&at=noon", "partitions=9", "partitions=x", "value=(&pattern=true", "expression=a+b", "json_path=[",
     "start=offset"],
)  # fmt: skip
def test_a_form_that_cannot_be_used_is_shown_again_with_the_reason(played, query):
    async def scene(manager):
        answer = await manager.get(f"{BASE}?{query}")
        assert answer.status_code == 400
        assert 'role="alert"' in answer.text and 'name="expression"' in answer.text
        assert (await manager.get(f"{BASE}/export?{query}")).status_code == 400

    played(scene)


def test_what_does_not_exist_is_not_found(played):
    async def scene(manager):
        for path in ("", "/export", "/tail"):
            assert (await manager.get(f"/clusters/test/topics/nothing/messages{path}")).status_code == 404

    played(scene)


def test_exports_have_every_message_and_are_files(played):
    async def scene(manager):
        answer = await manager.get(f"{BASE}/export?start=earliest")
        rows = [json.loads(line) for line in answer.text.splitlines()]
        assert sorted((row["partition"], row["value"]["n"]) for row in rows) == [
            (number, second) for number in range(2) for second in range(5)
        ]
        assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''t.jsonl"
        answer = await manager.get(f"{BASE}/export?format=csv&limit=1")
        assert [row[1] for row in csv.reader(io.StringIO(answer.text))] == ["offset", "4"]
        assert manager.services.parts["messages"].streams.count == 0

    played(scene)


def test_what_is_masked_leaves_the_server_nowhere(played):
    async def scene(manager):
        path = "/clusters/test/topics/secret/messages"
        for query in ("", "?value_as=hex", "?value_as=text", "?value_as=json", "?value_as=msgpack"):
            for where in (path, f"/api{path}", f"{path}/export", f"{path}/export?format=csv"):
                answer = await manager.get(where + (query if "?" not in where else query.replace("?", "&")))
                assert answer.status_code == 200
                assert "4111" not in answer.text and b"4111".hex() not in answer.text
                assert "masked" in answer.text
        found = await manager.get(f"/api{path}?value=4111")
        assert found.json()["messages"] == []

    played(scene)


def test_rules_that_cannot_be_used_keep_the_manager_from_starting(played):
    with pytest.raises(Exception, match="masking rule 1"):
        played(lambda _manager: asyncio.sleep(0), masks=({"topics": "t"},))


def test_a_message_is_sent_after_it_was_shown_and_once(played, brokers):
    async def scene(manager):
        fields = {"partition": "1", "key": SCRIPT, "value": '{"a": " two\r\nlines "}', "headers": "h: v\r\nnone"}
        shown = await manager.submit(BASE, **fields)
        assert shown.status_code == 200 and "kafka-console-producer.sh" in shown.text
        assert brokers.log("t", 1).values()[5:] == []
        for _ in range(2):
            sent = await manager.submit(BASE, step="apply", submission="7", **fields)
            assert sent.status_code == 303
        assert brokers.log("t", 1).values()[5:] == [b'{"a": " two\nlines "}']
        page = await manager.get(f"{BASE}?partitions=1&limit=1")
        assert "partition 1, offset 5" in page.text
        assert SCRIPT not in page.text and "&lt;script&gt;" in page.text

    played(scene)


def test_bytes_are_sent_through_the_json_interface(played, brokers):
    async def scene(manager):
        answer = await manager.call(BASE, value="00ff", value_as="hex", key_as="null", partition=0)
        assert answer.json()["is_done"] is True
        assert brokers.log("t", 0).values()[-1] == b"\x00\xff"
        assert (await manager.call(BASE, value="0", value_as="hex")).status_code == 400

    played(scene)


@pytest.mark.parametrize(
    ("topic", "fields"),
    [("t", {"value": "{", "value_as": "json"}), ("t", {"partition": "2"}), ("__consumer_offsets", {"value": "x"})],
)
def test_what_cannot_be_sent_is_refused_on_the_form(played, topic, fields):
    async def scene(manager):
        answer = await manager.submit(f"/clusters/test/topics/{topic}/messages", **fields)
        assert answer.status_code == 422 and 'role="alert"' in answer.text

    played(scene)


def test_readers_may_not_send(played):
    async def scene(manager):
        assert (await manager.submit(BASE, value="x", step="apply")).status_code == 403
        assert "Send a message" not in (await manager.get(BASE)).text

    played(scene, allow_changes=False)


def test_the_tail_ends_when_the_browser_leaves(played, brokers):
    async def scene(manager):
        left, events = asyncio.Event(), asyncio.Queue()
        headers = [(b"host", b"localhost")]
        scope = {"type": "http", "method": "GET", "path": f"{BASE}/tail", "raw_path": f"{BASE}/tail".encode(),
                 "query_string": b"expression=value.n+%3E+6", "headers": headers, "scheme": "http",
                 "http_version": "1.1",
                 "client": ("127.0.0.1", 1), "server": ("localhost", 80), "root_path": ""}  # fmt: skip

        async def receive():
            if not left.is_set():
                await left.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            if message["type"] == "http.response.body":
                events.put_nowait(message["body"])

        browser = asyncio.ensure_future(manager.app(scope, receive, send))
        assert (await events.get()).startswith(b"event: begin\n")
        assert manager.services.parts["messages"].streams.count == 1
        for number in (6, 7):
            await manager.call(BASE, value=json.dumps({"n": number}), partition=0)
        shown = json.loads((await events.get()).decode().partition("data: ")[2])
        assert json.loads(shown["value"]["text"]) == {"n": 7}
        left.set()
        await browser
        assert manager.services.parts["messages"].streams.count == 0

    played(scene)


def test_avro_is_decoded_with_the_schemas_of_a_folder(played, brokers, tmp_path):
    (tmp_path / "7.avsc").write_text('{"type": "record", "name": "A", "fields": [{"name": "n", "type": "int"}]}')
    brokers.log("t", 0).append(batch(b"\x00\x00\x00\x00\x07\x54", timestamp=FIRST_MS * 2))

    async def scene(manager):
        row = (await manager.get(f"/api{BASE}?limit=1&expression=value.n+==+42")).json()["messages"][0]
        assert (row["value"]["kind"], row["value"]["text"], row["value"]["size"]) == ("avro", '{"n": 42}', 6)

    played(scene, extra={"history": {"is_enabled": False}, "messages": {"schemas": str(tmp_path)}})


def test_schemas_that_cannot_be_read_keep_the_manager_from_starting(played, tmp_path):
    (tmp_path / "7.avsc").write_text("nonsense")
    with pytest.raises(Exception, match=r"7\.avsc"):
        played(lambda _manager: asyncio.sleep(0), extra={"messages": {"schemas": str(tmp_path)}})
