"""The authorizer by ACLs: its cache, its settings, its audit log; an authorizer of the operator's own."""

import asyncio
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.net.principal import Principal
from kafka_py.security.acls import acl_authorizer
from kafka_py.security.acls.acl_authorizer import AclAuthorizer, allowed_without_acls, super_users_of
from kafka_py.security.acls.audit import TRACE, shown
from kafka_py.security.acls.authorization import ALLOW_ALL, Audit
from kafka_py.security.acls.bindings import AclBinding, AclEntry, ResourcePattern
from kafka_py.security.acls.index import AclIndex
from kafka_py.security.acls.plugin_authorizer import PluginAuthorizer
from kafka_py.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType

TOPIC, READ, WRITE = ResourceType.TOPIC, Operation.READ, Operation.WRITE
ALICE, ROOT = Principal("User", "alice"), Principal("User", "root")
FOO = ResourcePattern(TOPIC, "foo")
ALLOWS_ALICE = AclEntry("User:alice", "*", READ, Permission.ALLOW)


@dataclass
class Client:
    """Who asks."""

    principal: Principal = ALICE
    host: str = "10.0.0.1"
    request_name: str = "Fetch"


class Keeper:
    """ACLs that the test gives."""

    def __init__(self) -> None:
        self.index = AclIndex()
        self.index.put(FOO, [ALLOWS_ALICE], 0)


@pytest.fixture
def keeper() -> Keeper:
    return Keeper()


@pytest.fixture
def authorizer(keeper: Keeper) -> AclAuthorizer:
    return AclAuthorizer(cast(Any, keeper), [ROOT], allowed_without_acls=False)


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """What the audit log has got, with its levels."""
    found: list[str] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(f"{record.levelno} {record.getMessage()}")

    logger, handler = logging.getLogger("kafka.authorizer.logger"), Lines()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield found
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


def test_a_decision_is_made_once_until_an_acl_changes(
    authorizer: AclAuthorizer, keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def counted(*arguments: Any, **options: Any) -> Any:
        made.append(arguments[5])
        return decide(*arguments, **options)

    decide = acl_authorizer.decide
    monkeypatch.setattr(acl_authorizer, "decide", counted)
    for _ in range(3):
        assert authorizer.allows(Client(), READ, TOPIC, "foo")
        assert not authorizer.allows(Client(), READ, TOPIC, "bar")
    assert made == ["foo", "bar"]
    assert not authorizer.allows(Client(), WRITE, TOPIC, "foo")
    assert authorizer.allows(Client(host="10.0.0.2"), READ, TOPIC, "foo")
    assert not authorizer.allows(Client(Principal("User", "bob")), READ, TOPIC, "foo")
    keeper.index.put(FOO, [ALLOWS_ALICE], 1)
    assert authorizer.allows(Client(), READ, TOPIC, "foo")
    assert len(made) == 5
    keeper.index.put(FOO, [ALLOWS_ALICE._replace(permission=Permission.DENY)], 2)
    assert not authorizer.allows(Client(), READ, TOPIC, "foo")
    assert not authorizer.allows_on_any(Client(), READ, TOPIC)
    keeper.index.put(FOO, [], 3)
    keeper.index.put(ResourcePattern(TOPIC, "f", PatternType.PREFIXED), [ALLOWS_ALICE], 0)
    assert authorizer.allows(Client(), READ, TOPIC, "foo")
    assert authorizer.allows_on_any(Client(), READ, TOPIC)
    keeper.index.put(ResourcePattern(TOPIC, "f", PatternType.PREFIXED), [], 1)
    assert not authorizer.allows_on_any(Client(), READ, TOPIC), "asked first after the change"


def test_remembered_decisions_are_logged_whenever_the_level_asks_for_it(
    authorizer: AclAuthorizer, lines: list[str]
) -> None:
    logger = logging.getLogger("kafka.authorizer.logger")

    def logged() -> int:
        lines.clear()
        assert authorizer.allows(Client(), READ, TOPIC, "foo")
        return len(lines)

    assert [logged() for _ in range(3)] == [0, 0, 0]
    logger.setLevel(logging.DEBUG)
    assert [logged() for _ in range(2)] == [2, 2]
    logger.setLevel(logging.INFO)
    assert logged() == 0
    logger.setLevel(logging.NOTSET)
    root = logging.getLogger()
    before = root.level
    try:
        for level, expected in ((logging.WARNING, 0), (logging.DEBUG, 2), (logging.WARNING, 0)):
            root.setLevel(level)
            assert [logged() for _ in range(2)] == [expected] * 2
    finally:
        root.setLevel(before)


def test_hosts_are_compared_as_java_writes_addresses(authorizer: AclAuthorizer, keeper: Keeper) -> None:
    def may_read_from(host: str) -> bool:
        return authorizer.allows(Client(host=host), READ, TOPIC, "foo")

    keeper.index.put(FOO, [ALLOWS_ALICE._replace(host="0:0:0:0:0:0:0:1"), ALLOWS_ALICE._replace(host="10.0.0.1")], 1)
    assert may_read_from("::1")
    assert may_read_from("::ffff:10.0.0.1")
    assert [authorizer.allows_on_any(Client(host=host), READ, TOPIC) for host in ("::1", "::2")] == [True, False]
    keeper.index.put(FOO, [ALLOWS_ALICE._replace(host="::1")], 2)
    assert not may_read_from("::1")


def test_some_permissions_include_others_and_denials_do_not(authorizer: AclAuthorizer, keeper: Keeper) -> None:
    def allowed_with(operation: Operation, *more: AclEntry) -> set[Operation]:
        keeper.index.put(FOO, [ALLOWS_ALICE._replace(operation=operation), *more], 1)
        return {each for each in Operation if each > Operation.ALL and authorizer.allows(Client(), each, TOPIC, "foo")}

    describe, configs = Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS
    for operation in Operation:
        if operation <= Operation.ALL:
            continue
        included = {operation}
        if operation in (READ, WRITE, Operation.DELETE, Operation.ALTER):
            included.add(describe)
        if operation is Operation.ALTER_CONFIGS:
            included.add(configs)
        assert allowed_with(operation) == included
    denial = ALLOWS_ALICE._replace(permission=Permission.DENY)
    assert allowed_with(Operation.ALL, denial) == {each for each in Operation if each > Operation.ALL} - {READ}


def test_on_any_resource_a_literal_name_counts_unless_a_denied_prefix_begins_it(
    authorizer: AclAuthorizer, keeper: Keeper
) -> None:
    denial = ALLOWS_ALICE._replace(permission=Permission.DENY)
    for prefix, allowed in (("fo", False), ("foo", False), ("foox", True), ("oo", True)):
        denied = ResourcePattern(TOPIC, prefix, PatternType.PREFIXED)
        keeper.index.put(denied, [denial], 1)
        assert authorizer.allows_on_any(Client(), READ, TOPIC) is allowed
        keeper.index.put(denied, [], 2)


def test_the_cache_is_bounded_in_decisions_and_in_the_length_of_names(
    authorizer: AclAuthorizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acl_authorizer, "MOST_CACHED", 10)
    for number in range(100):
        authorizer.allows(Client(), READ, TOPIC, f"t{number}")
        authorizer.allows(Client(), READ, TOPIC, "x" * (1000 + number))
        assert len(authorizer._decisions) <= 10
        assert not [key for key in authorizer._decisions if len(str(key[4])) > 300]
    assert authorizer.allows(Client(), READ, TOPIC, "foo")


def test_super_users_may_do_everything(authorizer: AclAuthorizer) -> None:
    root = Client(ROOT)
    assert authorizer.allows(root, Operation.CLUSTER_ACTION, ResourceType.CLUSTER, "kafka-cluster")
    assert authorizer.allows_on_any(root, WRITE, TOPIC)
    assert not authorizer.allows(Client(Principal("Group", "root")), READ, TOPIC, "x")


def test_the_audit_log_shows_what_has_an_effect(
    authorizer: AclAuthorizer, keeper: Keeper, lines: list[str]
) -> None:
    of = "on resource = Topic:LITERAL"
    denied = "Principal = User:alice is Denied Operation = Write from host = 10.0.0.1"
    one = "for request = Fetch with resourceRefCount = 1"
    authorizer.allows(Client(), READ, TOPIC, "foo")
    authorizer.allows(Client(), WRITE, TOPIC, "foo")
    authorizer.allows(Client(), WRITE, TOPIC, "foo", Audit.IF_ALLOWED)
    authorizer.allows(Client(), WRITE, TOPIC, "foo", Audit.NEVER)
    authorizer.allows_on_any(Client(), WRITE, TOPIC)
    assert lines == [
        f"20 {denied} {of}:foo {one}",
        f"20 {denied} on resource = Topic:UNKNOWN:NONE for request = Fetch with resourceRefCount = 0",
    ]
    lines.clear()
    logging.getLogger("kafka.authorizer.logger").setLevel(logging.DEBUG)
    allowed = "Principal = User:alice is Allowed Operation = Read from host = 10.0.0.1"
    authorizer.allows(Client(), READ, TOPIC, "foo", Audit.IF_ALLOWED)
    authorizer.allows(Client(), READ, TOPIC, "foo", Audit.NEVER)
    authorizer.allows(Client(), READ, TOPIC, "bar", Audit.NEVER)
    based = "10 operation = READ on resource = foo from host = 10.0.0.1 is ALLOW based on acl ="
    assert [line.partition(" (")[0] for line in lines] == [
        based, f"10 {allowed} {of}:foo {one}", based, "10 No acl found for resource bar, authorized = false",
    ]  # fmt: skip
    lines.clear()
    logging.getLogger("kafka.authorizer.logger").setLevel(TRACE)
    authorizer.allows(Client(), WRITE, TOPIC, "foo", Audit.IF_ALLOWED)
    assert lines == [f"5 {denied} {of}:foo {one}"]


def test_a_name_cannot_forge_a_line_of_the_audit_log(authorizer: AclAuthorizer, lines: list[str]) -> None:
    authorizer.allows(Client(), READ, TOPIC, "a\nPrincipal = User:root is Allowed")
    authorizer.allows(Client(), READ, TOPIC, "a" * 100_000)
    assert [line.count("\n") for line in lines] == [0, 0]
    assert len(lines[1]) < 600
    assert shown("café") == "café"


def test_settings() -> None:
    assert super_users_of({}) == super_users_of({"super.users": " "}) == []
    assert super_users_of({"super.users": "User:CN=a,O=b; Group:x:y ;"}) == [
        Principal("User", "CN=a,O=b"), Principal("Group", "x:y"),
    ]  # fmt: skip
    with pytest.raises(ConfigError):
        super_users_of({"super.users": "User:a;b"})
    assert allowed_without_acls({"allow.everyone.if.no.acl.found": "TRUE"})
    assert not allowed_without_acls({})
    with pytest.raises(ConfigError):
        allowed_without_acls({"allow.everyone.if.no.acl.found": "1"})


class WithAcls:
    """A plug-in that goes by the rules for any resource that every plug-in has."""

    def allows(self, who: Client, _operation: Operation, _type: ResourceType, name: str, audit: Audit) -> bool:
        assert (name, audit) == ("hardcode", Audit.IF_ALLOWED), "a denial here has no effect by itself"
        return who.principal == ROOT

    def acls(self) -> list[AclBinding]:
        return [AclBinding(FOO, ALLOWS_ALICE)]


def test_a_plug_in_without_a_rule_for_any_resource_has_that_of_its_acls() -> None:
    plugin = PluginAuthorizer(WithAcls())
    assert plugin.allows_on_any(Client(), READ, TOPIC)
    assert not plugin.allows_on_any(Client(), WRITE, TOPIC)
    assert plugin.allows_on_any(Client(ROOT), WRITE, TOPIC)
    assert list(plugin.acls()) == [AclBinding(FOO, ALLOWS_ALICE)]
    with pytest.raises(KafkaError) as refused:
        asyncio.run(plugin.create_acls([]))
    assert refused.value.code is ErrorCode.INVALID_REQUEST
    asyncio.run(plugin.start())
    asyncio.run(plugin.close())


class Coroutine:
    """A plug-in whose answer is a coroutine, which is true whatever it would say."""

    async def allows(self, *_: object) -> bool:
        return False


class CoroutineOnAny(WithAcls):
    """The same for any resource."""

    async def allows_on_any(self, *_: object) -> bool:
        return False


@pytest.mark.parametrize("plugin", [Coroutine, CoroutineOnAny])
def test_a_plug_in_that_would_have_to_be_awaited_is_refused(plugin: type) -> None:
    with pytest.raises(ConfigError, match="must not be a coroutine function"):
        PluginAuthorizer.load(f"{__name__}:{plugin.__name__}", {})
    assert PluginAuthorizer.load(f"{__name__}:{WithAcls.__name__}", {}).allows_on_any(Client(), READ, TOPIC)


def test_the_acls_of_a_plug_in_have_hosts_as_java_writes_them() -> None:
    class Local(WithAcls):
        def acls(self) -> list[AclBinding]:
            denial = AclEntry("User:*", "0:0:0:0:0:0:0:1", READ, Permission.DENY)
            everything = ResourcePattern(TOPIC, "*")
            return [AclBinding(FOO, ALLOWS_ALICE), AclBinding(everything, denial)]

    plugin = PluginAuthorizer(Local())
    assert plugin.allows_on_any(Client(), READ, TOPIC)
    assert not plugin.allows_on_any(Client(host="::1"), READ, TOPIC)


def test_the_authorizer_of_the_security_page() -> None:
    page = (Path(__file__).parents[4] / "docs" / "security.md").read_text()
    (code,) = [each for each in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "OnlyReaders" in each]
    names: dict[str, Any] = {}
    exec(code, names)
    made = names["OnlyReaders"]()
    made.configure({"my.writers": "root"})
    plugin = PluginAuthorizer(made)
    assert [plugin.allows(Client(who), WRITE, TOPIC, "t", Audit.ALWAYS) for who in (ALICE, ROOT)] == [False, True]
    assert plugin.allows(Client(), READ, TOPIC, "t")


def test_without_an_authorizer_there_are_no_acls() -> None:
    assert ALLOW_ALL.allows_on_any(Client(), WRITE, TOPIC)
    for work in (ALLOW_ALL.create_acls([]), ALLOW_ALL.delete_acls([])):
        with pytest.raises(KafkaError) as refused:
            asyncio.run(cast(Any, work))
        assert refused.value.code is ErrorCode.SECURITY_DISABLED
