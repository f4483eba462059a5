"""A login over a connection, with a server that the test plays."""

from types import SimpleNamespace

import pytest
from kazoo.exceptions import ConnectionDropped, SessionExpiredError
from kazoo.protocol.serialization import SASL

from kafka_py.base.chance import Chance
from kafka_py.zk.secured.digest_md5 import DigestMd5, LoginFailed
from kafka_py.zk.secured.logins import log_in


class Exchange:
    """Two tokens, then complete."""

    def __init__(self, steps=2):
        self.got = []
        self._steps = steps
        self.is_complete = False

    def first(self):
        return b"first"

    def respond(self, challenge):
        self.got.append(challenge)
        self.is_complete = len(self.got) == self._steps
        return b"answer %d" % len(self.got)


class Connection:
    """The part of kazoo's connection that is used. answers: (error code, token), or an exception."""

    def __init__(self, *answers):
        self._answers = list(answers)
        self.sent = []

    def _submit(self, request, timeout, xid):
        self.sent.append((xid, request.challenge, timeout))

    def _read_header(self, _timeout):
        code, token, *shift = self._answers.pop(0)
        xid = self.sent[-1][0] + sum(shift)
        return SimpleNamespace(xid=xid, err=code), SASL(token).serialize(), 0


def test_a_server_without_logins_is_known_by_its_null_token():
    with pytest.raises(LoginFailed, match="no logins"):
        log_in(Connection((0, None)), DigestMd5("a", "b", Chance(1)).exchange(), 1)


def test_tokens_go_back_and_forth_until_the_exchange_is_complete():
    connection, exchange = Connection((0, b"challenge"), (0, b"proof")), Exchange()
    log_in(connection, exchange, 3.5)
    assert connection.sent == [(1, b"first", 3.5), (2, b"answer 1", 3.5)]
    assert exchange.got == [b"challenge", b"proof"]


@pytest.mark.parametrize(
    ("answers", "error", "why"),
    [
        ([(-115, None)], LoginFailed, "refuses the login"),
        ([(0, b"c"), (-115, None)], LoginFailed, "refuses the login"),
        ([(-124, None)], LoginFailed, "refuses the login"),  # of a server that serves nobody without one
        ([(-4, None)], ConnectionDropped, "error -4"),
        ([(-9999, None)], ConnectionDropped, "error -9999"),
        ([(-112, None)], SessionExpiredError, None),
        ([(0, b"c", 1)], ConnectionDropped, "response 2 to token 1"),
        ([(0, b"c")] * 40, LoginFailed, "does not end"),
    ],
)
def test_what_ends_a_login_otherwise(answers, error, why):
    with pytest.raises(error, match=why):
        log_in(Connection(*answers), Exchange(steps=100), 1)
