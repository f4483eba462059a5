"""The form of a decision."""

import pytest

from kafka_py.controller.decisions.plan import Plan, Worked
from kafka_py.controller.decisions.znode_steps import ReadBrokers, ReadTopics
from kafka_py.testing.fakes.controller_znodes import result_of


def test_what_a_step_comes_to_goes_back_into_the_plan() -> None:
    def plan() -> Plan[list[str]]:
        yield from Worked(1)
        return sorted((yield from ReadTopics()))

    asked = []

    def perform(step: object) -> set[str] | None:
        asked.append(step)
        return {"b", "a"} if isinstance(step, ReadTopics) else None

    assert result_of(plan(), perform) == ["a", "b"]
    assert asked == [ReadTopics()]


def test_what_a_step_raises_is_raised_in_the_plan() -> None:
    done = []

    def plan() -> Plan[None]:
        try:
            yield from ReadTopics()
        finally:
            yield from ReadBrokers()

    def perform(step: object) -> None:
        done.append(type(step))
        if isinstance(step, ReadTopics):
            raise TimeoutError

    with pytest.raises(TimeoutError):
        result_of(plan(), perform)
    assert done == [ReadTopics, ReadBrokers]
