"""Delegation tokens in one cluster of our broker and Apache's: either command by way of either broker, and logins by
Java's clients and ours with the tokens of either.
"""

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from sasl_brokers import MODULE, broker_settings, java_settings, ports, property_text

from kafka_py.cli.acl_admin import acls
from kafka_py.cli.token_admin import delegation_tokens
from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.errors import AuthenticationError
from kafka_py.testing.broker import AnyBroker, BrokerProcess
from kafka_py.testing.peers import java_clients
from kafka_py.testing.peers.apache import ApacheBroker, Jars
from kafka_py.testing.peers.java_clients import JavaFailed, ToSend

pytestmark = [pytest.mark.slow, pytest.mark.core, pytest.mark.timeout(500)]

SETTINGS = {
    "delegation.token.master.key": "token-secret",  # both of them know the older name
    "delegation.token.expiry.check.interval.ms": "500",
    "num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "inter.broker.protocol.version": "2.6",
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
USERS = ("alice", "bob", "eve")
DATES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")


class Token(NamedTuple):
    id: str
    hmac: str


class Cluster(NamedTuple):
    """Broker 0 is ours, broker 1 Apache's. sasl: their addresses that ask for logins."""

    brokers: list[AnyBroker]
    sasl: list[str]


@pytest.fixture
def cluster(
    request: pytest.FixtureRequest, zk_chroot: str, apache_kafka: Jars, tmp_path: Path
) -> Iterator[Cluster]:
    """The parameter says which of them is the controller."""
    with contextlib.ExitStack() as stack:
        found = Cluster([], [])
        for number, kind in enumerate((BrokerProcess, ApacheBroker)):
            at = ports()
            settings = broker_settings(at, **SETTINGS)
            name = "listener.name.sasl_plaintext.plain.sasl.jaas.config"
            users = " ".join(f'user_{user}="{user}-secret"' for user in USERS)
            settings[name] = f"{MODULE}.plain.PlainLoginModule required {users};"
            broker = kind(tmp_path / str(number), zk_chroot, broker_id=number, port=at.plain, settings=settings)
            found.brokers.append(broker)
            found.sasl.append(f"127.0.0.1:{at.sasl}")
        for broker in found.brokers if request.param == "ours" else reversed(found.brokers):
            stack.enter_context(broker)
        found.brokers[0].create_topic("t", 1)
        yield found


def eve_may_not_describe(cluster: Cluster, token: Token) -> None:
    denied = ("--delegation-token", token.id, "--deny-principal", "User:eve", "--operation", "Describe")
    assert acls.main(["--bootstrap-server", cluster.brokers[0].bootstrap, "--add", *denied]) == 0


def token_settings(token: Token, mechanism: str = "SCRAM-SHA-256") -> dict[str, str]:
    entry = f'{MODULE}.scram.ScramLoginModule required username="{token.id}" password="{token.hmac}" tokenauth="true";'
    return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": entry}


class Tools:
    """Both commands, as different users. Their output is the exit code and the lines, without dates."""

    def __init__(self, jars: Jars, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        self._jars = jars
        self._capsys = capsys
        self._folder = folder

    def config(self, user: str, settings: dict[str, str] | None = None) -> str:
        path = self._folder / f"{user}.properties"
        path.write_text(property_text(settings or java_settings("PLAIN", f"{user}-secret", user)))
        return str(path)

    def apache(self, address: str, user: str, *words: str) -> tuple[int, str]:
        place = ("--bootstrap-server", address, "--command-config", str(self._folder / f"{user}.properties"))
        done = self._jars.run("kafka.admin.DelegationTokenCommand", *place, *words)
        return done.exit_code, done.stdout

    def ours(self, address: str, user: str, *words: str) -> tuple[int, str]:
        self._capsys.readouterr()
        place = ("--bootstrap-server", address, "--command-config", str(self._folder / f"{user}.properties"))
        return delegation_tokens.main([*place, *words]), self._capsys.readouterr().out


Tool = Callable[..., tuple[int, str]]


@pytest.fixture
def tools(apache_kafka: Jars, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Tools:
    made = Tools(apache_kafka, capsys, tmp_path)
    for user in USERS:
        made.config(user)
    return made


def until(condition: Callable[[], object], timeout_s: float = 60) -> None:
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.1)


def made_by(tool: Tool, address: str, *words: str) -> Token:
    code, printed = tool(address, "alice", "--create", "--max-life-time-period", "-1", *words)
    assert code == 0, printed
    token_id, hmac, *_ = printed.splitlines()[-1].split()
    assert f"Created delegation token with tokenId : {token_id}\n" in printed
    return Token(token_id, hmac)


def sorted_rows(printed: tuple[int, str]) -> tuple[int, list[str]]:
    return printed[0], sorted(printed[1].split("\n"))


def may_log_in(address: str, settings: dict[str, str]) -> bool:
    try:
        with AdminClient({"bootstrap.servers": address, **settings}) as admin:
            return "t" in admin.list_topics()
    except AuthenticationError:
        return False


def until_removed(cluster: Cluster, token: Token, *, apaches_too: bool = True) -> None:
    for address in cluster.sasl if apaches_too else cluster.sasl[:1]:
        until(lambda a=address: not may_log_in(a, token_settings(token)))


def java_may_produce(jars: Jars, address: str, settings: dict[str, str]) -> bool:
    underscored = {name.replace(".", "_"): value for name, value in settings.items()}
    try:
        return bool(java_clients.produce(jars, address, [ToSend("t", 0, None, b"v")], **underscored))
    except JavaFailed as failed:
        assert "due to invalid credentials" in str(failed)
        return False


@pytest.mark.parametrize("cluster", ["ours"], indirect=True)
def test_tokens_of_one_are_honoured_shown_and_ended_by_the_other(
    cluster: Cluster, apache_kafka: Jars, newest_clients: Jars, tools: Tools
) -> None:
    ours, apaches = cluster.sasl
    by_apache = made_by(tools.apache, ours, "--renewer-principal", "User:bob")
    by_ours = made_by(tools.ours, apaches, "--renewer-principal", "User:bob")
    for address in cluster.sasl:
        for token in (by_apache, by_ours):
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
                until(lambda a=address, t=token, m=mechanism: may_log_in(a, token_settings(t, m)))
    assert java_may_produce(apache_kafka, ours, token_settings(by_ours))
    assert java_may_produce(apache_kafka, ours, token_settings(by_apache, "SCRAM-SHA-512"))
    assert java_may_produce(newest_clients, ours, token_settings(by_ours, "SCRAM-SHA-512"))
    assert not java_may_produce(apache_kafka, ours, token_settings(by_apache._replace(hmac="aG0=")))

    for words in (("--describe",), ("--describe", "--owner-principal", "User:bob"),
                  ("--describe", "--owner-principal", "User:eve")):  # fmt: skip
        expected = sorted_rows(tools.apache(apaches, "alice", *words))
        assert sorted_rows(tools.apache(ours, "alice", *words)) == expected
        assert sorted_rows(tools.ours(ours, "alice", *words)) == expected
        assert sorted_rows(tools.ours(apaches, "alice", *words)) == expected

    def seen_by_eve(tool: Tool, address: str) -> list[Token]:
        printed = tool(address, "eve", "--describe", "--owner-principal", "User:alice")[1]
        rows = [line.split() for line in printed.splitlines() if "User:alice" in line and "Calling" not in line]
        return sorted(Token(*row[:2]) for row in rows)

    for address in cluster.sasl:
        assert seen_by_eve(tools.ours, address) == sorted([by_apache, by_ours])
    eve_may_not_describe(cluster, by_ours)
    for address in cluster.sasl:
        until(lambda a=address: seen_by_eve(tools.ours, a) == [by_apache])
    assert seen_by_eve(tools.apache, ours) == [by_apache]

    renew = ("--renew", "--hmac", by_apache.hmac, "--renew-time-period", "3600000")
    code, printed = tools.apache(ours, "bob", *renew)
    assert code == 0, printed
    assert DATES.sub("date", tools.ours(apaches, "bob", *renew)[1]) == DATES.sub("date", printed)
    end = ("--expire", "--expiry-time-period", "-1", "--hmac")
    code, printed = tools.apache(ours, "alice", *end, by_ours.hmac)
    assert code == 0, printed
    other = tools.ours(apaches, "alice", *end, by_apache.hmac)
    assert DATES.sub("date", other[1]) == DATES.sub("date", printed).replace(by_ours.hmac, by_apache.hmac)
    for token in (by_apache, by_ours):
        until_removed(cluster, token)


@pytest.mark.parametrize("cluster", ["apache"], indirect=True)
def test_refusals_and_expiry_are_the_same(cluster: Cluster, tools: Tools) -> None:
    ours, apaches = cluster.sasl
    token = made_by(tools.ours, ours)
    until(lambda: may_log_in(apaches, token_settings(token)))
    tools.config("by-token", token_settings(token))
    tools.config("nobody", {"security.protocol": "PLAINTEXT"})
    plain = [broker.bootstrap for broker in cluster.brokers]
    renew = ("--renew", "--renew-time-period", "-1", "--hmac")
    create = ("--create", "--max-life-time-period", "-1")
    for (at_ours, at_apaches), user, words in (
        (cluster.sasl, "eve", (*renew, token.hmac)),
        (cluster.sasl, "eve", (*renew, "aG0=")),
        (cluster.sasl, "eve", ("--expire", "--expiry-time-period", "-1", "--hmac", token.hmac)),
        (cluster.sasl, "alice", (*create, "--renewer-principal", "Group:g")),
        (cluster.sasl, "by-token", create),
        (cluster.sasl, "by-token", ("--describe",)),
        (plain, "nobody", create),
        (plain, "nobody", ("--describe",)),
    ):
        expected = tools.apache(at_apaches, user, *words)
        assert expected[0] == 1, expected
        assert tools.apache(at_ours, user, *words) == expected
        assert tools.ours(at_ours, user, *words) == expected
        assert tools.ours(at_apaches, user, *words) == expected

    soon = ("--expire", "--expiry-time-period", "0", "--hmac", token.hmac)
    assert tools.apache(ours, "alice", *soon)[0] == 0
    until_removed(cluster, token)  # by Apache's broker, which is the controller
    token = made_by(tools.ours, ours)
    until(lambda: may_log_in(apaches, token_settings(token)))
    cluster.brokers[1].stop()
    assert tools.ours(ours, "alice", *soon[:-1], token.hmac)[0] == 0
    until_removed(cluster, token, apaches_too=False)
