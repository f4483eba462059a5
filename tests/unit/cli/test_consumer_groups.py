"""kafka-consumer-groups.sh: the rules between options, the tables, the CSV."""

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.cli import consumer_groups
from kafka_py.cli.common.command import Refused, UsageError
from kafka_py.cli.group_admin import consumer_groups_options
from kafka_py.cli.group_admin.group_description import (
    assignment_text,
    member_lines,
    offset_lines,
    rows_of,
    says_more,
    state_lines,
)
from kafka_py.cli.group_admin.group_offsets_csv import csv_lines, parse_plan
from kafka_py.cli.group_admin.group_resetting import parse_topics, within
from kafka_py.clients.admin.group_descriptions import ConsumerGroupDescription, ConsumerGroupState, MemberDescription
from kafka_py.clients.metadata import Node

BASE = ["--bootstrap-server", "b:1"]
T0, T1, U0 = TopicPartition("t1", 0), TopicPartition("t1", 1), TopicPartition("t2", 0)


def checked(*arguments):
    options = consumer_groups.parser().parse([*BASE, *arguments])
    consumer_groups_options.check(options)
    return options


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--describe", "Option [describe] takes one of these options: [group], [all-groups]"),
        ("--describe --group g --state Stable", "Option [describe] does not take a value for [state]"),
        ("--describe --group g --state --members",
         "Option [describe] takes at most one of these options: [members], [offsets], [state]"),
        ("--describe --all-groups --topic t", 'Option "[topic]" can\'t be used with option "[describe]"'),
        ("--delete --group g --topic t",
         "The consumer does not support topic-specific offset deletion from a consumer group."),
        ("--delete-offsets --group g", "Option [delete-offsets] takes the following options: [group], [topic]"),
        ("--reset-offsets --dry-run", "Option [reset-offsets] takes one of these options: [group], [all-groups]"),
        ("--reset-offsets --group g --dry-run --execute",
         "Option [reset-offsets] only accepts one of [execute] and [dry-run]"),
        ("--reset-offsets --group g --to-offset 0 --to-latest --topic t --dry-run",
         'Option "[to-offset]" can\'t be used with option "[to-latest]"'),
        ("--reset-offsets --group g --to-offset 0 --dry-run",
         "One of the reset scopes should be defined: --all-topics, --topic."),
        ("--reset-offsets --group g --topic t --dry-run",
         "Option '[reset-offsets]' requires one of the following scenarios: [to-offset], [to-datetime], [by-duration], "
         "[to-earliest], [to-latest], [to-current], [shift-by], [from-file]"),
        ("--list --group g", 'Option "[group]" can\'t be used with option "[list]"'),
        ("--list --delete --all-groups", "Command must include exactly one action: --list, --describe, --delete, "
         "--reset-offsets, --delete-offsets"),
        ("--list --state stable", "Invalid state list 'stable'. Valid states are: PreparingRebalance, "
         "CompletingRebalance, Stable, Dead, Empty"),
    ],
)  # fmt: skip
def test_contradictions_are_wrong_usage(arguments, message):
    with pytest.raises(UsageError) as caught:
        checked(*arguments.split())
    assert str(caught.value) == message


def test_offset_zero_is_a_scenario_and_a_file_needs_no_scope():
    options = checked("--reset-offsets", "--group", "g", "--to-offset", "0", "--topic", "t", "--dry-run")
    assert consumer_groups_options.scenario_of(options) == "to-offset"
    options = checked("--reset-offsets", "--group", "g", "--from-file", "f", "--execute")
    assert consumer_groups_options.scenario_of(options) == "from-file"


def test_a_reset_without_execute_is_warned_of(capsys):
    checked("--reset-offsets", "--group", "g", "--to-latest", "--topic", "t")
    assert "--execute option is missing" in capsys.readouterr().err
    checked("--reset-offsets", "--group", "g", "--to-latest", "--topic", "t", "--dry-run")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("given", "states"),
    [([], []), (["--state"], []), (["--state", "Stable, Empty"], ["Stable", "Empty"]), (["--state="], [])],
)
def test_states_are_parted_by_commas(given, states):
    assert consumer_groups_options.wanted_states(checked("--list", *given)) == states


# ---- description


def member(member_id, *assignment, instance=None):
    return MemberDescription(member_id, instance, "c-1", "/10.0.0.5", assignment)


def test_lag_is_shown_where_both_ends_are_known():
    """S2-056: lag = latest offset - committed offset. Also where nobody reads, nothing is committed, no leader is."""
    rows = rows_of([member("m-1", T1), member("m-2", T0, U0)], {T0: 10, TopicPartition("t0", 3): 7}, {T0: 15, T1: 4})
    shown = [(str(row.partition), row.offset, row.end_offset, row.lag, row.owner[0]) for row in rows]
    assert shown == [
        ("t1-0", 10, 15, 5, "m-2"), ("t2-0", None, None, None, "m-2"), ("t1-1", None, 4, None, "m-1"),
        ("t0-3", 7, None, None, "-"),
    ]  # fmt: skip


def test_the_table_of_offsets():
    rows = rows_of([member("c-1-uuid", T0)], {T0: 10, U0: 2}, {T0: 15})
    assert list(offset_lines("g1", rows)) == [
        "",
        "GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID"
        "     HOST            CLIENT-ID",
        "g1              t1              0          10              15              5               c-1-uuid   "
        "     /10.0.0.5       c-1",
        "g1              t2              0          2               -               -               -          "
        "     -               -",
    ]


def test_columns_grow_with_names():
    header, row = list(offset_lines("a-group-with-a-long-name", rows_of([], {T0: 1}, {})))[1:]
    assert header.startswith("GROUP                    TOPIC")
    assert row.startswith("a-group-with-a-long-name t1 ")


def test_the_table_of_members():
    lines = list(member_lines("g1", [member("m-1", T1, T0, U0), member("m-2")], verbose=True))
    assert lines == [
        "",
        "GROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     ASSIGNMENT",
        "g1              m-1             /10.0.0.5       c-1             3               t1(0,1), t2(0)",
        "g1              m-2             /10.0.0.5       c-1             0               -",
    ]
    assert [line[-20:] for line in list(member_lines("g1", [member("m-1")], verbose=False))[1:]] == [
        "    #PARTITIONS     ", "    0               ",
    ]  # fmt: skip


def test_static_members_have_a_column_more():
    lines = list(member_lines("g1", [member("m-1", instance="i"), member("m-2")], verbose=False))
    assert lines[1:] == [
        "GROUP           CONSUMER-ID     GROUP-INSTANCE-ID HOST            CLIENT-ID       #PARTITIONS     ",
        "g1              m-1             i                 /10.0.0.5       c-1             0               ",
        "g1              m-2                               /10.0.0.5       c-1             0               ",
    ]


def test_the_table_of_a_state():
    described = ConsumerGroupDescription("g1", False, [member("m"), member("n")], "range", ConsumerGroupState.STABLE,
                                         Node(1, "h1", 9092))  # fmt: skip
    assert list(state_lines(described)) == [
        "",
        "GROUP                     COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE           #MEMBERS",
        "g1                        h1:9092 (1)               range                Stable          2",
    ]


def test_assignments_as_text():
    assert assignment_text([TopicPartition("t2", 3), T1, T0]) == "t1(0,1), t2(3)"
    assert assignment_text([]) == "-"


@pytest.mark.parametrize(
    ("state", "more", "out", "err"),
    [
        ("Stable", True, "", ""),
        ("Dead", False, "\nError: Consumer group 'g' does not exist.\n", ""),
        ("Empty", True, "", "\nConsumer group 'g' has no active members.\n"),
        ("PreparingRebalance", True, "", "\nWarning: Consumer group 'g' is rebalancing.\n"),
        ("CompletingRebalance", True, "", "\nWarning: Consumer group 'g' is rebalancing.\n"),
    ],
)
def test_what_a_state_means_is_said(state, more, out, err, capsys):
    assert says_more("g", ConsumerGroupState.of(state), 1) is more
    assert capsys.readouterr() == (out, err)
    assert not says_more("g", ConsumerGroupState.of(state), 0)


def test_an_unknown_state_is_an_error():
    with pytest.raises(ValueError, match="found 'Unknown'"):
        says_more("g", ConsumerGroupState.of("Asleep"), 1)


# ---- reset and delete


def test_the_table_of_new_offsets():
    lines = list(consumer_groups.reset_lines({"g1": {T0: 5}, "g2": {}}))
    assert lines == [
        "",
        "GROUP                          TOPIC                          PARTITION  NEW-OFFSET     ",
        "g1                             t1                             0          5              ",
    ]


def test_topics_with_and_without_partitions():
    assert parse_topics(["t1:0,1", "t2"]) == ([T0, T1], ["t2"])
    for bad in ("t1:x", "t1:", "t1:1:2", "t1:-1"):
        with pytest.raises(UsageError, match="Invalid partition"):
            parse_topics([bad])


def test_offsets_stay_within_the_log(caplog):
    assert [within(T0, offset, 3, 9) for offset in (2, 3, 9, 10)] == [3, 3, 9, 9]
    assert [record.getMessage() for record in caplog.records] == [
        "New offset (2) is lower than earliest offset for topic partition t1-0. Value will be set to 3",
        "New offset (10) is higher than latest offset for topic partition t1-0. Value will be set to 9",
    ]


def test_the_table_of_deletions():
    refused = KafkaError(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, "ours")
    lines = list(consumer_groups.deletion_lines({T1: refused, T0: None, TopicPartition("no", -1): refused}))
    status = ("Error: org.apache.kafka.common.errors.GroupSubscribedToTopicException: Deleting offsets of a topic is "
              "forbidden while the consumer group is actively subscribed to it.")  # fmt: skip
    assert lines == [
        "",
        "TOPIC                          PARTITION       STATUS         ",
        f"no                             Not Provided    {status}",
        "t1                             0               Successful     ",
        f"t1                             1               {status}",
    ]


# ---- CSV


def test_csv_has_the_group_only_where_there_are_several():
    offsets = {"g1": {T0: 5}, 'g"2, 3': {TopicPartition("x" * 25, 1): 6}}
    assert list(csv_lines({"g1": {T0: 5}}, with_group=False)) == ["t1,0,5"]
    assert list(csv_lines(offsets, with_group=True)) == ["g1,t1,0,5", f'"g""2, 3","{"x" * 25}",1,6']


def test_a_plan_comes_back_as_it_was_written():
    offsets = {"g1": {T0: 5, T1: 6}, 'g"2, 3': {TopicPartition("x" * 25, 1): 6}}
    assert parse_plan([f"{line}\n" for line in csv_lines(offsets, with_group=True)], None) == offsets
    assert parse_plan(["t1,0,5\n", "\n", "t1, 1 ,6"], "g1") == {"g1": {T0: 5, T1: 6}}
    assert parse_plan(["g2,t1,0,5\n"], "g1") == {"g2": {T0: 5}}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["what\n"], "line 1 has 1 fields, not topic,partition,offset"),
        (["t1,0,5\n", "t1,x,5\n"], "line 2 has a partition or offset that is no number"),
        (["t1,0,5.5\n"], "no number"),
        (["g,t,0,1,2\n"], "5 fields"),
        ([], "holds no offsets"),
    ],
)
def test_a_bad_plan_names_its_line(lines, message):
    with pytest.raises(Refused, match=message):
        parse_plan(lines, "g")
    with pytest.raises(Refused, match="not group,topic,partition,offset"):
        parse_plan(["t1,0,5\n"], None)
