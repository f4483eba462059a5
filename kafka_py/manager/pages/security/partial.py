"""Parts of a page that a cluster may refuse: the page shows the rest, and why."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.manager.web.answers import ProblemRow

T = TypeVar("T")

NO_ANSWER = (ErrorCode.NETWORK_EXCEPTION, ErrorCode.BROKER_NOT_AVAILABLE, ErrorCode.REQUEST_TIMED_OUT)
"""Errors of a cluster that is down, which has a page of its own."""


async def or_problem(what: str, asked: Awaitable[T], otherwise: T, problems: list[ProblemRow]) -> T:
    """What was asked for; where the cluster refuses it, `otherwise`, and a problem more. Raises KafkaError."""
    try:
        return await asked
    except KafkaError as error:
        if error.code in NO_ANSWER:
            raise
        problems.append(ProblemRow(what, error.message))
        return otherwise
