"""The commands that do what a page does are understood by the command itself, whatever the names are."""

import shlex

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.cli import consumer_groups
from kafka_py.cli.group_admin import consumer_groups_options
from kafka_py.cli.group_admin.group_resetting import parse_topics
from kafka_py.cli.java_compat.java_times import moment_ms
from kafka_py.operations.groups.commands import SCRIPT, delete_arguments, delete_offsets_arguments, reset_arguments
from kafka_py.operations.groups.resetting import GroupReset, ResetScenario

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
HOSTILE = "g'; rm -rf / #<script>\n$(x)"


def read(arguments):
    """What the command understands, of the line as it is copied from a page."""
    words = shlex.split(shlex.join([SCRIPT, "--bootstrap-server", "b:9092", *arguments]))
    assert words[0] == "kafka-consumer-groups.sh"
    options = consumer_groups.parser().parse(words[1:])
    consumer_groups_options.check(options)
    return options


@pytest.mark.parametrize("group", ["g", HOSTILE, "--all-groups x"])
def test_a_reset(group):
    options = read(reset_arguments(group, GroupReset(ResetScenario.TO_OFFSET, 7), [T1, U0, T0]))
    assert (options.group, options.to_offset, options.execute) == ([group], 7, True)
    assert parse_topics(options.topic) == ([T0, T1, U0], [])
    options = read(reset_arguments(group, GroupReset(ResetScenario.SHIFT_BY, -3), [T0]))
    assert options.shift_by == -3


def test_a_reset_to_a_time():
    moment = GroupReset(ResetScenario.TO_DATETIME, timestamp=1_769_860_800_123)
    assert moment_ms(read(reset_arguments("g", moment, [T0])).to_datetime) == 1_769_860_800_123
    duration = GroupReset(ResetScenario.BY_DURATION, timestamp=5)
    assert read(reset_arguments("g", duration, [T0], "PT1H")).by_duration == "PT1H"


@pytest.mark.parametrize("scenario", [ResetScenario.TO_EARLIEST, ResetScenario.TO_LATEST, ResetScenario.TO_CURRENT])
def test_a_reset_to_an_end(scenario):
    assert getattr(read(reset_arguments("g", GroupReset(scenario), [T0])), scenario.replace("-", "_"))


def test_deletions():
    assert read(delete_arguments(["g", HOSTILE])).group == ["g", HOSTILE]
    options = read(delete_offsets_arguments(HOSTILE, [T0, T1]))
    assert (options.group, options.topic) == ([HOSTILE], ["t:0,1"])
