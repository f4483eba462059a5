"""Topics that appear and grow, also those that others have written oddly."""

from collections.abc import Callable, Iterator
from typing import Any

from kafka_py.base.ids import TopicPartition
from kafka_py.base.steps import SLICE
from kafka_py.controller.decisions.notes import LogLevel, LogLine
from kafka_py.controller.decisions.plan import Step, Worked
from kafka_py.controller.decisions.settings import Settings
from kafka_py.controller.decisions.topic_changes import (
    add_topics,
    partition_modifications,
    read_assignments,
    start_partitions,
    topic_change,
)
from kafka_py.controller.decisions.znode_steps import ForgetTopic, GiveTopicIds, ReadAssignments, ReadTopics
from kafka_py.controller.events import PartitionModifications, TopicChange
from kafka_py.controller.model import partition_states, replica_states
from kafka_py.controller.model.controller_context import PartitionAssignment
from kafka_py.testing.fakes.controller_transcripts import ControllerScript
from kafka_py.testing.fakes.controller_znodes import TABLE, result_of
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


def test_a_topic_that_was_created_with_adding_and_removing_replicas_keeps_them() -> None:
    script = ControllerScript()
    script.perform("brokers 1 2 3")
    created = TopicAssignment({0: ReplicaAssignment((3, 1, 2), (3,), (2,))})
    script.znodes.topics["t"] = created
    result_of(add_topics(script.cluster, {"t": created}, Settings(script.options, "PLAINTEXT")), script.znodes.perform)
    assert script.cluster.assignment(TopicPartition("t", 0)) == PartitionAssignment((3, 1, 2), (3,), (2,))


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
    assert plan.send({"t": grown}) == Worked(SLICE)
    assert len(script.cluster.topic_assignment("t")) == 1 + SLICE
    assert plan.send(None) == Worked(SLICE)
    assert len(script.cluster.topic_assignment("t")) == 1 + 2 * SLICE


class Looks(list[TopicPartition]):
    """Partitions; `looked_at` of them have been looked at."""

    looked_at = 0

    def __iter__(self) -> Iterator[TopicPartition]:
        for partition in super().__iter__():
            self.looked_at += 1
            yield partition


def new_partitions(script: ControllerScript, count: int) -> list[TopicPartition]:
    """New partitions of the topic t, each with a replica on the brokers 1 and 2."""
    script.cluster.add_topic("t")
    partitions = [TopicPartition("t", number) for number in range(count)]
    for partition in partitions:
        script.cluster.set_assignment(partition, PartitionAssignment((1, 2)))
    return partitions


def test_others_have_the_loop_while_the_replicas_of_very_many_new_partitions_are_listed() -> None:
    """Before all of them have been listed none of the partitions is moved, which has stops of its own."""
    script = ControllerScript()
    script.perform("brokers 1 2")
    partitions = Looks(new_partitions(script, 2 * SLICE + 1))
    plan = start_partitions(script.cluster, partitions)
    steps = [(next(plan), partitions.looked_at) for _ in range(3)]
    assert steps == [(Worked(SLICE), SLICE), (Worked(SLICE), 2 * SLICE), (Worked(1), 2 * SLICE + 1)]


def test_all_replicas_of_very_many_new_partitions_are_started() -> None:
    script = ControllerScript()
    script.perform("brokers 1 2")
    partitions = new_partitions(script, 2 * SLICE + 1)
    result_of(start_partitions(script.cluster, partitions), znode_steps_of(script, []))
    cluster = script.cluster
    assert cluster.partitions_in_state(partition_states.ONLINE) == partitions
    replicas = cluster.replicas_of_topic("t")
    assert len(replicas) == 2 * len(partitions)
    assert {cluster.replica_state(replica) for replica in replicas} == {replica_states.ONLINE}


def znode_steps_of(script: ControllerScript, others: list[Step[Any]]) -> Callable[[Step[Any]], object]:
    """Does the steps that read or write ZooKeeper; the other steps are put into the list."""

    def perform(step: Step[Any]) -> object:
        return script.znodes.perform(step) if type(step) in TABLE else others.append(step)

    return perform


def modified(script: ControllerScript, topic: str, found: TopicAssignment | MalformedZNode) -> list[Step[Any]]:
    """The znode of a topic was rewritten. The steps, without those that read or write ZooKeeper."""
    settings, steps = Settings(script.options, "PLAINTEXT"), []
    perform = znode_steps_of(script, steps)
    if isinstance(found, TopicAssignment):
        script.znodes.topics[topic] = found
    script.znodes.taken_lines()
    plan = partition_modifications(script.cluster, PartitionModifications(topic), settings)
    result_of(plan, lambda step: {topic: found} if isinstance(step, ReadAssignments) else perform(step))
    return steps


def test_a_partition_that_is_added_with_adding_and_removing_replicas_keeps_them() -> None:
    script = ControllerScript()
    script.perform("brokers 1 2 3")
    script.perform("topic t 1,2")
    known = script.znodes.topics["t"]
    row = ReplicaAssignment((3, 1, 2), (3,), (2,))
    modified(script, "t", known._replace(partitions={**known.partitions, 1: row}))
    assert script.cluster.assignment(TopicPartition("t", 1)) == PartitionAssignment((3, 1, 2), (3,), (2,))
    assert script.cluster.partition_state(TopicPartition("t", 1)) is partition_states.ONLINE


def test_partitions_that_are_added_to_a_topic_being_deleted_are_removed_from_its_znode() -> None:
    script = ControllerScript()
    script.perform("brokers 1")
    script.perform("topic t 1")
    script.cluster.queue_for_deletion(["t"])
    (line,) = modified(script, "t", TopicAssignment.of({0: [1], 1: [1]}))
    assert isinstance(line, LogLine) and line.level is LogLevel.ERROR
    assert "Topic t is being deleted and cannot get more partitions" in str(line)
    assert script.znodes.taken_lines() == ["keep of t the partitions [0]"]
    assert script.cluster.topic_assignment("t").keys() == script.znodes.topics["t"].partitions.keys() == {0}


def test_a_topic_that_can_no_longer_be_read_stays_as_it_was() -> None:
    script = ControllerScript()
    script.perform("brokers 1")
    script.perform("topic t 1")
    (line,) = modified(script, "t", MalformedZNode("not json"))
    assert isinstance(line, LogLine) and line.level is LogLevel.ERROR
    assert str(line) == "The change of topic t is ignored: not json"
    assert script.znodes.taken_lines() == []
    assert script.cluster.partition_state(TopicPartition("t", 0)) is partition_states.ONLINE


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
