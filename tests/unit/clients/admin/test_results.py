"""What a call on several things gives back."""

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.admin.results import NOT_ASKED_FOR, Results, operations_of

REFUSED = KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS)


def test_an_item_is_its_value_or_raises_its_own_error() -> None:
    results: Results[str, int] = Results({"a": 1, "b": REFUSED})
    assert results.value("a") == 1
    with pytest.raises(KafkaError) as caught:
        results.value("b")
    assert caught.value is REFUSED
    assert results.errors() == {"b": REFUSED}


def test_all_are_values_or_the_first_error_is_raised() -> None:
    assert Results({"a": 1, "b": 2}).all() == {"a": 1, "b": 2}
    with pytest.raises(KafkaError) as caught:
        Results({"a": 1, "b": REFUSED, "c": KafkaError(ErrorCode.INVALID_REQUEST)}).all()
    assert caught.value is REFUSED


def test_operations_that_nobody_asked_for_are_none() -> None:
    assert operations_of(NOT_ASKED_FOR) is None
    assert operations_of(0) == 0
    assert operations_of(264) == 264
