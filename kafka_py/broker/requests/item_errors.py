"""Errors of single items of a request, which do not affect the other items.

A KafkaError has its code. Any other exception is unforeseen, or ZooKeeper's: it is logged, and the client gets
UNKNOWN_SERVER_ERROR. Source: ZkAdminManager (which turns every exception into the error of one topic or resource).
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.session import ZkError


class ItemError(NamedTuple):
    """The error of an item in the response.

    Not an exception: the traceback of a stored exception would form a reference cycle with its frame, which keeps the
    request alive until the garbage collector frees all of it at once.
    """

    code: ErrorCode
    message: str


def error_of(failure: Exception, log: logging.Logger, what: str) -> ItemError:
    """The error for the response. what: the failed action, for the log: "the settings of x were not changed"."""
    if isinstance(failure, KafkaError):
        return ItemError(failure.code, failure.message)
    if isinstance(failure, (ZkError, MalformedZNode)):
        log.error("%s: %s", what, failure)
    else:
        log.error("%s", what, exc_info=failure)
    return ItemError(ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.UNKNOWN_SERVER_ERROR.meaning)
