"""What is denied looks the same on our broker and on Apache's, whose ACLs deny the same: row by row of the table."""

from pathlib import Path
from typing import Any

import pytest
from authorization_cases import CASES, Case, request_of, rows, tops

from kafka_py.base.errors import ErrorCode
from kafka_py.security.acls.vocabulary import CLUSTER_NAME, EVERYONE, WILDCARD, Operation, Permission, ResourceType
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers.apache import ApacheBroker, Jars
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.messages.create_acls import AclCreation, CreateAclsRequest
from kafka_py.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol

SETTINGS = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "num.partitions": "1",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "delegation.token.master.key": "token-secret",
}


OTHER_TYPE = [{"resource_type": 3, "resource_name": "x", "configs": []},
              {"resource_type": 2, "resource_name": "t", "configs": []}]  # fmt: skip
NOT_ALLOWED = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
NEVER = [
    Case(ApiKey.SASL_HANDSHAKE, "never", {"mechanism": "PLAIN"}, (), tops("error_code", "mechanisms"), (34, [])),
    Case(ApiKey.SASL_AUTHENTICATE, "never", {"auth_bytes": b"x"}, (), tops("error_code", "auth_bytes"), (34, b"")),
    Case(ApiKey.DESCRIBE_CONFIGS, "any other type", {"resources": OTHER_TYPE}, (),
         rows("results", "error_code", "configs"), [(42, []), (42, [])]),
    Case(ApiKey.ALTER_CONFIGS, "any other type", {"resources": OTHER_TYPE}, (), rows("responses", "error_code"),
         [(42,), (42,)]),
    Case(ApiKey.INCREMENTAL_ALTER_CONFIGS, "any other type", {"resources": OTHER_TYPE}, (),
         rows("responses", "error_code"), [(42,), (42,)]),
    Case(ApiKey.CREATE_DELEGATION_TOKEN, "on a plain listener", {"renewers": [], "max_lifetime_ms": -1}, (),
         tops("error_code", "issue_timestamp_ms", "expiry_timestamp_ms", "max_timestamp_ms", "token_id", "hmac"),
         (NOT_ALLOWED, -1, -1, -1, "", b"")),
    Case(ApiKey.RENEW_DELEGATION_TOKEN, "on a plain listener", {"hmac": b"x", "renew_period_ms": 1}, (),
         tops("error_code", "expiry_timestamp_ms"), (NOT_ALLOWED, -1)),
    Case(ApiKey.EXPIRE_DELEGATION_TOKEN, "on a plain listener", {"hmac": b"x", "expiry_time_period_ms": 1}, (),
         tops("error_code", "expiry_timestamp_ms"), (NOT_ALLOWED, -1)),
    Case(ApiKey.DESCRIBE_DELEGATION_TOKEN, "on a plain listener", {"owners": None}, (), tops("error_code", "tokens"),
         (NOT_ALLOWED, [])),
]
"""Rows of the table without an operation: what no ACL changes. Tokens on listeners with logins have tests of their own
(tests/compat/tools/test_delegation_token_tools.py).
"""


def acl(kind: ResourceType, operation: Operation, permission: Permission) -> AclCreation:
    name = CLUSTER_NAME if kind is ResourceType.CLUSTER else WILDCARD
    return AclCreation(
        resource_type=kind, resource_name=name, resource_pattern_type=3, principal=EVERYONE, host=WILDCARD,
        operation=operation, permission_type=permission,
    )  # fmt: skip


def denied(client: WireClient, case: Case) -> Any:
    """What the case sees while ACLs deny what it says, and allow everything else on such resources."""
    kinds = dict.fromkeys(kind for _, kind in case.denied)
    creations = [acl(kind, Operation.ALL, Permission.ALLOW) for kind in kinds]
    # The cluster last: it may be ALTER that is denied.
    creations += [acl(kind, operation, Permission.DENY) for operation, kind in case.denied]
    for row in client.ask(CreateAclsRequest(creations=creations), 2).results:
        assert row.error_code == ErrorCode.NONE, row
    version = APIS[case.api].max_version if case.version is None else case.version
    return case.see(client.ask(request_of(case), version))


def forget(client: WireClient) -> None:
    """Removes all ACLs."""
    everything = DeleteAclsFilter(
        resource_type_filter=1, resource_name_filter=None, pattern_type_filter=1, principal_filter=None,
        host_filter=None, operation=1, permission_type=1,
    )  # fmt: skip
    (result,) = client.ask(DeleteAclsRequest(filters=[everything]), 2).filter_results
    assert result.error_code == ErrorCode.NONE, result


def prepare(broker: Any) -> None:
    """A topic, a member of the group g, a coordinator for the transactional id x."""
    broker.create_topic("t", 1)
    with WireClient(broker.bootstrap) as client:
        for key, key_type in (("g", 0), ("x", 1)):
            broker.wait_for(
                lambda key=key, kind=key_type: not client.ask(
                    FindCoordinatorRequest(key=key, key_type=kind), 3
                ).error_code,
                30, f"the coordinator of {key}",
            )  # fmt: skip
        protocol = JoinGroupRequestProtocol(name="p", metadata=b"")
        join = JoinGroupRequest(
            group_id="g", session_timeout_ms=30_000, member_id="", protocol_type="consumer", protocols=[protocol]
        )
        broker.wait_for(lambda: not client.ask(join, 3).error_code, 30, "the group")


def alters_the_cluster(case: Case) -> bool:
    return (Operation.ALTER, ResourceType.CLUSTER) in case.denied


def seen_by(broker: Any) -> dict[str, Any]:
    """What each case sees; those that deny ALTER on the cluster come last, for ACLs cannot be removed after that."""
    found = {}
    with WireClient(broker.bootstrap) as client:
        ordered = sorted(CASES, key=alters_the_cluster)
        for case in ordered:
            found[f"{case.api.name} {case.when}"] = denied(client, case) if not alters_the_cluster(case) else None
            if not alters_the_cluster(case):
                forget(client)
        last = [case for case in ordered if alters_the_cluster(case)]
        denied(client, last[0])
        for case in last:
            version = APIS[case.api].max_version if case.version is None else case.version
            found[f"{case.api.name} {case.when}"] = case.see(client.ask(request_of(case), version))
        for case in NEVER:
            with WireClient(broker.bootstrap) as another:
                answer = another.ask(request_of(case), APIS[case.api].max_version)
                found[f"{case.api.name} {case.when}"] = case.see(answer)
    return found


@pytest.mark.slow
@pytest.mark.core
@pytest.mark.timeout(300)
def test_refusals_are_those_of_apache(apache_kafka: Jars, zk_chroot: str, tmp_path: Path) -> None:
    del apache_kafka
    with (
        ApacheBroker(tmp_path / "apache", f"{zk_chroot}/apache", settings=SETTINGS) as apache,
        BrokerProcess(tmp_path / "ours", f"{zk_chroot}/ours", settings=SETTINGS) as ours,
    ):
        for broker in (apache, ours):
            prepare(broker)
        theirs, mine = seen_by(apache), seen_by(ours)
        assert {name: found for name, found in mine.items() if found != theirs[name]} == {}
        expected = {f"{case.api.name} {case.when}": case.looks for case in (*CASES, *NEVER)}
        assert {name: found for name, found in theirs.items() if found != expected[name]} == {}
