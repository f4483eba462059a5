"""Topics that appear and grow, also those that others have written oddly."""

from typing import Any

from kafka_py.base.ids import TopicPartition
from kafka_py.base.steps import SLICE
from kafka_py.controller.decisions.plan import Step, Worked
from kafka_py.controller.decisions.settings import Settings
from kafka_py.controller.decisions.topic_changes import (
    add_topics,
    partition_modifications,
    read_assignments,
    topic_change,
)
from kafka_py.controller.decisions.znode_steps import ForgetTopic, GiveTopicIds, ReadAssignments, ReadTopics
from kafka_py.controller.events import PartitionModifications, TopicChange
from kafka_py.testing.fakes.controller_transcripts import ControllerScript
from kafka_py.testing.fakes.controller_znodes import result_of
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.topics import ReplicaAssignment, TopicAssignment


def test_a_topic_that_cannot_be_read_has_no_partitions_and_one_that_is_gone_is_left_out() -> None:
    fine = TopicAssignment.of({0: [1]})
    found = {"fine": fine, "broken": MalformedZNode("not json"), "gone": None}
    read = result_of(read_assignments(list(found)), lambda step: found if hasattr(step, "topics") else None)
    assert read == {"fine": fine, "broken": TopicAssignment({})}


def test_topics_without_an_id_get_one_unless_the_protocol_version_has_none() -> None:
    for version, has_id in (("2.8", True), ("2.6", False)):
        script = ControllerScript()
        script.perform(f"brokers 1 inter.broker.protocol.version={version}")
        script.znodes.topics["old"] = TopicAssignment.of({0: [1], 3: [1]})
        plan = add_topics(script.cluster, dict(script.znodes.topics), Settings(script.options, "PLAINTEXT"))
        assert result_of(plan, script.znodes.perform) == [TopicPartition("old", 0), TopicPartition("old", 3)]
        assert ("old" in script.cluster.topic_ids) is has_id
        assert (script.znodes.topics["old"].topic_id is not None) is has_id


def test_others_have_the_loop_while_very_many_topics_are_taken_in() -> None:
    script = ControllerScript()
    script.perform("brokers 1")
    assignments = {f"t{number}": TopicAssignment({}) for number in range(2 * SLICE)}
    plan = add_topics(script.cluster, assignments, Settings(script.options, "PLAINTEXT"))
    assert isinstance(next(plan), GiveTopicIds)
    assert plan.send(assignments) == Worked(SLICE)
    assert len(script.cluster.topics) == SLICE
    assert plan.send(None) == Worked(SLICE)
    assert len(script.cluster.topics) == 2 * SLICE


def test_others_have_the_loop_while_very_many_partitions_are_added_to_a_topic() -> None:
    script = ControllerScript()
    script.perform("brokers 1")
    script.perform("topic t 1")
    grown = TopicAssignment.of({number: [1] for number in range(2 * SLICE + 1)})
    plan = partition_modifications(script.cluster, PartitionModifications("t"), Settings(script.options, "PLAINTEXT"))
    assert isinstance(next(plan), ReadAssignments)
    taken_in, replicas_listed = ([plan.send({"t": grown}), plan.send(None)], [plan.send(None), plan.send(None)])
    assert taken_in == replicas_listed == [Worked(SLICE), Worked(SLICE)]
    assert len(script.cluster.topic_assignment("t")) == 2 * SLICE + 1


def test_changes_of_partitions_that_are_known_are_ignored() -> None:
    script = ControllerScript()
    script.perform("brokers 1 2")
    script.perform("topic t 1,2")
    known = script.znodes.topics["t"]
    script.znodes.topics["t"] = known._replace(partitions={0: ReplicaAssignment((2, 1))})
    assert script.perform("grow t") == ["nothing"]
    assert script.cluster.assignment(TopicPartition("t", 0)).replicas == (1, 2)


def test_the_watch_of_a_topic_that_is_gone_is_dropped() -> None:
    script = ControllerScript()
    script.perform("brokers 1")
    script.perform("topic t 1")
    plan = topic_change(script.cluster, TopicChange(), Settings(script.options, "PLAINTEXT"))
    answers: dict[type, object] = {ReadTopics: set(), ReadAssignments: {}, GiveTopicIds: {}}
    steps: list[Step[Any]] = []

    def perform(step: Step[Any]) -> object:
        steps.append(step)
        return answers.get(type(step))

    result_of(plan, perform)
    assert ForgetTopic("t") in steps


def test_a_topic_that_is_gone_is_forgotten() -> None:
    script = ControllerScript()
    script.perform("brokers 1")
    script.perform("topic t 1")
    del script.znodes.topics["t"]
    script.perform("topic u 1")
    assert list(script.cluster.topics) == ["u"]
