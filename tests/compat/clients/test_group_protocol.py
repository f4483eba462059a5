"""The group protocol, request by request, on Apache's broker and on ours: the same answers, errors and states.

Scripts, played on both; member ids are renamed in the order in which they appear, since every broker makes up its own.
What differs on purpose is not in them: a second request of a member that waits already, which the classic leaves
without an answer; a leader of an old version among static members, for which it has none; subscriptions that are
none, with which its round never ends.
"""

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.testing.broker import AnyBroker
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.peers.apache import ApacheBroker, Jars
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.wire.messages.delete_groups import DeleteGroupsRequest
from kafka_py.wire.messages.describe_groups import DescribeGroupsRequest
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.heartbeat import HeartbeatRequest
from kafka_py.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_py.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafka_py.wire.messages.list_groups import ListGroupsRequest
from kafka_py.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

SETTINGS = {
    "group.min.session.timeout.ms": "1000",
    "group.initial.rebalance.delay.ms": "300",
    "group.max.size": "3",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "3",
}
TIMEOUT_S = 60
NO_TOPICS = b"\0\0" + b"\0\0\0\0" + b"\xff\xff\xff\xff"
RANGE = (("range", NO_TOPICS),)
BOTH = (("own", NO_TOPICS), ("range", NO_TOPICS))


class Script:
    """Plays requests on one broker and notes the answers.

    Each request may be on a connection of its own, for it may wait; `says` is what was answered so far.
    """

    def __init__(self, bootstrap: str) -> None:
        self.says: list[tuple[object, ...]] = []
        self._bootstrap = bootstrap
        self._clients: list[WireClient] = []
        self._names: dict[str, str] = {}
        self.generation: dict[str, int] = {}
        """Of each group, as the last join that succeeded said."""
        self._client = self._connect()

    def _connect(self) -> WireClient:
        client = WireClient(self._bootstrap)
        self._clients.append(client)
        return client

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def name_of(self, member_id: str) -> str:
        """The same on every broker: what stands before the random part, and a number."""
        if len(member_id) < 36:
            return member_id
        return self._names.setdefault(member_id, f"{member_id[:-36]}{len(self._names)}")

    def note(self, what: str, answer: Any, *more: object) -> None:
        self.says.append((what, ErrorCode(answer.error_code).name, *more))

    # ---- requests

    def coordinate(self, group: str) -> None:
        ends = time.monotonic() + TIMEOUT_S
        while time.monotonic() < ends:
            time.sleep(0.01)
            if self._client.ask(FindCoordinatorRequest(key=group), 3).error_code == ErrorCode.NONE:
                beat = HeartbeatRequest(group_id=group, generation_id=1, member_id="m")
                if self._client.ask(beat, 4).error_code == ErrorCode.UNKNOWN_MEMBER_ID:
                    return
        raise AssertionError("there is no coordinator")

    def join(self, group: str, member_id: str = "", version: int = 7, **fields: Any) -> Callable[[], str]:
        """Sends it; the call that comes back waits for the answer, notes it and returns the member id."""
        rebalance_ms = fields.pop("rebalance_ms", 60_000)
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=fields.pop("session_ms", 30_000),
            member_id=member_id,
            protocol_type=fields.pop("protocol_type", "consumer"),
            protocols=[
                JoinGroupRequestProtocol(name=name, metadata=metadata)
                for name, metadata in fields.pop("protocols", RANGE)
            ],
            **fields,
        )
        if version >= 1:
            request.rebalance_timeout_ms = rebalance_ms
        finish = self._connect().begin(request, version, client_id="c")

        def finished() -> str:
            answer = finish()
            if answer.error_code == ErrorCode.NONE:
                self.generation[group] = answer.generation_id
            members = sorted(
                (self.name_of(row.member_id), row.group_instance_id, row.metadata) for row in answer.members
            )
            self.note(
                f"join {group} v{version}", answer, answer.generation_id, answer.protocol_type, answer.protocol_name,
                self.name_of(answer.leader), self.name_of(answer.member_id), members,
            )  # fmt: skip
            return str(answer.member_id)

        return finished

    def sync(
        self, group: str, member_id: str, generation: int, plan: dict[str, bytes] | None = None, version: int = 5,
        **fields: Any,
    ) -> Callable[[], None]:  # fmt: skip
        if version >= 5:
            fields = {"protocol_type": "consumer", "protocol_name": "range", **fields}
        rows = [SyncGroupRequestAssignment(member_id=each, assignment=part) for each, part in (plan or {}).items()]
        request = SyncGroupRequest(
            group_id=group, generation_id=generation, member_id=member_id, assignments=rows, **fields
        )
        finish = self._connect().begin(request, version)

        def finished() -> None:
            answer = finish()
            self.note(f"sync {group}", answer, answer.protocol_type, answer.protocol_name, answer.assignment)

        return finished

    def beat(self, group: str, member_id: str, generation: int, instance: str | None = None) -> None:
        request = HeartbeatRequest(
            group_id=group, generation_id=generation, member_id=member_id, group_instance_id=instance
        )
        self.note(f"heartbeat {group}", self._client.ask(request, 4))

    def leave(self, group: str, *leavers: tuple[str, str | None]) -> None:
        rows = [MemberIdentity(member_id=member_id, group_instance_id=instance) for member_id, instance in leavers]
        answer = self._client.ask(LeaveGroupRequest(group_id=group, members=rows), 4)
        results = [
            (self.name_of(row.member_id), row.group_instance_id, ErrorCode(row.error_code).name)
            for row in answer.members
        ]
        self.note(f"leave {group}", answer, results)

    def leave_alone(self, group: str, member_id: str) -> None:
        self.note(f"leave v2 {group}", self._client.ask(LeaveGroupRequest(group_id=group, member_id=member_id), 2))

    def describe(self, group: str) -> str:
        request = DescribeGroupsRequest(groups=[group], include_authorized_operations=True)
        (found,) = self._client.ask(request, 5).groups
        members = sorted(
            (self.name_of(row.member_id), row.group_instance_id, row.client_id, row.client_host, row.member_metadata,
             row.member_assignment) for row in found.members
        )  # fmt: skip
        self.note(
            f"describe {group}", found, found.group_state, found.protocol_type, found.protocol_data, members,
            found.authorized_operations,
        )  # fmt: skip
        return str(found.group_state)

    def wait_state(self, group: str, state: str) -> None:
        """Until the group is in that state; not noted."""
        ends = time.monotonic() + TIMEOUT_S
        while time.monotonic() < ends:
            time.sleep(0.005)
            (found,) = self._client.ask(DescribeGroupsRequest(groups=[group]), 4).groups
            if found.group_state == state:
                return
        raise AssertionError(f"{group} is {found.group_state}, not {state}")

    def list_groups(self, prefix: str, *states: str) -> None:
        answer = self._client.ask(ListGroupsRequest(states_filter=list(states)), 4)
        rows = sorted(
            (row.group_id, row.protocol_type, row.group_state)
            for row in answer.groups
            if row.group_id.startswith(prefix)
        )
        self.note("list", answer, rows)

    def delete(self, *groups: str) -> None:
        answer = self._client.ask(DeleteGroupsRequest(groups_names=list(groups)), 2)
        self.says.append(("delete", *sorted((row.group_id, ErrorCode(row.error_code).name) for row in answer.results)))

    # ---- whole stories

    def stable(self, group: str, *instances: str | None) -> list[str]:
        """A stable group of such members (None: a dynamic one), in the order given; the first leads.

        One comes after the other, and those who are there join again: nothing depends on who is how fast.
        """
        self.coordinate(group)
        fields: list[dict[str, Any]] = [{} if name is None else {"group_instance_id": name} for name in instances]
        members: list[str] = []
        for number, newcomer in enumerate(fields):
            joins = [self.join(group, "" if newcomer else self.given_id(group), **newcomer)]
            if members:
                self.wait_state(group, "PreparingRebalance")
                joins += [self.join(group, member, **given) for member, given in zip(members, fields, strict=False)]
            members.append(joins[0]())
            for join in joins[1:]:
                join()
            plan = {member_id: f"work {index}".encode() for index, member_id in enumerate(members)}
            for member_id, given in list(zip(members, fields[: number + 1], strict=True)):
                plan_of_leader = plan if member_id == members[0] else None
                self.sync(group, member_id, self.generation[group], plan_of_leader, **given)()
        return members

    def given_id(self, group: str) -> str:
        """A new member id (KIP-394)."""
        return self.join(group)()


# ---- what is played


def refusals(script: Script) -> None:
    """Joins, syncs and heartbeats that cannot be."""
    for version in range(8):
        script.join("refused", "nobody", version)()
    script.join("", "")()
    for session_ms in (999, 1_800_001):
        script.join("refused", session_ms=session_ms)()
    script.join("refused", protocols=())()
    script.join("refused", protocol_type="")()
    script.sync("refused", "nobody", 1)()
    script.sync("", "nobody", 1)()
    script.beat("refused", "nobody", 1)
    script.beat("", "nobody", 1)
    script.leave("refused", ("nobody", None), ("", "nobody"))
    script.leave("", ("nobody", None))
    script.leave_alone("refused", "nobody")
    script.describe("refused-too")
    script.describe("")
    script.delete("refused-too", "", "refused-too")


def a_life(script: Script) -> None:
    """Two dynamic members from the first join to the empty group."""
    group = "life"
    one, two = script.stable(group, None, None)
    script.describe(group)
    script.list_groups("life")
    script.list_groups("life", "Empty", "Dead")
    script.list_groups("life", "stable")
    for member_id, generation in itertools.product((one, two, "nobody"), (1, 2, 3)):
        script.beat(group, member_id, generation)
        script.sync(group, member_id, generation)()
    script.sync(group, one, 2, protocol_name="own")()
    script.sync(group, one, 2, protocol_type="connect")()
    script.sync(group, one, 2, protocol_name=None)()
    script.join(group, two, protocols=(("own", NO_TOPICS),))()
    script.join(group, protocol_type="connect")()
    script.join(group, two)()
    script.delete(group)
    waiting = script.join(group, two, protocols=BOTH)
    script.wait_state(group, "PreparingRebalance")
    script.describe(group)
    script.beat(group, one, 2)
    script.sync(group, one, 2)()
    script.delete(group)
    script.join(group, one, protocols=BOTH)()
    waiting()
    script.describe(group)
    script.join(group, one, protocols=BOTH)()
    script.join(group, two, protocols=BOTH)()
    waiting_sync = script.sync(group, two, 3, protocol_name="own")
    script.beat(group, two, 3)
    script.sync(group, one, 3, {one: b"1"}, protocol_name="own")()
    waiting_sync()
    script.describe(group)
    script.leave(group, (two, None), ("nobody", None))
    script.wait_state(group, "PreparingRebalance")
    script.join(group, one)()
    script.leave_alone(group, one)
    script.wait_state(group, "Empty")
    script.describe(group)
    script.beat(group, one, 4)
    script.beat(group, one, 5)
    script.join(group, one)()
    script.delete(group)
    script.describe(group)


def member_ids(script: Script) -> None:
    """KIP-394, and a group that is full (KIP-389)."""
    group = "ids"
    script.coordinate(group)
    given = script.join(group)()
    script.describe(group)
    waiting = script.join(group, given)
    script.wait_state(group, "PreparingRebalance")
    waiting()
    script.sync(group, given, 1, {given: b"all"})()
    second = script.join(group, version=4)()
    script.leave(group, (second, None))
    script.join(group, second)()
    full = "full"
    script.stable(full, "h", "i", "j")
    script.join(full)()
    script.join(full, version=3)()
    script.describe(full)


def static_members(script: Script) -> None:
    """KIP-345."""
    group = "static"
    one, two = script.stable(group, "i", "j")
    script.describe(group)
    again = script.join(group, group_instance_id="j")()
    script.describe(group)
    for member_id, instance in itertools.product((two, again, one), ("i", "j", "k", None)):
        script.beat(group, member_id, 2, instance)
    script.join(group, two, group_instance_id="j")()
    script.join(group, again, group_instance_id="k")()
    script.sync(group, two, 2, group_instance_id="j")()
    script.sync(group, again, 2, group_instance_id="j")()
    leader = script.join(group, group_instance_id="i")()
    script.sync(group, leader, 2, group_instance_id="i")()
    script.leave(group, (two, "j"), ("", "nobody"), (again, "nobody"), ("", "i"))
    script.wait_state(group, "Empty")
    script.describe(group)


def static_members_that_change(script: Script) -> None:
    """A static member that comes back during a round, and one whose return changes the strategy."""
    group = "static-changes"
    one, two = script.stable(group, "i", "j")
    waiting = script.join(group, one, group_instance_id="i", protocols=BOTH)
    script.wait_state(group, "PreparingRebalance")
    again = script.join(group, group_instance_id="i", protocols=BOTH)
    waiting()
    script.join(group, two, group_instance_id="j", protocols=BOTH)()
    leader = again()
    waiting_sync = script.sync(group, two, 3, protocol_name="own", group_instance_id="j")
    script.beat(group, two, 3, "j")
    script.sync(group, leader, 3, {leader: b"1", two: b"2"}, protocol_name="own", group_instance_id="i")()
    waiting_sync()
    waiting = script.join(group, group_instance_id="j")
    script.wait_state(group, "PreparingRebalance")
    script.join(group, leader, group_instance_id="i", protocols=BOTH)()
    waiting()
    script.describe(group)
    waiting = script.join(group, group_instance_id="j")
    script.wait_state(group, "PreparingRebalance")
    script.leave(group, ("", "i"))
    waiting()
    script.describe(group)


def time_outs(script: Script) -> None:
    """A member without heartbeats, one that does not sync, one that does not join again."""
    group = "silent"
    script.coordinate(group)
    only = script.join(group, version=3, session_ms=1000)()
    script.sync(group, only, 1)()
    script.wait_state(group, "Empty")
    script.describe(group)
    script.beat(group, only, 1)
    group = "unsynced"
    script.coordinate(group)
    only = script.join(group, version=3, rebalance_ms=1000)()
    script.describe(group)
    script.wait_state(group, "Empty")
    script.describe(group)
    script.sync(group, only, 1)()
    group = "absent"
    script.coordinate(group)
    one = script.join(group, version=3, rebalance_ms=1000)()
    script.sync(group, one, 1)()
    newcomer = script.join(group, version=3, rebalance_ms=1000)
    script.wait_state(group, "PreparingRebalance")
    newcomer()
    script.describe(group)
    script.beat(group, one, 2)
    group = "absent-static"
    script.coordinate(group)
    one = script.join(group, group_instance_id="i", rebalance_ms=1000)()
    script.sync(group, one, 1, group_instance_id="i")()
    newcomer = script.join(group, group_instance_id="j", rebalance_ms=1000)
    script.wait_state(group, "PreparingRebalance")
    newcomer()
    script.describe(group)


PLAYS = [refusals, a_life, member_ids, static_members, static_members_that_change, time_outs]


@pytest.fixture(scope="module")
def ours(kafka_cluster_factory: Callable[..., KafkaCluster]) -> Iterator[AnyBroker]:
    with kafka_cluster_factory(settings=SETTINGS) as cluster:
        yield cluster.brokers[0]


@pytest.fixture(scope="module")
def theirs(apache_kafka: Jars, zookeeper: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnyBroker]:
    folder: Path = tmp_path_factory.mktemp("apache-groups")
    with ApacheBroker(folder, f"{zookeeper.connect}/group-protocol", settings=SETTINGS) as broker:
        yield broker


@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.__name__)
def test_apache_says_the_same(ours: AnyBroker, theirs: AnyBroker, play: Callable[[Script], None]) -> None:
    said = []
    for broker in (theirs, ours):
        script = Script(broker.bootstrap)
        try:
            script.coordinate("refused")
            play(script)
        finally:
            script.close()
        said.append(script.says)
    for apache, own in zip(*said, strict=True):
        assert own == apache
