"""kafka-acls.sh: what its options mean, what it prints and what it refuses, over ACLs in memory."""

import asyncio
import json
from collections.abc import Iterable, Sequence

import pytest

from kafka_py.cli.acl_admin import acls
from kafka_py.cli.acl_admin.acl_options import check, parser
from kafka_py.cli.acl_admin.acl_services import zookeeper_of
from kafka_py.cli.acl_admin.wanted_acls import acls_by_filter, acls_to_add, resource_filters
from kafka_py.cli.common.command import CommandFailed, UsageError
from kafka_py.security.acls.bindings import AclBinding, AclEntry, AclFilter
from kafka_py.security.acls.vocabulary import PatternType, ResourceType

BOOT = ("--bootstrap-server", "h:1")
ALICE = ("--allow-principal", "User:alice")


def wanted(*words: str) -> dict[str, set[str]]:
    """The entries by `Type:name`, as `principal operation permission host`."""
    found = acls_by_filter(parser().parse([*BOOT, *words]))
    return {f"{each.type.title}:{each.name}": set(map(shown, entries)) for each, entries in found.items()}


def shown(entry: AclEntry) -> str:
    return f"{entry.principal} {entry.operation.title} {entry.permission.title} {entry.host}"


def of(*operations: str) -> set[str]:
    return {f"User:alice {operation} Allow *" for operation in operations}


def test_principals_operations_and_hosts_are_combined() -> None:
    assert wanted("--add", "--topic", "t", "--topic", "u", *ALICE) == {"Topic:t": of("All"), "Topic:u": of("All")}
    hosts = ("--allow-host", "1.1.1.1", "--allow-host", "::1", "--deny-principal", "User:bob")
    assert wanted("--add", "--group", "g", *ALICE, *hosts, "--operation", "Read", "--operation", "describe") == {
        "Group:g": {
            f"User:alice {each} Allow {host}" for each in ("Read", "Describe") for host in ("1.1.1.1", "::1")
        } | {"User:bob Read Deny *", "User:bob Describe Deny *"}
    }
    assert wanted("--remove", "--topic", "t") == {"Topic:t": set()}
    assert wanted("--add", "--cluster", *ALICE, "--operation", "IdempotentWrite") == {
        "Cluster:kafka-cluster": of("IdempotentWrite")
    }
    assert wanted("--add", "--delegation-token", "x", *ALICE) == {"DelegationToken:x": of("All")}


def test_a_producer_and_a_consumer_need_several_permissions() -> None:
    producer = wanted("--add", "--producer", "--topic", "t", "--transactional-id", "x", "--idempotent", *ALICE)
    assert producer == {
        "Topic:t": of("Write", "Describe", "Create"),
        "TransactionalId:x": of("Write", "Describe"),
        "Cluster:kafka-cluster": of("IdempotentWrite"),
    }
    consumer = wanted("--add", "--consumer", "--topic", "t", "--group", "g", *ALICE)
    assert consumer == {"Topic:t": of("Read", "Describe"), "Group:g": of("Read")}
    both = wanted("--add", "--producer", "--consumer", "--topic", "t", "--group", "g", *ALICE)
    assert both == {"Topic:t": of("Write", "Describe", "Create", "Read"), "Group:g": of("Read")}


def test_a_cluster_counts_with_literal_patterns_only() -> None:
    options = parser().parse([*BOOT, "--list", "--topic", "t", "--cluster", "--resource-pattern-type", "prefixed"])
    assert resource_filters(options) == [(ResourceType.TOPIC, "t", PatternType.PREFIXED)]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((*BOOT,), "Command must include exactly one action: --list, --add, --remove. "),
        ((*BOOT, "--list", "--add"), "Command must include exactly one action: --list, --add, --remove. "),
        ((*BOOT, "--list", "--authorizer", "x"), "Only one of --bootstrap-server or --authorizer must be specified"),
        (("--list",), 'Missing required argument "[authorizer-properties]"'),
        ((*BOOT, "--list", "--producer"), 'Option "[list]" can\'t be used with option "[producer]"'),
        ((*BOOT, "--add", "--producer", "--operation", "Read"),
         'Option "[producer]" can\'t be used with option "[operation]"'),
        ((*BOOT, "--add", "--consumer", "--deny-host", "1.1.1.1"),
         'Option "[consumer]" can\'t be used with option "[deny-host]"'),
        ((*BOOT, "--add", "--consumer", "--topic", "t", "--group", "g", "--cluster"),
         "With --consumer you must specify a --topic and a --group and no --cluster"),
        ((*BOOT, "--add", "--principal", "User:a"), "The --principal option is only available if --list is set"),
        ((*BOOT, "--add", "--producer"), "With --producer you must specify a --topic"),
        ((*BOOT, "--add", "--idempotent"), "The --idempotent option is only available if --producer is set"),
        ((*BOOT, "--add", "--consumer", "--topic", "t"), "With --consumer you must specify a --topic and a --group"),
        ((*BOOT, "--add", *ALICE), "You must provide at least one resource: --topic <topic> or --cluster"),
        ((*BOOT, "--add", "--topic", "t"), "You must specify one of: --allow-principal, --deny-principal when trying"),
        ((*BOOT, "--add", "--topic", "t", *ALICE, "--resource-pattern-type", "match"),
         "A '--resource-pattern-type' value of 'MATCH' is not valid when adding acls."),
        ((*BOOT, "--add", "--group", "g", *ALICE, "--operation", "Write"),
         "ResourceType GROUP only supports operations READ,DELETE,DESCRIBE,ALL"),
        ((*BOOT, "--add", "--group", "g", *ALICE, "--operation", "Fly"), "ResourceType GROUP only supports operations"),
        ((*BOOT, "--list", "--resource-pattern-type", "some"), "Cannot parse argument 'some'"),
    ],
)  # fmt: skip
def test_wrong_usage(words: Sequence[str], text: str) -> None:
    with pytest.raises(UsageError) as refused:
        options = parser().parse(words)
        check(options)
        acls_to_add(options)
    assert str(refused.value).startswith(text)


def test_past_the_brokers_the_properties_name_zookeeper() -> None:
    def named(*words: str) -> str:
        return zookeeper_of(parser().parse(["--list", *words]))

    assert named("--authorizer-properties", "zookeeper.connect=h:1/a=b") == "h:1/a=b"
    own = "authorizer.zookeeper.url=own:1"
    assert named("--authorizer-properties", "zookeeper.connect=h:1", "--authorizer-properties", own) == "own:1"
    with pytest.raises(CommandFailed, match=r"no zookeeper\.connect"):
        named("--authorizer-properties", "zookeeper")
    with pytest.raises(CommandFailed, match=r"com\.example\.Own cannot be loaded"):
        named("--authorizer", "com.example.Own", "--authorizer-properties", "zookeeper.connect=h:1")


def test_a_producer_that_is_a_consumer_too_may_have_a_transactional_id() -> None:
    check(parser().parse([*BOOT, "--add", "--producer", "--consumer", "--topic", "t", "--group", "g",
                          "--transactional-id", "x", *ALICE]))  # fmt: skip


@pytest.mark.parametrize(("said", "removes"), [("y", True), ("Y", True), ("yes", False), ("", False), ("n", False)])
def test_only_y_is_yes(
    said: str, removes: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    service = InMemory()
    run(service, "--add", "--topic", "t", *ALICE)
    monkeypatch.setattr("builtins.input", lambda: said)
    run(service, "--remove", "--topic", "t")
    assert (len(service.kept) == 0) is removes


class InMemory:
    """ACLs that are nowhere else."""

    def __init__(self) -> None:
        self.kept: dict[AclBinding, None] = {}

    async def add(self, bindings: Sequence[AclBinding]) -> None:
        self.kept.update(dict.fromkeys(bindings))

    async def remove(self, filters: Sequence[AclFilter]) -> None:
        for each in [one for one in self.kept if any(wanted.matches(one) for wanted in filters)]:
            del self.kept[each]

    async def select(self, filters: Iterable[AclFilter]) -> list[AclBinding]:
        wanted = list(filters)
        return [one for one in self.kept if any(each.matches(one) for each in wanted)]


def run(service: InMemory, *words: str) -> None:
    options = parser().parse([*BOOT, *words])
    action = acls.add if options.add else acls.remove if options.remove else acls.list_acls
    asyncio.run(action(service, options))


TOPIC = "`ResourcePattern(resourceType=TOPIC, name=t, patternType=LITERAL)`"
ENTRY = "\t(principal=User:alice, host=*, operation={}, permissionType=ALLOW)"


def test_what_is_printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    service = InMemory()
    run(service, "--add", "--topic", "t", *ALICE, "--operation", "Read", "--operation", "Write")
    two = f"{ENTRY.format('READ')}\n{ENTRY.format('WRITE')}"
    current = f"Current ACLs for resource {TOPIC}: \n {two} \n\n"
    assert capsys.readouterr().out == f"Adding ACLs for resource {TOPIC}: \n {two} \n\n{current}"
    run(service, "--list", "--principal", "User:alice", "--principal", "User:bob")
    assert capsys.readouterr().out == f"ACLs for principal `User:alice`\n{current}ACLs for principal `User:bob`\n"
    run(service, "--list", "--group", "g")
    assert capsys.readouterr().out == ""
    answers = iter(["n", "Y"])
    monkeypatch.setattr("builtins.input", lambda: next(answers))
    read = ("--remove", "--topic", "t", *ALICE, "--operation", "Read")
    one = ENTRY.format("READ")
    question = f"Are you sure you want to remove ACLs: \n {one} \n from resource filter {TOPIC}? (y/n)\n"
    run(service, *read)
    assert capsys.readouterr().out == question + current
    run(service, *read)
    assert capsys.readouterr().out == question + current.replace(f"{ENTRY.format('READ')}\n", "")
    run(service, "--remove", "--topic", "t", "--force")
    assert capsys.readouterr().out == ""
    assert service.kept == {}


def test_documents(capsys: pytest.CaptureFixture[str]) -> None:
    service = InMemory()
    run(service, "--add", "--topic", "t", *ALICE, "--operation", "Read")
    run(service, "--add", "--group", "g", "--deny-principal", "User:bob", "--deny-host", "::1")
    capsys.readouterr()
    topic = {
        "resource_type": "TOPIC", "name": "t", "pattern_type": "LITERAL",
        "acls": [{"principal": "User:alice", "host": "*", "operation": "READ", "permission": "ALLOW"}],
    }  # fmt: skip
    group = {
        "resource_type": "GROUP", "name": "g", "pattern_type": "LITERAL",
        "acls": [{"principal": "User:bob", "host": "::1", "operation": "ALL", "permission": "DENY"}],
    }  # fmt: skip
    run(service, "--list", "--output", "json")
    assert json.loads(capsys.readouterr().out) == [topic, group]
    run(service, "--list", "--principal", "User:bob", "--output", "json")
    assert json.loads(capsys.readouterr().out) == [group]
    run(service, "--list", "--topic", "none", "--output", "json")
    assert json.loads(capsys.readouterr().out) == []
    with pytest.raises(UsageError, match="--output"):
        check(parser().parse([*BOOT, "--add", "--topic", "t", *ALICE, "--output", "json"]))


def test_without_an_answer_nothing_is_removed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed() -> str:
        raise EOFError

    service = InMemory()
    run(service, "--add", "--topic", "t", *ALICE)
    monkeypatch.setattr("builtins.input", closed)
    capsys.readouterr()
    run(service, "--remove", "--topic", "t")
    assert capsys.readouterr().out.startswith(
        f"Are you sure you want to delete all ACLs for resource filter {TOPIC}? (y/n)\nCurrent ACLs"
    )
    assert len(service.kept) == 1
