"""The span of a request: times, attributes, events."""

from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.observe.tracing.spans import MOST_TOPICS, SpanRow, span_of
from kafka_py.broker.observe.tracing.traced import TracedRequest

MOMENTS = (1.0, 1.001, 1.003, 1.01, 1.011, 1.0125, 80)
OFFSET_S = 1000.0


def traced(**fields: Any) -> TracedRequest:
    made = TracedRequest(None)
    given = {
        "moments": MOMENTS, "name": "Fetch", "kind": "FetchConsumer", "api_key": 1, "version": 11, "client_id": "c",
        "connection_id": "10.0.0.1:9092-10.0.0.2:5000-7", "peer": ("10.0.0.2", 5000), "listener": "L",
        "security_protocol": "SSL", "correlation_id": 9, **fields,
    }  # fmt: skip
    for name, value in given.items():
        setattr(made, name, value)
    return made


def of(**fields: Any) -> SpanRow:
    return span_of(traced(**fields), OFFSET_S)


def test_a_span_lasts_from_the_arrival_until_the_response_is_sent() -> None:
    row = of()
    assert (row.name, row.start_ns, row.end_ns) == ("Fetch", 1001_000_000_000, 1001_012_500_000)
    assert row.events == (("parked", 1001_003_000_000), ("completed", 1001_010_000_000))


def test_the_time_of_each_step_is_an_attribute() -> None:
    found = {name: value for name, value in of(throttle_time_ms=5).attributes.items() if name.endswith("time_ms")}
    assert found == {
        "kafka_py.request_queue.time_ms": 1, "kafka_py.local.time_ms": 2, "kafka_py.remote.time_ms": 7,
        "kafka_py.response_queue.time_ms": 1, "kafka_py.send.time_ms": 1.5, "kafka_py.throttle.time_ms": 5,
    }  # fmt: skip
    row = of(moments=(1.0, 1.001, 0.0, 1.003, 1.004, 1.005, 80))
    assert row.events == () and row.attributes["kafka_py.remote.time_ms"] == 0


def test_who_asked_whom() -> None:
    found = of(client_software=("lib", "1.2")).attributes
    assert (found["server.address"], found["server.port"]) == ("10.0.0.1", 9092)
    assert (found["client.address"], found["client.port"]) == ("10.0.0.2", 5000)
    assert (found["kafka_py.client.software.name"], found["kafka_py.client.software.version"]) == ("lib", "1.2")
    assert (found["messaging.client.id"], found["kafka_py.listener"]) == ("c", "L")
    assert found["kafka_py.security.protocol"] == "SSL" and "kafka_py.principal" not in found
    assert of(connection_id="[::1]:9092-[::1]:5000-7").attributes["server.address"] == "::1"
    assert "server.address" not in of(connection_id="").attributes
    assert of(principal="User:a").attributes["kafka_py.principal"] == "User:a"


def test_the_destination_is_named_where_it_is_one() -> None:
    one = of(topics={"a": None}, partitions={3: None}).attributes
    assert (one["messaging.destination.name"], one["messaging.destination.partition.id"]) == ("a", "3")
    two = of(topics={"a": None}, partitions={3: None, 4: None}).attributes
    assert two["messaging.destination.name"] == "a" and "messaging.destination.partition.id" not in two
    several = of(topics={f"t{n}": None for n in range(99)}).attributes
    assert "messaging.destination.name" not in several
    assert several["kafka_py.topics"] == [f"t{n}" for n in range(MOST_TOPICS)]
    partial = of(topics={"a": None}, is_partial=True).attributes
    assert "messaging.destination.name" not in partial and partial["kafka_py.topics"] == ["a"]
    assert of(group="g").attributes["messaging.consumer.group.name"] == "g"


def test_errors_have_their_names() -> None:
    row = of(errors={int(ErrorCode.NOT_COORDINATOR): None, 12345: None})
    assert row.errors == ("NOT_COORDINATOR", "12345")
    assert row.attributes["error.type"] == "NOT_COORDINATOR"
    assert of().errors == () and "error.type" not in of().attributes


def test_what_is_no_unicode_is_replaced() -> None:
    found = of(client_id="a\udc80b", topics={"t\udc80": None}).attributes
    assert (found["messaging.client.id"], found["messaging.destination.name"]) == ("a?b", "t?")
