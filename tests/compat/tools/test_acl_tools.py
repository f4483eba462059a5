"""ACLs in one cluster of our broker and Apache's: either kafka-acls.sh by way of either broker and past them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.cli.acl_admin import acls
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers.apache import ApacheBroker, Jars
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

SETTINGS = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "num.partitions": "1",
    "offsets.topic.replication.factor": "1",
}
ME = ("--allow-principal", "User:ANONYMOUS", "--operation", "Read")
ALICE = ("--allow-principal", "User:alice")
ADDED = (
    ("--cluster", "--allow-principal", "User:ANONYMOUS"),
    ("--topic", "t", *ALICE, "--operation", "Read", "--allow-host", "10.0.0.1"),
    ("--topic", "pre", "--resource-pattern-type", "prefixed", "--deny-principal", "User:CN=bob,O=x"),
    ("--group", "*", *ALICE),
    ("--producer", "--idempotent", "--topic", "café", "--transactional-id", "x:y", *ALICE),
    ("--consumer", "--topic", "u", "--group", "g", *ALICE),
    ("--delegation-token", "d", *ALICE, "--operation", "Describe"),
)
LISTS = (
    ("--list",),
    ("--list", "--topic", "prefix", "--resource-pattern-type", "match"),
    ("--list", "--topic", "pre", "--resource-pattern-type", "any"),
    ("--list", "--group", "g", "--principal", "User:alice", "--principal", "User:nobody"),
)
REFUSED = (
    ("--add", "--group", "g", *ALICE, "--operation", "Write"),
    ("--add", "--topic", "t"),
    ("--list", "--add"),
    ("--add", "--consumer", "--topic", "t", *ALICE),
)


def paragraphs(output: str) -> list[list[str]]:
    """The output by resource; the order of resources, and of the entries of one, is not defined."""
    return sorted(sorted(map(str.strip, part.splitlines())) for part in output.split("\n\n") if part.strip())


class Tools:
    """Both commands, and the ways to the ACLs."""

    def __init__(self, jars: Jars, capsys: pytest.CaptureFixture[str]) -> None:
        self._jars = jars
        self._capsys = capsys

    def apache(self, *words: str) -> tuple[int, list[list[str]]]:
        done = self._jars.run("kafka.admin.AclCommand", *words)
        assert done.exit_code == 0, done.stdout
        return done.exit_code, paragraphs(done.stdout)

    def ours(self, *words: str) -> tuple[int, list[list[str]]]:
        self._capsys.readouterr()
        code = acls.main(words)
        return code, paragraphs(self._capsys.readouterr().out)


def may_describe(broker: Any) -> bool:
    with WireClient(broker.bootstrap) as client:
        request = MetadataRequest(topics=[MetadataRequestTopic(name="t")], allow_auto_topic_creation=False)
        (topic,) = client.ask(request, 9).topics
        return topic.error_code != ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.slow
@pytest.mark.core
@pytest.mark.timeout(400)
def test_acls_made_by_one_are_honoured_and_shown_by_the_other(
    apache_kafka: Jars, zk_chroot: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools = Tools(apache_kafka, capsys)
    with (
        BrokerProcess(tmp_path / "ours", zk_chroot, broker_id=0, settings=SETTINGS) as ours,
        ApacheBroker(tmp_path / "apache", zk_chroot, broker_id=1, settings=SETTINGS) as apache,
    ):
        ours.create_topic("t", 1)
        past = ("--authorizer-properties", f"zookeeper.connect={zk_chroot}")
        by_ours, by_apache = ("--bootstrap-server", ours.bootstrap), ("--bootstrap-server", apache.bootstrap)
        ways: list[tuple[Callable[..., Any], tuple[str, str]]] = [
            (tools.apache, by_ours), (tools.ours, by_apache), (tools.ours, past), (tools.apache, past),
        ]  # fmt: skip
        for number, words in enumerate(ADDED):
            tool, way = ways[number % len(ways)]
            code, printed = tool(*way, "--add", *words)
            assert code == 0, printed
        for broker in (ours, apache):
            broker.wait_for(lambda broker=broker: not may_describe(broker), 30, "the ACLs of t")
        for words in LISTS:
            expected = tools.apache(*by_apache, *words)
            assert expected[0] == 0
            assert tools.apache(*by_ours, *words) == expected, words
            assert tools.ours(*by_ours, *words) == expected, words
            assert tools.ours(*past, *words) == expected, words
        assert len(tools.ours(*past, "--list")[1]) == 9
        tools.apache(*by_ours, "--add", "--topic", "t", *ME)
        for broker in (ours, apache):
            broker.wait_for(lambda broker=broker: may_describe(broker), 30, "the ACL of ANONYMOUS")
        assert tools.ours(*by_apache, "--remove", "--force", "--topic", "t", *ME)[0] == 0
        for broker in (ours, apache):
            broker.wait_for(lambda broker=broker: not may_describe(broker), 30, "its removal")
        removed = tools.apache(*by_ours, "--remove", "--force", "--topic", "*", "--resource-pattern-type", "match")
        assert removed == (0, [])
        assert tools.apache(*by_ours, "--remove", "--force", "--group", "g", "--topic", "t")[0] == 0
        listed = tools.apache(*by_apache, "--list")
        assert tools.ours(*by_ours, "--list") == listed
        assert len(listed[1]) == 7


@pytest.mark.slow
def test_wrong_usage_ends_as_apaches(apache_kafka: Jars) -> None:
    for words in REFUSED:
        done = apache_kafka.run("kafka.admin.AclCommand", "--bootstrap-server", "localhost:1", *words)
        with pytest.raises(Exception) as refused:
            acls.main(["--bootstrap-server", "localhost:1", *words])
        assert done.exit_code == 1
        text = str(refused.value).partition("operations")[0]  # the order of their names is not defined
        assert text in done.stderr, done.stderr[:300]
