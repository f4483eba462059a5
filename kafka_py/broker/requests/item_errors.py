"""What an item of a request gets when its handling fails, while the other items of the request go their way.

A KafkaError says it itself. Anything else was not foreseen, or is ZooKeeper's: the log has it, the client gets
UNKNOWN_SERVER_ERROR. Source: ZkAdminManager (which turns every exception into the error of one topic or resource).
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.session import ZkError


class ItemError(NamedTuple):
    """The error to answer.

    No exception: whoever keeps one that was raised to it keeps itself alive by its traceback, and with it the request,
    until the garbage collector finds both and frees all of it in one piece.
    """

    code: ErrorCode
    message: str


def error_of(failure: Exception, log: logging.Logger, what: str) -> ItemError:
    """The error to answer. what: what was not done, for the log: "the settings of x were not changed"."""
    if isinstance(failure, KafkaError):
        return ItemError(failure.code, failure.message)
    if isinstance(failure, (ZkError, MalformedZNode)):
        log.error("%s: %s", what, failure)
    else:
        log.error("%s", what, exc_info=failure)
    return ItemError(ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.UNKNOWN_SERVER_ERROR.meaning)
