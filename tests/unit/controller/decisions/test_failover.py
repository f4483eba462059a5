"""The first acts of a new controller, in their order."""

from typing import Any

import pytest

from kafka_py.controller.decisions.failover import fail_over
from kafka_py.controller.decisions.plan import Step
from kafka_py.controller.decisions.settings import Settings
from kafka_py.controller.decisions.steps import OpenChannel, PutLater, Send
from kafka_py.controller.decisions.znode_steps import (
    DeleteIsrChanges,
    DeleteLogDirEvents,
    EnsureFeatures,
    ReadBrokers,
    ReadPreferredElections,
    ReadReassignments,
    ReadTopicDeletions,
    ReadTopics,
)
from kafka_py.controller.model.controller_context import ControllerContext
from kafka_py.testing.fakes.controller_transcripts import ControllerScript
from kafka_py.testing.fakes.controller_znodes import TABLE, result_of


def steps_of(script: ControllerScript) -> list[Step[Any]]:
    asked: list[Step[Any]] = []

    def perform(step: Step[Any]) -> Any:
        asked.append(step)
        return script.znodes.perform(step) if type(step) in TABLE else None

    result_of(fail_over(ControllerContext(2), Settings(script.options, "PLAINTEXT")), perform)
    return asked


@pytest.mark.parametrize(("version", "status"), [("2.8", 1), ("2.6", 0)])
def test_the_feature_znode_says_whether_the_protocol_version_has_features(version: str, status: int) -> None:
    script = ControllerScript()
    script.perform(f"brokers 1 inter.broker.protocol.version={version}")
    assert steps_of(script)[0] == EnsureFeatures(status)


def test_everything_is_read_and_watched_before_anybody_is_told() -> None:
    script = ControllerScript()
    script.perform("brokers 1 2")
    script.perform("topic t 1,2")
    kinds = [type(step) for step in steps_of(script)]
    first_send = kinds.index(Send)
    for kind in (ReadPreferredElections, ReadReassignments, DeleteLogDirEvents, DeleteIsrChanges, ReadBrokers,
                 ReadTopics, ReadTopicDeletions, OpenChannel):  # fmt: skip
        assert kinds.index(kind) < first_send, kind
    assert kinds[-1] is PutLater  # the balance of leaders
