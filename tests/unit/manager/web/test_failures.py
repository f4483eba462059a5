"""Errors become statuses; what nobody foresaw is logged under the number that the page shows."""

import logging

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.clients.errors import ClientTimeout
from kafka_py.manager.web.failures import failed_answer
from kafka_py.manager.web.requests import BadParameter, Forbidden, NotFound


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (NotFound("x"), 404, "not_found"),
        (Forbidden("x"), 403, "forbidden"),
        (BadParameter("x"), 400, "bad_request"),
        (ConfigError("x"), 400, "invalid_settings"),
        (KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "x"), 404, "unknown_topic_or_partition"),
        (KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "x"), 403, "topic_authorization_failed"),
        (KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, "x"), 409, "topic_already_exists"),
        (KafkaError(ErrorCode.NETWORK_EXCEPTION, "x"), 503, "cluster_unreachable"),
        (ClientTimeout("x"), 503, "cluster_unreachable"),
        (ConnectionRefusedError("x"), 503, "cluster_unreachable"),
    ],
)
def test_each_error_has_its_status(error: Exception, status: int, code: str) -> None:
    answer = failed_answer(error, "orders", Chance(1))
    assert (answer.status, answer.failure.code) == (status, code)
    assert "x" in answer.failure.message


def test_what_nobody_foresaw_is_logged_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        answer = failed_answer(ZeroDivisionError("secret"), "orders", Chance(1))
    assert (answer.status, "secret" in answer.failure.message) == (500, False)
    assert answer.failure.message.rstrip(".").split()[-1] in caplog.text
    assert "ZeroDivisionError: secret" in caplog.text
