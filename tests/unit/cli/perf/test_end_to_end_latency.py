"""The arguments and figures of EndToEndLatency."""

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.cli.common.command import CommandFailed, UsageError
from kafka_py.cli.perf.end_to_end_latency import LatencyRun, measure, random_bytes, summary, wanted

FIVE = ["b:1", "t", "10", "all", "100"]


def test_five_or_six_arguments_by_place(tmp_path):
    assert wanted(FIVE) == LatencyRun("b:1", "t", 10, "all", 100, {})
    file = tmp_path / "client.properties"
    file.write_text("client.id=me\n")
    assert wanted([*FIVE, str(file)]).properties == {"client.id": "me"}


@pytest.mark.parametrize("arguments", [[], FIVE[:4], [*FIVE, "a", "b"]])
def test_another_number_of_arguments_is_wrong_usage(arguments):
    with pytest.raises(UsageError, match=r"USAGE: kafka\.tools\.EndToEndLatency broker_list topic"):
        wanted(arguments)


@pytest.mark.parametrize(
    ("place", "value", "problem"), [(3, "0", "synchronous acknowledgement"), (2, "0", "numbers"), (4, "x", "numbers")]
)
def test_what_cannot_be_measured_is_refused(place, value, problem):
    arguments = [*FIVE]
    arguments[place] = value
    with pytest.raises(CommandFailed, match=problem):
        wanted(arguments)


def test_the_figures_at_the_end():
    times = [float(number) + 0.5 for number in range(1000)]
    assert summary(times) == ["Avg latency: 500.0000 ms", "", "Percentiles: 50th = 500, 99th = 990, 99.9th = 999"]


class Echo:
    """A producer and consumer in one; `answers` makes of a sent value what is read."""

    def __init__(self, answers: Any) -> None:
        self.answers = answers
        self.value = b""

    def send(self, topic: str, value: bytes) -> Any:
        self.value = value
        return SimpleNamespace(result=lambda timeout: None)

    def poll(self, timeout: float) -> list[Any]:
        return [SimpleNamespace(value=value) for value in self.answers(self.value)]


def run(answers: Any, messages: int = 1, shown: list[str] | None = None) -> list[float]:
    echo: Any = Echo(answers)
    what = LatencyRun("b:1", "t", messages, "1", 8, {})
    return measure(echo, echo, what, (shown if shown is not None else []).append)


def test_every_thousandth_time_is_shown():
    shown: list[str] = []
    assert len(run(lambda value: [value], 1001, shown)) == 1001
    assert [line.split("\t")[0] for line in shown] == ["0", "1000"]


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        (lambda _: [], r"timed out before finding a result \(timeout:\[60000\]\)"),
        (lambda _: [b"other"], "not the one that was sent"),
        (lambda value: [value, value], r"Only one result was expected during this test\. We found \[2\]"),
    ],
)
def test_a_message_that_does_not_come_back_alone_ends_it(answers, problem):
    with pytest.raises(CommandFailed, match=problem):
        run(answers)


def test_messages_are_capital_letters():
    assert random_bytes(1000).isalpha() and random_bytes(1000).isupper()
