"""LeaderAndIsr and StopReplica on the receiving side (docs/reference/controller.md, section 13)."""

import asyncio
import uuid
from collections.abc import Coroutine
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ZERO_UUID, TopicPartition
from kafka_py.log.model.configs import LogConfig
from kafka_py.replication.role_changes import RoleCallbacks, RoleChanges
from kafka_py.replication.role_orders import RoleRequest, StopRequest
from kafka_py.replication.state.partition import Partition
from kafka_py.replication.state.reads import FetchEntry
from kafka_py.testing.fakes.replicas import ReplicaWorld, role
from kafka_py.zk.session import SessionExpired
from kafka_py.zk.topics import TopicIdentity

T0 = TopicPartition("t", 0)
ID, OTHER_ID = uuid.UUID(int=1), uuid.UUID(int=2)


class Roles:
    """RoleChanges over a ReplicaWorld; broker 2 is alive, broker 3 is not."""

    def __init__(self) -> None:
        self.world = ReplicaWorld()
        self.started: list[Partition] = []
        self.stopped_following: list[TopicPartition] = []
        self.stopped: list[tuple[TopicPartition, bool]] = []
        self.identities: dict[str, TopicIdentity] = {}
        """What ZooKeeper says of a topic's id; without a row it cannot be asked."""
        self.changes = RoleChanges(
            self.world.manager,
            self.world.clock,
            is_live=lambda broker: broker == 2,
            log_config=lambda _topic: LogConfig.for_topic(),
            topic_identity=self.identity,
            callbacks=RoleCallbacks(
                on_become_follower=(self.started.extend,),
                on_stop_following=(self.stopped_following.extend,),
                on_stopped=(self.stopped.extend,),
            ),
        )

    async def identity(self, topic: str) -> TopicIdentity:
        if topic not in self.identities:
            raise SessionExpired
        return self.identities[topic]

    def become(self, state: Any, topic_id: uuid.UUID = ZERO_UUID, controller_epoch: int = 1) -> ErrorCode:
        outcome = run(self.changes.become(9, controller_epoch, [RoleRequest(T0, topic_id, state)]))
        return outcome[T0]

    def stop(self, leader_epoch: int, *, delete: bool = True) -> ErrorCode:
        return run(self.changes.stop(9, 1, [StopRequest(T0, leader_epoch, delete)]))[T0]


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(coroutine)


@pytest.fixture
def roles() -> Roles:
    return Roles()


def test_a_new_partition_gets_a_log_and_its_first_epoch(roles: Roles) -> None:
    assert roles.become(role(is_new=True), ID) is ErrorCode.NONE
    partition = roles.world.partition(T0)
    assert partition.is_leader and partition.leader_epoch == 0 and partition.topic_id == ID
    assert roles.world.log_dirs.logs[T0].epochs.latest == 0


def test_an_older_controller_is_refused_as_a_whole_and_the_highest_is_remembered(roles: Roles) -> None:
    roles.become(role(), controller_epoch=5)
    with pytest.raises(KafkaError) as error:
        roles.become(role(epoch=1), controller_epoch=4)
    assert error.value.code is ErrorCode.STALE_CONTROLLER_EPOCH
    with pytest.raises(KafkaError):
        run(roles.changes.stop(9, 4, []))
    assert roles.changes.controller_epoch == 5


def test_a_new_leader_syncs_what_flush_messages_wanted_while_it_followed(roles: Roles) -> None:
    """Else the high watermark stays where it is until somebody appends."""
    roles.become(role(leader=2, isr=(2, 1)))
    log = roles.world.log_dirs.logs[T0]
    log.append_as_leader(memoryview(b"abc"), 0, 0)
    log.held_end = 0
    assert roles.become(role(epoch=1)) is ErrorCode.NONE
    assert log.high_watermark == 0
    log.flushes.pop()(True)
    assert log.high_watermark == 3


def test_a_follower_whose_directory_fails_while_the_others_change_is_not_fetched(
    roles: Roles, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = TopicPartition("t", 1)
    create = roles.world.log_dirs.get_or_create

    def fail_with_the_directory(topic_partition: TopicPartition, *arguments: Any, **named: Any) -> Any:
        if topic_partition == other:
            roles.world.manager.mark_offline([T0])
        return create(topic_partition, *arguments, **named)

    monkeypatch.setattr(roles.world.log_dirs, "get_or_create", fail_with_the_directory)
    requests = [
        RoleRequest(one, ZERO_UUID, role(leader=2, isr=(2,), replicas=(1, 2), partition=one.partition))
        for one in (T0, other)
    ]
    run(roles.changes.become(9, 1, requests))
    assert [partition.topic_partition for partition in roles.started] == [other]


def test_another_topic_id_is_refused_and_none_at_all_is_not_checked(roles: Roles) -> None:
    roles.become(role(), ID)
    assert roles.become(role(epoch=1), OTHER_ID) is ErrorCode.INCONSISTENT_TOPIC_ID
    assert roles.become(role(epoch=1), ZERO_UUID) is ErrorCode.NONE
    assert roles.world.partition(T0).topic_id == ID


def test_a_topic_id_that_comes_later_is_the_logs_too(roles: Roles) -> None:
    """As when inter.broker.protocol.version was raised: the directory is tied to the topic at once."""
    roles.become(role())
    log = roles.world.log_dirs.logs[T0]
    assert log.topic_id is None
    assert roles.become(role(epoch=1), ID) is ErrorCode.NONE
    assert roles.world.partition(T0).topic_id == log.topic_id == ID


def test_a_follower_fetches_from_its_leader_and_a_leader_from_nobody(roles: Roles) -> None:
    roles.become(role(leader=2, isr=(2, 1)))
    assert [partition.leader_id for partition in roles.started] == [2]
    roles.become(role(epoch=1))
    assert roles.stopped_following == [T0, T0]
    assert len(roles.started) == 1


def test_what_is_parked_on_a_partition_is_answered_when_it_becomes_a_follower(roles: Roles) -> None:
    world = roles.world
    roles.become(role(isr=(1, 2)))
    world.append(T0, acks=-1)
    world.fetch(FetchEntry(T0, 3, 100))
    roles.become(role(leader=2, epoch=1, isr=(2, 1)))
    assert world.appended[0][0].error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert world.fetched[0][0][1].error is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_disk_that_fails_is_that_partitions_error(roles: Roles) -> None:
    roles.world.log_dirs.failure = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
    assert roles.become(role()) is ErrorCode.KAFKA_STORAGE_ERROR
    assert T0 not in roles.world.manager.hosted.partitions


def test_a_replica_is_deleted_in_the_epoch_in_which_it_was_added(roles: Roles) -> None:
    """KAFKA-13972: a reassignment that is cancelled before the new replica is in sync raises no epoch."""
    roles.become(role(leader=2, epoch=3, isr=(2,), replicas=(2, 1)))
    assert roles.stop(3) is ErrorCode.NONE
    assert roles.world.log_dirs.deleted == [T0]
    assert T0 not in roles.world.manager.hosted.partitions


def test_a_log_of_another_topic_goes_with_the_cancelled_move_that_met_it(roles: Roles) -> None:
    """It could not be told whether the log is stale: the move cannot end, but once cancelled the next one does."""
    roles.world.log_dirs.get_or_create(T0, topic_id=OTHER_ID)
    added = role(leader=2, epoch=1, isr=(2,), replicas=(2, 1), is_new=True)
    assert roles.become(added, ID) is ErrorCode.INCONSISTENT_TOPIC_ID
    assert roles.stop(1) is ErrorCode.NONE
    assert roles.world.log_dirs.deleted == [T0]
    assert roles.become(role(leader=2, epoch=2, isr=(2,), replicas=(2, 1), is_new=True), ID) is ErrorCode.NONE
    assert roles.world.log_dirs.logs[T0].topic_id == ID


class TestADirectoryOfADeletedTopic:
    """Left behind with three records of topic OTHER_ID, while LeaderAndIsr names ID."""

    @pytest.fixture
    def roles(self, roles: Roles) -> Roles:
        roles.world.log_dirs.get_or_create(T0, topic_id=OTHER_ID).append_as_leader(memoryview(b"abc"), 7, 0)
        roles.identities["t"] = TopicIdentity(ID, is_original=True)
        return roles

    def kept(self, roles: Roles) -> bool:
        log = roles.world.log_dirs.logs[T0]
        return not roles.world.log_dirs.deleted and log.topic_id == OTHER_ID and log.log_end_offset == 3

    @pytest.mark.parametrize("leader", [1, 2], ids=["to lead", "to follow"])
    def test_it_goes_and_the_role_is_taken(self, roles: Roles, leader: int, caplog: pytest.LogCaptureFixture) -> None:
        assert roles.become(role(leader=leader, isr=(leader,), replicas=(2, 1)), ID) is ErrorCode.NONE
        assert roles.world.log_dirs.deleted == [T0]
        log = roles.world.log_dirs.logs[T0]
        assert (log.topic_id, log.log_end_offset) == (ID, 0)
        assert roles.world.partition(T0).topic_id == ID
        (warning,) = [record for record in caplog.records if record.levelname == "WARNING"]
        assert all(text in warning.getMessage() for text in (str(ID), str(OTHER_ID), "/logs/t-0"))

    def test_it_stays_unless_zookeeper_has_the_id_that_was_named(self, roles: Roles) -> None:
        """The request was under way for long, or comes from a former controller; or nobody can be asked."""
        for present in (
            TopicIdentity(OTHER_ID, True),
            TopicIdentity(uuid.UUID(int=3), True),
            TopicIdentity(None, True),
        ):
            roles.identities["t"] = present
            assert roles.become(role(is_new=True), ID) is ErrorCode.INCONSISTENT_TOPIC_ID
        roles.identities.clear()
        assert roles.become(role(is_new=True), ID) is ErrorCode.INCONSISTENT_TOPIC_ID
        assert self.kept(roles)

    def test_it_stays_where_the_same_topic_may_have_got_another_id(self, roles: Roles) -> None:
        """KAFKA-14190: an older tool drops the id from the znode, and the controller makes another one."""
        roles.identities["t"] = TopicIdentity(ID, is_original=False)
        assert roles.become(role(), ID) is ErrorCode.INCONSISTENT_TOPIC_ID
        assert roles.become(role(leader=2, isr=(2,), replicas=(2, 1)), ID) is ErrorCode.INCONSISTENT_TOPIC_ID
        assert self.kept(roles)

    def test_it_goes_for_a_replica_that_is_only_being_added(self, roles: Roles) -> None:
        roles.identities["t"] = TopicIdentity(ID, is_original=False)
        added = role(leader=2, isr=(2,), replicas=(2, 1), is_new=True)
        assert roles.become(added, ID) is ErrorCode.NONE
        assert roles.world.log_dirs.deleted == [T0]

    def test_it_stays_if_it_is_announced_as_new_but_in_sync(self, roles: Roles) -> None:
        """A controller that takes over during a reassignment announces all replicas that are being added once more."""
        roles.identities["t"] = TopicIdentity(ID, is_original=False)
        again = role(leader=2, epoch=1, isr=(2, 1), is_new=True)
        assert roles.become(again, ID) is ErrorCode.INCONSISTENT_TOPIC_ID
        assert self.kept(roles)
        created = role(leader=2, epoch=0, isr=(2, 1), is_new=True)
        assert roles.become(created, ID) is ErrorCode.NONE
        assert roles.world.log_dirs.deleted == [T0]

    def test_it_goes_if_nothing_was_ever_written_to_it(self, roles: Roles) -> None:
        del roles.world.log_dirs.logs[T0]
        roles.world.log_dirs.get_or_create(T0, topic_id=OTHER_ID)
        roles.identities["t"] = TopicIdentity(ID, is_original=False)
        assert roles.become(role(), ID) is ErrorCode.NONE
        assert roles.world.log_dirs.deleted == [T0]

    def test_it_stays_for_an_older_controller_and_for_who_is_no_replica(self, roles: Roles) -> None:
        assert roles.become(role(leader=2, isr=(2,)), ID, 5) is ErrorCode.INCONSISTENT_TOPIC_ID
        with pytest.raises(KafkaError):
            roles.become(role(), ID, controller_epoch=4)
        assert self.kept(roles)

    def test_without_an_id_on_either_side_nothing_goes(self, roles: Roles) -> None:
        assert roles.become(role(), ZERO_UUID) is ErrorCode.NONE
        assert self.kept(roles)
        roles.stop(-2)
        roles.world.log_dirs.get_or_create(T0).append_as_leader(memoryview(b"abc"), 0, 0)
        assert roles.become(role(), ID) is ErrorCode.NONE
        assert roles.world.log_dirs.deleted == [T0]
        assert roles.world.log_dirs.logs[T0].log_end_offset == 3

    def test_a_partition_that_is_led_under_the_former_id_is_given_up_first(self, roles: Roles) -> None:
        """Its broker missed the deletion. Whatever epoch it had, the new topic begins with its own."""
        roles.become(role(epoch=9), OTHER_ID)
        former = roles.world.partition(T0)
        assert roles.become(role(leader=2, isr=(2,), replicas=(2, 1)), ID) is ErrorCode.NONE
        assert not former.is_leader
        assert roles.stopped == [(T0, True)]
        assert roles.started == [roles.world.partition(T0)] != [former]

    def test_a_disk_that_refuses_is_that_partitions_error(self, roles: Roles, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(_: TopicPartition) -> None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "cannot rename")

        monkeypatch.setattr(roles.world.log_dirs, "delete", refuse)
        assert roles.become(role(), ID) is ErrorCode.KAFKA_STORAGE_ERROR
        assert T0 not in roles.world.manager.hosted.partitions


class TestOnePartitionOfSeveralFails:
    """Whatever befalls t-0, t-1 and t-2 change their roles, and everybody is told."""

    ALL = tuple(TopicPartition("t", number) for number in range(3))

    @pytest.fixture(
        params=[
            (KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "cannot rename"), ErrorCode.KAFKA_STORAGE_ERROR),
            (OSError(5, "input/output error"), ErrorCode.KAFKA_STORAGE_ERROR),
            (ZeroDivisionError("nobody foresaw this"), ErrorCode.UNKNOWN_SERVER_ERROR),
        ],
        ids=["a refusal", "a disk error", "a bug"],
    )
    def failure(self, request: pytest.FixtureRequest) -> tuple[Exception, ErrorCode]:
        return request.param  # type: ignore[no-any-return]

    def become(self, roles: Roles, **more: Any) -> dict[TopicPartition, ErrorCode]:
        requests = [RoleRequest(one, ZERO_UUID, role(partition=one.partition, **more)) for one in self.ALL]
        return run(roles.changes.become(9, 1, requests))  # type: ignore[no-any-return]

    def failing(self, monkeypatch: pytest.MonkeyPatch, target: Any, name: str, error: Exception) -> None:
        original = getattr(target, name)

        def fail(first: Any, *arguments: Any, **named: Any) -> Any:
            if first == T0:
                raise error
            return original(first, *arguments, **named)

        monkeypatch.setattr(target, name, fail)

    def expected(self, code: ErrorCode) -> dict[TopicPartition, ErrorCode]:
        return {**dict.fromkeys(self.ALL, ErrorCode.NONE), T0: code}

    def test_to_stop(self, roles: Roles, failure: tuple[Exception, ErrorCode], monkeypatch: pytest.MonkeyPatch) -> None:
        error, code = failure
        self.become(roles)
        self.failing(monkeypatch, roles.world.log_dirs, "delete", error)
        outcome = run(roles.changes.stop(9, 1, [StopRequest(one, -2, True) for one in self.ALL]))
        assert outcome == self.expected(code)
        assert roles.world.log_dirs.deleted == [*self.ALL[1:]]
        assert not roles.world.manager.hosted.partitions
        assert roles.stopped == [(one, True) for one in self.ALL]

    @pytest.mark.parametrize("leader", [1, 2], ids=["to lead", "to follow"])
    def test_to_lead_and_to_follow(
        self,
        roles: Roles,
        leader: int,
        failure: tuple[Exception, ErrorCode],
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        error, code = failure
        self.failing(monkeypatch, roles.world.log_dirs, "get_or_create", error)
        assert self.become(roles, leader=leader, isr=(1, 2)) == self.expected(code)
        assert set(roles.world.manager.hosted.partitions) == set(self.ALL[1:])
        assert [partition.topic_partition for partition in roles.started] == ([] if leader == 1 else [*self.ALL[1:]])
        tracebacks = [record.exc_info[0] for record in caplog.records if record.exc_info]
        assert tracebacks == ([ZeroDivisionError] if code is ErrorCode.UNKNOWN_SERVER_ERROR else [])


def test_deleting_forgets_the_partition_and_removes_its_log(roles: Roles) -> None:
    roles.become(role())
    partition = roles.world.partition(T0)
    assert roles.stop(-2) is ErrorCode.NONE
    assert roles.world.log_dirs.deleted == [T0]
    assert T0 not in roles.world.manager.hosted.partitions
    assert not partition.is_leader
    assert roles.stopped == [(T0, True)]


def test_the_last_partition_of_a_topic_takes_its_metrics_along(roles: Roles) -> None:
    """A reader that comes between the news of the deletion and the deletion itself has them made once more."""
    roles.become(role())
    metrics = roles.world.metrics
    metrics.drop_topic("t")
    before = len(roles.world.registry.tables())
    roles.world.fetch(FetchEntry(T0, 0, 1000), max_wait_ms=0)
    assert len(roles.world.registry.tables()) == before + 1
    assert roles.stop(-2) is ErrorCode.NONE
    assert len(roles.world.registry.tables()) == before


def test_stopping_an_unknown_partition_removes_left_over_files(roles: Roles) -> None:
    roles.world.log_dirs.get_or_create(T0)
    assert roles.stop(5) is ErrorCode.NONE
    assert roles.world.log_dirs.deleted == [T0]
