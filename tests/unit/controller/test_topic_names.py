"""What topics may be called (WE4-6, WE4-7)."""

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.controller import topic_names


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
    assert topic_names.collide("topic.1_2", "topic_1.2")
    assert topic_names.colliding("topic_1.2", ["topic.1_2", "other", "topic.1.3"]) == ["topic.1_2"]
    assert topic_names.colliding("plain", ["plain", "other"]) == []


def test_internal_topics_are_known():
    assert topic_names.is_internal("__consumer_offsets")
    assert not topic_names.is_internal("__mine")
