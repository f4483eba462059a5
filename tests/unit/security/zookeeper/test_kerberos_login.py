"""GSSAPI at ZooKeeper, with a security context that the test plays. The real one is in tests/cluster/zk."""

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.clock import SYSTEM_CLOCK
from kafka_py.base.errors import ConfigError
from kafka_py.security.sasl.gssapi_exchange import KerberosFailed
from kafka_py.security.sasl.kerberos_settings import kerberos_entry
from kafka_py.security.zookeeper import kerberos_login
from kafka_py.security.zookeeper.kerberos_login import KerberosLogin
from kafka_py.zk.secured.digest_md5 import LoginFailed


class Context:
    """A context of two steps; signatures are a prefix."""

    def __init__(self, offer=b"\1\0\0\0", code=None):
        self._steps = 0
        self._offer = offer
        self._code = code

    @property
    def is_established(self):
        return self._steps == 2

    def step(self, token):
        self._steps += 1
        if token == b"bad":
            raise KerberosFailed("Clock skew too great", self._code)
        return b"begun" if token is None else None

    def sign(self, data):
        return b"signed " + data

    def verified(self, data):
        return self._offer


class Library:
    """Makes one context; as tickets it fails where the test says so."""

    def __init__(self, context=None, failure=None):
        self.context = context or Context()
        self._failure = failure
        self.asked = []

    def current(self):
        if self._failure:
            raise self._failure
        return "ticket"

    def begin_initiating(self, *arguments):
        self.asked.append(arguments)
        return self.context


def exchange_of(library):
    return KerberosLogin(library, library, "zookeeper").exchange("zk1.example")


def test_the_context_then_the_choice_of_no_layer_then_an_empty_response():
    library = Library()
    exchange = exchange_of(library)
    assert exchange.first() == b"begun"
    assert library.asked == [("ticket", "zookeeper", "zk1.example")]
    assert exchange.respond(b"reply") == b""
    assert exchange.respond(b"offer") == b"signed \1\0\0\0"
    assert not exchange.is_complete
    assert exchange.respond(None) == b""
    assert exchange.is_complete


def test_what_kerberos_refuses_fails_the_login_with_its_reason():
    with pytest.raises(LoginFailed, match="no ticket"):
        exchange_of(Library(failure=KerberosFailed("no ticket"))).first()
    for code in (None, 37, 33):
        exchange = exchange_of(Library(Context(code=code)))
        exchange.first()
        with pytest.raises(LoginFailed, match="Clock skew"):
            exchange.respond(b"bad")


def test_a_server_that_insists_on_a_layer_is_refused():
    exchange = exchange_of(Library(Context(offer=b"\4\0\0\0")))
    exchange.first()
    exchange.respond(b"reply")
    with pytest.raises(LoginFailed, match="security layer"):
        exchange.respond(b"offer")


@pytest.mark.parametrize("keytab", [None, "/etc/zk.keytab"])
def test_keys_are_looked_for_at_the_start_and_tickets_are_not(keytab, monkeypatch):
    """A keytab that has no such key is named by the start that fails, and not by each attempt to connect."""
    asked = []

    class NoKeys:
        def __init__(self, setting):
            self.setting = setting

        def acceptor(self, entry):
            asked.append(entry.keytab)
            raise ConfigError(f"{self.setting}: no key")

    monkeypatch.setattr(kerberos_login, "KerberosLibrary", NoKeys)
    own_key = {"useKeyTab": "true", "keyTab": keytab, "principal": "kafka/b1@R"}
    entry = kerberos_entry(own_key if keytab else {"useTicketCache": "true"})
    if keytab is None:
        kerberos_login.kerberos_login(entry, "zookeeper", "section Client", Chance(1), SYSTEM_CLOCK)
    else:
        with pytest.raises(ConfigError, match="section Client: no key"):
            kerberos_login.kerberos_login(entry, "zookeeper", "section Client", Chance(1), SYSTEM_CLOCK)
    assert asked == ([] if keytab is None else [keytab])
