"""What topics may be called (WE4-6, WE4-7)."""

import itertools

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.turns import TURN_MS, run_turn
from kafka_py.controller import topic_names
from kafka_py.controller.topic_names import STEP_NAMES


@pytest.mark.parametrize("name", ["", ".", "..", "a" * 250, "a b", "a/b", "a,b", "ä", "a\n", "a:b", "\u0660"])
def test_we4_7_illegal_names_are_refused(name):
    """WE4-7: empty, `.`, `..`, 250 characters, other characters: refused."""
    with pytest.raises(KafkaError) as caught:
        topic_names.validate(name)
    assert caught.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize("name", ["a", "...", "A-Z_a.z0", "a" * 249, "__consumer_offsets"])
def test_we4_7_legal_names_are_taken(name):
    """WE4-7: 249 characters: accepted."""
    topic_names.validate(name)


def test_we4_6_dot_and_underscore_collide():
    """WE4-6: topic.1_2 exists, topic_1.2 collides; both map to metric name topic_1_2."""
    assert topic_names.has_collision_chars("topic.1_2")
    assert topic_names.in_metrics("topic.1_2") == topic_names.in_metrics("topic_1.2") == "topic_1_2"


def test_only_names_that_may_collide_are_kept_and_others_have_the_loop_meanwhile():
    names = ["topic.1_2", "topic_1.2", "plain", "topic.1.3", *(f"t-{number}" for number in range(3 * STEP_NAMES))]
    steps = topic_names.by_name_in_metrics(names)
    count = 0
    while (done := run_turn(steps, itertools.count(0, TURN_MS).__next__)) is None:
        count += 1
    assert done.value == {"topic_1_2": ["topic.1_2", "topic_1.2"], "topic_1_3": ["topic.1.3"]}
    assert count > 3


def test_internal_topics_are_known():
    assert topic_names.is_internal("__consumer_offsets")
    assert not topic_names.is_internal("__mine")
