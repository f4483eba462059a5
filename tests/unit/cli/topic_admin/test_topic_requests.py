"""Which topics a pattern means, and the warnings about names."""

import pytest

from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.topic_admin.topic_requests import TopicAction, parse_assignment, require_found, select_topics

NAMES = ["orders", "orders-eu", "clicks", "__consumer_offsets"]


def test_no_pattern_means_all_topics_sorted():
    assert select_topics(NAMES, TopicAction("list")) == ["__consumer_offsets", "clicks", "orders", "orders-eu"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("orders", ["orders"]),
        ("orders.*", ["orders", "orders-eu"]),
        ("clicks,orders", ["clicks", "orders"]),
        ("clicks, orders", ["clicks", "orders"]),
        ("'clicks'", ["clicks"]),
        ("order", []),
    ],
)
def test_a_pattern_matches_the_whole_name_and_commas_part_alternatives(pattern, found):
    assert select_topics(NAMES, TopicAction("list", pattern)) == found


def test_internal_topics_can_be_left_out():
    assert select_topics(NAMES, TopicAction("list", ".*", exclude_internal=True)) == ["clicks", "orders", "orders-eu"]


def test_a_pattern_that_is_no_regular_expression_is_one_clear_line():
    with pytest.raises(CommandFailed, match=r"^orders\( is an invalid regex"):
        select_topics(NAMES, TopicAction("list", "orders("))


def test_nothing_found_is_an_error_unless_it_may_be():
    with pytest.raises(CommandFailed, match=r"^Topic 'nope' does not exist as expected$"):
        require_found([], TopicAction("delete", "nope"))
    require_found([], TopicAction("delete", "nope", if_exists=True))
    require_found([], TopicAction("describe"))
    require_found(["t"], TopicAction("describe", "t"))


def test_names_with_dots_or_underscores_are_warned_of():
    assert TopicAction("create", "plain-name").collision_warning is None
    for name in ("a.b", "a_b"):
        warning = TopicAction("create", name).collision_warning
        assert warning is not None and warning.startswith("WARNING: Due to limitations in metric names")


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (TopicAction("create", "t", partitions=0), "partitions must be greater than 0"),
        (TopicAction("create", "t", replication_factor=0), "between 1 and 32767"),
        (TopicAction("create", "t", replication_factor=40_000), "between 1 and 32767"),
    ],
)
def test_counts_that_no_topic_can_have(request_, message):
    with pytest.raises(CommandFailed, match=message):
        request_.check_counts()


def test_an_assignment_lists_brokers_partition_by_partition():
    assert parse_assignment("1:2:3,2:3:1") == {0: [1, 2, 3], 1: [2, 3, 1]}
    assert parse_assignment("7") == {0: [7]}
