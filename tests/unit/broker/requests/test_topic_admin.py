"""How topics are made and extended: the checks in their order, the znodes that come out, the policy plug-in."""

import asyncio
import contextlib
import gc
import re
import weakref
from functools import partial
from itertools import pairwise

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.base.placement import MOST_REPLICAS, BrokerRack
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.topic_admin import (
    FRESH_MS,
    GrowthBasis,
    PlannedTopic,
    RackMode,
    TopicAdmin,
    TopicToCreate,
    registered_brokers,
)
from kafka_py.controller.assignment_checks import PARTITION, STEP_REPLICAS
from kafka_py.controller.configs import ControllerOptions
from kafka_py.controller.topic_policy import PolicyViolation, RequestMetadata, load_policy
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.virtual_time import run_virtual
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.zk.config_znodes import ConfigZNode
from kafka_py.zk.session import ConnectionLoss
from kafka_py.zk.store import ZkStore
from kafka_py.zk.topics import STEP_PARTITIONS, ReplicaAssignment, TopicAssignment
from kafka_py.zk.znodes import BrokerEndpoint, BrokerIdZNode, TopicZNode


class AtLeastTwoReplicas:
    """A site's policy."""

    seen: list = []

    def configure(self, configs):
        self.least = int(configs.get("least", 2))

    def validate(self, request):
        self.seen.append(request)
        if request.replication_factor is not None and request.replication_factor < self.least:
            raise PolicyViolation(f"topic {request.topic} needs {self.least} replicas")


class World:
    """A ZooKeeper with three registered brokers, and a TopicAdmin."""

    def __init__(self, properties=None, known=(), policy=None, racks=()):
        self.zookeeper = FakeZookeeper()
        self.clock = ManualClock()
        self.store = ZkStore(self.zookeeper.session())
        self.config = ControllerOptions.parse(properties)
        self.racks = dict(racks)
        self.brokers = [BrokerRack(id_, self.racks.get(id_)) for id_ in (0, 1, 2)]
        self.known = set(known)
        self.queued = set()
        self.admin = TopicAdmin(
            self.store, lambda: self.config, live_brokers=lambda: self.brokers, validate_configs=self.validate,
            exists=self.known.__contains__, is_queued=self.queued.__contains__, policy=policy,
            chance=Chance(5), clock=self.clock,
        )  # fmt: skip

    @staticmethod
    def validate(configs):
        if "bad.setting" in configs:
            raise ConfigError("bad.setting")

    async def open(self):
        await self.store.session.connect()
        await self.store.brokers.ensure_top_level_paths()
        for id_ in (0, 1, 2):
            endpoint = BrokerEndpoint("PLAINTEXT", "PLAINTEXT", f"h{id_}", 9092)
            rack = self.racks.get(id_)
            registration = BrokerIdZNode.of([endpoint], jmx_port=-1, timestamp_ms=0, version=5, rack=rack)
            await self.store.brokers.register(id_, registration)
        return self

    def topic(self, name):
        return TopicZNode.decode(self.zookeeper.tree()[f"/brokers/topics/{name}"])


class CountedTurn(Turn):
    """asked: how often the work has asked whether its turn is over."""

    def __init__(self):
        super().__init__(ManualClock())
        self.asked = 0

    async def maybe_yield(self):
        self.asked += 1
        await super().maybe_yield()


def run(scenario, **given):
    async def main():
        return await scenario(await World(**given).open())

    return run_virtual(main())


async def another_broker(world):
    """Its TopicAdmin, with a session of its own."""
    session = world.zookeeper.session()
    await session.connect()
    return TopicAdmin(
        ZkStore(session), lambda: world.config, live_brokers=lambda: world.brokers, validate_configs=world.validate,
        chance=Chance(6), clock=ManualClock(),
    )  # fmt: skip


async def refusal(call):
    with pytest.raises(KafkaError) as caught:
        await call
    return caught.value.code


def test_we4_2_an_explicit_assignment_is_taken_as_it_is():
    """WE4-2: `topic-create-same` with `--replica-assignment 2:0,0:1,1:2,2:1`."""

    async def scenario(world):
        wanted = {0: [2, 0], 1: [0, 1], 2: [1, 2], 3: [2, 1]}
        made = await world.admin.create(TopicToCreate("topic-create-same", assignment=wanted))
        assert (made.partitions, made.replication_factor) == (4, 2)
        stored = world.topic("topic-create-same")
        assert (stored.partitions, stored.topic_id) == (wanted, made.topic_id)

    run(scenario)


@pytest.mark.parametrize(
    "assignment", [{0: [0, 0], 1: [1, 1]}, {0: [0, 1], 1: [0], 2: [1, 0]}, {0: [0, 1], 2: [0, 1]}, {1: [0]}, {0: []}]
)
def test_we4_3_malformed_assignments_are_refused(assignment):
    """WE4-3: `0:0,1:1`, `0:1,0,1:0` and `0:1,,0:1,1:0` are rejected."""

    async def scenario(world):
        assert await refusal(world.admin.create(TopicToCreate("t", assignment=assignment))) is (
            ErrorCode.INVALID_REPLICA_ASSIGNMENT
        )

    run(scenario)


def test_we4_4_configs_are_stored_beside_the_topic():
    """WE4-4: `topic-config` with cleanup.policy=compact and max.message.bytes=10000."""

    async def scenario(world):
        configs = {"cleanup.policy": "compact", "max.message.bytes": "10000"}
        await world.admin.create(TopicToCreate("topic-config", 1, 1, configs=configs))
        assert ConfigZNode.decode(world.zookeeper.tree()["/config/topics/topic-config"]).config == configs
        assert not [path for path in world.zookeeper.tree() if path.startswith("/config/changes/")]
        await world.admin.create(TopicToCreate("plain", 1, 1))
        assert ConfigZNode.decode(world.zookeeper.tree()["/config/topics/plain"]).config == {}

    run(scenario)


def test_we4_5_an_existing_topic_is_refused_wherever_it_is_known():
    """WE4-5: create topic-create again: TopicExistsException."""

    async def scenario(world):
        await world.admin.create(TopicToCreate("t", 1, 1))
        assert await refusal(world.admin.create(TopicToCreate("t", 1, 1))) is ErrorCode.TOPIC_ALREADY_EXISTS
        assert await refusal(world.admin.create(TopicToCreate("cached", 1, 1))) is ErrorCode.TOPIC_ALREADY_EXISTS

    run(scenario, known={"cached"})


def test_we4_6_names_that_collide_are_refused():
    """WE4-6: create `topic.1_2`, then `topic_1.2`: InvalidTopicException."""

    async def scenario(world):
        await world.admin.create(TopicToCreate("topic.1_2", 1, 1))
        assert await refusal(world.admin.create(TopicToCreate("topic_1.2", 1, 1))) is ErrorCode.INVALID_TOPIC_EXCEPTION

    run(scenario)


def test_the_topics_of_a_request_read_the_names_once_and_see_each_other():
    async def scenario(world):
        await world.admin.create(TopicToCreate("a.b", 1, 1))
        read, names = 0, world.store.topics.names

        async def counted():
            nonlocal read
            read += 1
            return await names()

        world.store.topics.names = counted
        basis = world.admin.creation_basis()

        async def create(name, **how):
            return await world.admin.create(TopicToCreate(name, 1, 1), basis=basis, **how)

        await create("plain")
        assert read == 0
        outcomes = await asyncio.gather(*map(create, ("c.d", "a_b", "e.f")), return_exceptions=True)
        assert [getattr(outcome, "code", None) for outcome in outcomes] == [
            None, ErrorCode.INVALID_TOPIC_EXCEPTION, None,
        ]  # fmt: skip
        assert await refusal(create("c_d")) is ErrorCode.INVALID_TOPIC_EXCEPTION
        await create("g.h", validate_only=True)
        await create("g_h", validate_only=True)
        assert read == 1
        assert await refusal(world.admin.create(TopicToCreate("e_f", 1, 1))) is ErrorCode.INVALID_TOPIC_EXCEPTION
        assert read == 2
        world.clock.advance(FRESH_MS)
        await create("i.j")
        assert read == 2
        world.clock.advance(1)
        await world.admin.create(TopicToCreate("another.one", 1, 1))
        await create("k.l")
        assert read == 4
        assert await refusal(create("another_one")) is ErrorCode.INVALID_TOPIC_EXCEPTION
        assert await refusal(create("i_j")) is ErrorCode.INVALID_TOPIC_EXCEPTION

    run(scenario)


def test_topics_that_wait_for_the_names_go_on_together_and_take_what_they_have_waited_for():
    """One after the other they would find the names too old, and each of them would read again."""

    async def scenario(world):
        names, may_read, read = world.store.topics.names, asyncio.Event(), 0

        async def slow():
            nonlocal read
            read += 1
            await may_read.wait()
            return await names()

        world.store.topics.names = slow
        basis, turn = world.admin.creation_basis(), Turn(world.clock)
        waiting = [asyncio.create_task(basis.colliding(f"a.{number}", turn)) for number in range(50)]
        cancelled = asyncio.create_task(basis.colliding("b.c", turn))
        await asyncio.sleep(0.001)
        cancelled.cancel()
        may_read.set()
        loops = 0
        while not all(task.done() for task in waiting):
            await asyncio.sleep(0)
            world.clock.advance(FRESH_MS)
            loops += 1
        assert loops < 20
        assert [task.result() for task in waiting] == [[]] * 50
        assert read == 1
        await basis.colliding("d.e", turn)
        assert read == 2

    run(scenario)


def test_names_are_used_for_so_long_from_when_they_are_in_order_however_long_the_reading_took():
    async def scenario(world):
        names, read = world.store.topics.names, 0

        async def slow():
            nonlocal read
            read += 1
            world.clock.advance(2 * FRESH_MS)
            return await names()

        world.store.topics.names = slow
        basis, turn = world.admin.creation_basis(), Turn(world.clock)
        await basis.colliding("a.b", turn)
        world.clock.advance(FRESH_MS)
        await basis.colliding("c.d", turn)
        assert read == 1
        world.clock.advance(1)
        await basis.colliding("e.f", turn)
        assert read == 2

    run(scenario)


def test_a_reading_that_fails_keeps_nothing_of_the_request():
    class Held:
        pass

    async def scenario(world):
        async def failing():
            await asyncio.sleep(0)
            raise ConnectionLoss

        world.store.topics.names = failing
        basis = world.admin.creation_basis()

        async def make(held):
            with contextlib.suppress(ConnectionLoss):
                await basis.colliding("a.b", Turn(world.clock))

        held = Held()
        is_held = weakref.ref(held)
        gc.disable()
        try:
            making = [asyncio.create_task(make(held)) for _ in range(3)]
            del held
            await asyncio.gather(*making)
            del making
            await asyncio.sleep(0)
            assert is_held() is None
        finally:
            gc.enable()

    run(scenario)


def test_a_reading_that_fails_when_nobody_waits_for_it_is_no_failure_of_the_broker():
    async def scenario(world):
        may_read, failures = asyncio.Event(), []

        async def failing():
            await may_read.wait()
            raise ConnectionLoss

        world.store.topics.names = failing
        asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
        waiting = asyncio.create_task(world.admin.creation_basis().colliding("a.b", Turn(world.clock)))
        await asyncio.sleep(0.001)
        waiting.cancel()
        may_read.set()
        for _ in range(10):
            await asyncio.sleep(0)
        assert waiting.cancelled()
        del waiting
        gc.collect()
        assert not failures

    run(scenario)


def test_names_that_could_not_be_read_are_read_again_for_the_next_topic():
    async def scenario(world):
        names = world.store.topics.names
        failures = [ConnectionLoss(), asyncio.CancelledError()]

        async def failing():
            if failures:
                raise failures.pop(0)
            return await names()

        world.store.topics.names = failing
        basis = world.admin.creation_basis()
        with pytest.raises(ConnectionLoss):
            await basis.colliding("a.b", Turn(world.clock))
        with pytest.raises(asyncio.CancelledError):
            await basis.colliding("a.b", Turn(world.clock))
        assert await basis.colliding("a.b", Turn(world.clock)) == []

    run(scenario)


@pytest.mark.parametrize("failure", [ConnectionLoss, asyncio.CancelledError])
def test_topics_that_come_right_after_a_reading_has_failed_share_the_next_one(failure):
    """Also one that comes before the failed reading's callbacks have run."""

    async def scenario(world):
        names, basis, later, read = world.store.topics.names, world.admin.creation_basis(), [], 0

        async def failing_once():
            nonlocal read
            read += 1
            if read > 1:
                return await names()
            later.append(asyncio.create_task(basis.colliding("c.d", Turn(world.clock))))
            raise failure

        world.store.topics.names = failing_once
        with pytest.raises(failure):
            await basis.colliding("a.b", Turn(world.clock))
        assert await basis.colliding("e.f", Turn(world.clock)) == []
        assert await later[0] == []
        assert read == 2

    run(scenario)


@pytest.mark.parametrize("is_cached", [False, True])
def test_a_topic_that_another_client_has_created_collides_with_the_next_of_the_request(is_cached):
    """Two clients send the same request: each name is created by one of them."""

    async def scenario(world):
        basis = world.admin.creation_basis()
        await world.admin.create(TopicToCreate("first.one", 1, 1), basis=basis)
        await world.admin.create(TopicToCreate("a.b", 1, 1))
        world.known.update({"a.b"} if is_cached else ())
        again, other = (TopicToCreate(name, 1, 1) for name in ("a.b", "a_b"))
        assert await refusal(world.admin.create(again, basis=basis)) is ErrorCode.TOPIC_ALREADY_EXISTS
        assert await refusal(world.admin.create(other, basis=basis)) is ErrorCode.INVALID_TOPIC_EXCEPTION

    run(scenario)


def test_a_topic_that_the_broker_has_created_for_another_request_collides_at_once():
    async def scenario(world):
        basis, reading = world.admin.creation_basis(), world.admin.creation_basis()
        await world.admin.create(TopicToCreate("first.one", 1, 1), basis=basis)
        names = world.store.topics.names

        async def overtaken():
            found = await names()
            await world.admin.create(TopicToCreate("a.b", 1, 1), basis=basis)
            return found

        world.store.topics.names = overtaken
        assert await reading.colliding("a_b", Turn(world.clock)) == ["a.b"]
        world.store.topics.names = names
        await world.admin.create(TopicToCreate("c.d", 1, 1))
        for name in ("a_b", "c_d"):
            assert await refusal(world.admin.create(TopicToCreate(name, 1, 1), basis=basis)) is (
                ErrorCode.INVALID_TOPIC_EXCEPTION
            )

    run(scenario)


def test_nothing_is_kept_of_a_request_that_is_over():
    async def scenario(world):
        basis = world.admin.creation_basis()
        await world.admin.create(TopicToCreate("a.b", 1, 1), basis=basis)
        await asyncio.sleep(0)
        is_kept = weakref.ref(basis)
        gc.disable()
        try:
            del basis
            assert is_kept() is None
        finally:
            gc.enable()

    run(scenario)


def test_a_topic_that_was_deleted_meanwhile_does_not_collide_with_itself():
    async def scenario(world):
        await world.admin.create(TopicToCreate("a.b", 1, 1))
        basis = world.admin.creation_basis()
        await world.admin.create(TopicToCreate("c.d", 1, 1), basis=basis)
        await world.store.topics.delete("a.b", -1)
        await world.admin.create(TopicToCreate("a.b", 1, 1), basis=basis)

    run(scenario)


def test_a_topic_does_not_grow_beyond_what_its_znode_can_contain():
    async def scenario(world):
        await world.store.topics.create("t", TopicAssignment.of({0: [1, 2]}), {})
        most = MOST_REPLICAS // 2
        for replicas in (None, [[1, 2]] * most):
            assert await refusal(world.admin.grow("t", most + 1, replicas)) is ErrorCode.INVALID_PARTITIONS
        for replicas in ([[0, 1]], [[77, 1]] * most):
            assert await refusal(world.admin.grow("t", most + 1, replicas)) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
        await world.admin.grow("t", most, validate_only=True)

    run(scenario)


def test_others_have_the_loop_while_a_topic_of_very_many_partitions_is_written():
    async def scenario(world):
        async def turns_during(work):
            done = asyncio.ensure_future(work)
            turns = 0
            while not done.done():
                await asyncio.sleep(0)
                turns += 1
            await done
            return turns

        planned = PlannedTopic("t", {number: [0] for number in range(3_000)}, {}, None)
        assert await turns_during(world.admin.write(planned)) >= 2 * 3_000 // STEP_PARTITIONS
        read_made_and_written = 4 * 3_000 // STEP_PARTITIONS
        assert await turns_during(world.admin.grow("t", 6_000, [[0]] * 3_000)) >= 2 * read_made_and_written
        assert len(world.topic("t").partitions) == 6_000

    run(scenario)


def test_counts_come_from_the_settings_when_not_given():
    async def scenario(world):
        made = await world.admin.create(TopicToCreate("t"))
        assert (made.partitions, made.replication_factor) == (5, 2)
        made = await world.admin.create(TopicToCreate("u", partitions=1))
        assert (made.partitions, made.replication_factor) == (1, 2)

    run(scenario, properties={"num.partitions": "5", "default.replication.factor": "2"})


def test_the_first_check_that_fails_decides():
    """ Source: docs/reference/controller.md, section 14 (the order of the checks per topic)."""

    async def scenario(world):
        create = world.admin.create
        everything_wrong = TopicToCreate("cached", 0, 9, {0: [1, 1]}, {"bad.setting": None})
        steps = [
            (everything_wrong, ErrorCode.TOPIC_ALREADY_EXISTS),
            (everything_wrong._replace(name="a b"), ErrorCode.INVALID_REQUEST),
            (TopicToCreate("a b", 0, 9, {0: [1, 1]}, {"bad.setting": "1"}), ErrorCode.INVALID_REQUEST),
            (TopicToCreate("a b", 0, 9, configs={"bad.setting": "1"}), ErrorCode.INVALID_PARTITIONS),
            (TopicToCreate("a b", 1, 9, configs={"bad.setting": "1"}), ErrorCode.INVALID_REPLICATION_FACTOR),
            (TopicToCreate("a b", 1, 1, configs={"bad.setting": "1"}), ErrorCode.INVALID_TOPIC_EXCEPTION),
            (
                TopicToCreate("a", assignment={0: [1, 1]}, configs={"bad.setting": "1"}),
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            ),
            (
                TopicToCreate("a b", assignment={0: [1]}, is_repeated=True),
                ErrorCode.INVALID_TOPIC_EXCEPTION,
            ),
            (
                TopicToCreate("a", assignment={0: [1]}, configs={"bad.setting": "1"}, is_repeated=True),
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            ),
            (TopicToCreate("a", 1, 1, configs={"bad.setting": "1"}), ErrorCode.INVALID_CONFIG),
            (TopicToCreate("a", 1, 1), ErrorCode.POLICY_VIOLATION),
        ]
        for new, code in steps:
            assert await refusal(create(new)) is code
        assert not [path for path in world.zookeeper.tree() if path.startswith("/brokers/topics/")]

    run(scenario, known={"cached"}, policy=load_policy(f"{__name__}.AtLeastTwoReplicas", {}) or None)


def test_validate_only_writes_nothing():
    async def scenario(world):
        before = world.zookeeper.tree()
        planned = await world.admin.create(TopicToCreate("t", 3, 2), validate_only=True)
        assert planned.partitions == 3
        assert world.zookeeper.tree() == before

    run(scenario)


def test_replicas_may_be_assigned_to_brokers_that_are_not_there():
    async def scenario(world):
        await world.admin.create(TopicToCreate("t", assignment={0: [77]}))

    run(scenario)


def test_topic_ids_come_with_protocol_version_2_8():
    async def scenario(world):
        return (await world.admin.create(TopicToCreate("t", 1, 1))).topic_id, world.topic("t").topic_id

    assert run(scenario, properties={"inter.broker.protocol.version": "2.7"}) == (None, None)
    planned, stored = run(scenario)
    assert planned == stored is not None


def test_a_policy_sees_the_counts_or_the_assignment():
    AtLeastTwoReplicas.seen.clear()
    policy = load_policy(f"{__name__}.AtLeastTwoReplicas", {"least": "2"})

    async def scenario(world):
        await world.admin.create(TopicToCreate("t", 3, 2, configs={"a": "b"}))
        await world.admin.create(TopicToCreate("u", assignment={0: [1]}))

    run(scenario, policy=policy)
    assert AtLeastTwoReplicas.seen == [
        RequestMetadata("t", 3, 2, None, {"a": "b"}),
        RequestMetadata("u", None, None, {0: [1]}, {}),
    ]


@pytest.mark.parametrize("path", ["nowhere", "no.such.module.X", f"{__name__}.Missing", f"{__name__}.World"])
def test_a_policy_that_cannot_be_loaded_is_a_config_error(path):
    with pytest.raises(ConfigError, match=re.escape("create.topic.policy.class.name")):
        load_policy(path, {})
    assert load_policy(None, {}) is None


def test_partitions_are_added_where_placement_left_off():
    async def scenario(world):
        topic_id = Chance().new_topic_id()
        await world.store.topics.create("t", TopicAssignment.of({0: [1, 2], 1: [2, 0]}, topic_id), {})
        planned = await world.admin.grow("t", 4)
        assert planned.added == {2: [0, 2], 3: [1, 2]}
        stored = world.topic("t")
        assert stored.partitions == {0: [1, 2], 1: [2, 0], 2: [0, 2], 3: [1, 2]}
        assert stored.topic_id == topic_id

        await world.admin.grow("t", 5, [[2, 1]])
        assert world.topic("t").partitions[4] == [2, 1]

    run(scenario)


def test_placement_begins_anew_when_the_first_replica_is_on_a_broker_beyond_all_that_live():
    async def scenario(world):
        for first, added in ((1, {1: [2, 1], 2: [0, 2]}), (7, {1: [1, 2], 2: [2, 0]})):
            await world.store.topics.create(f"t{first}", TopicAssignment.of({0: [first, 2]}), {})
            assert (await world.admin.grow(f"t{first}", 3)).added == added

    run(scenario)


def test_growth_that_cannot_be_is_refused():
    async def scenario(world):
        await world.store.topics.create("t", TopicAssignment.of({0: [1, 2], 1: [2, 0]}), {})
        for name, moving in (
            ("moving", ReplicaAssignment((2, 1), (2,), (1,))), ("wider", ReplicaAssignment((2, 1), (2,), ())),
            ("narrower", ReplicaAssignment((2, 1), (), (1,))),
        ):  # fmt: skip
            await world.store.topics.create(name, TopicAssignment({0: moving}), {})
        grow = world.admin.grow
        world.queued.add("going")
        for call, code in (
            (grow("going", 3), ErrorCode.INVALID_TOPIC_EXCEPTION),
            (grow("unknown", 3), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            (grow("moving", 3), ErrorCode.REASSIGNMENT_IN_PROGRESS),
            (grow("wider", 3), ErrorCode.REASSIGNMENT_IN_PROGRESS),
            (grow("narrower", 3), ErrorCode.REASSIGNMENT_IN_PROGRESS),
            (grow("t", 1), ErrorCode.INVALID_PARTITIONS),
            (grow("t", 2), ErrorCode.INVALID_PARTITIONS),
            (grow("t", 3, [[7, 1]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
            (grow("t", 3, [[0, 1], [1, 2]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
            (grow("t", 3, [[0]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
            (grow("t", 3, [[0, 1, 2]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
            (grow("t", 4, [[0, 1]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
            (grow("t", 3, [[0, 0]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
            (grow("t", 3, [[]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ):
            assert await refusal(call) is code
        await grow("t", 5, validate_only=True)
        assert len(world.topic("t").partitions) == 2

    run(scenario)


def test_deletion_is_asked_for_once_or_again():
    async def scenario(world):
        await world.admin.create(TopicToCreate("t", 1, 1))
        await world.admin.delete("t")
        await world.admin.delete("t")
        assert await world.store.topics.marked_for_deletion() == {"t"}
        assert await refusal(world.admin.delete("unknown")) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    run(scenario)


def test_we4_8_racks_of_some_brokers_only():
    """WE4-8: one broker with RACK1, others none: creation fails; with `--disable-rack-aware` it works."""

    async def scenario(world):
        assert await refusal(registered_brokers(world.store)) is ErrorCode.UNKNOWN_SERVER_ERROR
        for mode in (RackMode.DISABLED, RackMode.SAFE):
            assert await registered_brokers(world.store, mode) == [BrokerRack(0), BrokerRack(1), BrokerRack(2)]
        assert await refusal(world.admin.create(TopicToCreate("t", 1, 1))) is ErrorCode.UNKNOWN_SERVER_ERROR

    run(scenario, racks={0: "RACK1"})


def test_growths_by_two_brokers_at_once_never_shrink_a_topic():
    async def scenario(world):
        await world.store.topics.create("t", TopicAssignment.of({0: [1, 2]}), {})
        other = await another_broker(world)
        outcomes = await asyncio.gather(other.grow("t", 4), world.admin.grow("t", 3), return_exceptions=True)
        assert sorted(outcomes[0].added) == [1, 2, 3]
        assert outcomes[1].code is ErrorCode.INVALID_PARTITIONS
        assert len(world.topic("t").partitions) == 4

    run(scenario)


def test_growths_at_once_are_permitted_one_after_the_other_and_each_once():
    """Those of one broker are checked when the one before is written; what another broker writes costs no permit."""

    async def scenario(world):
        await world.store.topics.create("t", TopicAssignment.of({0: [1, 2]}), {})
        permitted = []
        grow = partial(world.admin.grow, "t", permit=permitted.append)
        outcomes = await asyncio.gather(grow(4), grow(3), return_exceptions=True)
        assert outcomes[1].code is ErrorCode.INVALID_PARTITIONS
        assert permitted == [3]
        other = await another_broker(world)
        await asyncio.gather(other.grow("t", 5), grow(7))
        assert len(world.topic("t").partitions) == 7
        assert permitted == [3, 3]

    run(scenario)


def test_what_is_not_permitted_is_not_written():
    async def scenario(world):
        def refuse(partitions):
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, str(partitions))

        await world.store.topics.create("t", TopicAssignment.of({0: [1, 2]}), {})
        before = world.zookeeper.tree()
        assert await refusal(world.admin.create(TopicToCreate("u", 1, 1), permit=refuse)) is (
            ErrorCode.THROTTLING_QUOTA_EXCEEDED
        )
        assert await refusal(world.admin.grow("t", 2, permit=refuse)) is ErrorCode.THROTTLING_QUOTA_EXCEEDED
        assert world.zookeeper.tree() == before

    run(scenario)


def test_a_growth_whose_answer_was_lost_has_succeeded():
    async def scenario(world):
        await world.store.topics.create("t", TopicAssignment.of({0: [1, 2]}), {})
        put = world.store.session.set

        async def put_and_lose_the_answer(path, data, version=-1):
            world.store.session.lose_next_reply()
            return await put(path, data, version)

        world.store.session.set = put_and_lose_the_answer
        assert sorted((await world.admin.grow("t", 2)).added) == [1]
        assert len(world.topic("t").partitions) == 2

    run(scenario)


def test_the_topics_of_a_request_share_its_turn_after_each_reply_of_zookeeper_and_every_few_partitions():
    async def scenario(world):
        created, grown, assigned, refused = (CountedTurn() for _ in range(4))
        many = 4 * STEP_REPLICAS // PARTITION
        rows = {number: [0, 1] for number in range(many)}
        await world.admin.create(TopicToCreate("t", assignment=rows), turn=created)
        assert created.asked >= 3 * 4  # copied, and checked twice
        await world.admin.grow("t", 2 * many, turn=grown)
        assert grown.asked >= 1 + 4
        await world.admin.grow("t", 3 * many, [[0, 1]] * many, turn=assigned)
        assert assigned.asked >= 1 + 2 * 4
        assert await refusal(world.admin.grow("t", 1, turn=refused)) is ErrorCode.INVALID_PARTITIONS
        assert refused.asked == 2

    run(scenario)


def test_topics_ask_whose_turn_it_is_after_each_reply_of_zookeeper_before_they_deal_with_it():
    async def scenario(world):
        await world.admin.create(TopicToCreate("t.1", 1, 1))
        seen = []

        class NotedTurn(CountedTurn):
            async def maybe_yield(self):
                seen.append("asked")
                await super().maybe_yield()

        def noted(name, method):
            async def call(*given, **named):
                result = await method(*given, **named)
                seen.append(name)
                return result

            return call

        session = world.store.session
        session.get, session.exists = noted("get", session.get), noted("exists", session.exists)
        session.children = noted("children", session.children)
        turn = NotedTurn()
        await world.admin.create(TopicToCreate("t.2", 1, 1), turn=turn)
        assert "".join(f"{each} " for each in seen).count("exists asked children asked") == 1
        seen.clear()
        await world.admin.grow("t.1", 2, basis=await world.admin.growth_basis(1), turn=turn)
        assert [after for each, after in pairwise(seen) if each == "get"][-2:] == ["asked"] * 2
        assert seen[-2:] == ["asked"] * 2, "before the new assignment is encoded"

    run(scenario)


def test_a_refusal_names_some_of_very_many_brokers():
    """With all of them it would have no room in the response, and the connection would be closed."""

    async def scenario(world):
        await world.admin.create(TopicToCreate("t", assignment={0: [0]}))
        many = [[number] for number in range(5, 10_005)]
        with pytest.raises(KafkaError, match=r"replica assignment: \[5, .*, 24\] and 9980 more\.$"):
            await world.admin.grow("t", 10_001, many)
        with pytest.raises(KafkaError, match=r": \[9, 16\]\.$"):
            await world.admin.grow("t", 3, [[16], [9]])
        with pytest.raises(KafkaError, match=r": \[5, .*, 24\]\.$"):
            await world.admin.grow("t", 21, many[:20])
        with pytest.raises(KafkaError, match=r": \[5, .*, 24\] and 1 more\.$"):
            await world.admin.grow("t", 22, many[:21])
        with pytest.raises(KafkaError, match="no replica"):
            await world.admin.grow("t", 2, [[]])
        with pytest.raises(KafkaError) as caught:
            await world.admin.grow("t", 2, [[0] * 10_000])
        assert len(caught.value.message) < 300
        basis = GrowthBasis([BrokerRack(id_) for id_ in range(10_000)], None)
        with pytest.raises(KafkaError, match="Partition 0 has 1 replicas") as caught:
            await world.admin.grow("t", 2, [range(10_000)], basis=basis)
        assert len(caught.value.message) < 300
        with pytest.raises(KafkaError) as caught:
            await world.admin.create(TopicToCreate("u", assignment={0: [0] * 10_000}))
        assert len(caught.value.message) < 300

    run(scenario)


def test_names_that_collide_are_told_in_order_and_all_of_them():
    async def scenario(world):
        for name in ("b_1.x", "b.1_x"):
            await world.store.topics.create(name, TopicAssignment.of({0: [1]}), {})
        basis = world.admin.creation_basis()
        await world.admin.create(TopicToCreate("c.d", 1, 1), basis=basis)  # which reads the names
        basis.add("b.1.x")
        with pytest.raises(KafkaError, match=r"existing topics: b\.1\.x, b\.1_x, b_1\.x$"):
            await world.admin.create(TopicToCreate("b_1_x", 1, 1), basis=basis)
        basis.add("a_2")
        with pytest.raises(KafkaError, match=r"existing topics: a_2$"):
            await world.admin.create(TopicToCreate("a.2", 1, 1), basis=basis)

    run(scenario)


def test_a_topic_that_may_not_or_cannot_be_written_is_no_obstacle_to_others():
    async def scenario(world):
        basis, write = world.admin.creation_basis(), world.admin.write

        async def fail(planned):
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)

        def forbid(partitions):
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)

        world.admin.write = fail
        assert await refusal(world.admin.create(TopicToCreate("a.b", 1, 1), basis=basis)) is (
            ErrorCode.UNKNOWN_SERVER_ERROR
        )
        world.admin.write = write
        assert await refusal(world.admin.create(TopicToCreate("a.b", 1, 1), basis=basis, permit=forbid)) is (
            ErrorCode.THROTTLING_QUOTA_EXCEEDED
        )
        assert not await world.store.topics.names()
        await world.admin.create(TopicToCreate("a_b", 1, 1), basis=basis)

    run(scenario)


def test_a_partition_that_is_assigned_twice_is_said_before_what_is_wrong_with_the_last_one():
    async def scenario(world):
        new = TopicToCreate("t", assignment={0: [1, 1]}, is_repeated=True)
        with pytest.raises(KafkaError, match="assigned more than once"):
            await world.admin.create(new)

    run(scenario)


def test_a_planned_topic_has_replicas_of_its_own():
    async def scenario(world):
        given = {0: [1, 2]}
        planned = await world.admin.plan(TopicToCreate("t", assignment=given))
        given[0].append(7)
        assert planned.assignment == {0: [1, 2]}

    run(scenario)


def test_a_turn_may_end_between_an_edit_of_a_topic_and_its_encoding():
    async def scenario(world):
        await world.store.topics.create("t", TopicAssignment.of({0: [1]}), {})
        turn, asked = CountedTurn(), []

        def edit(present):
            asked.append(turn.asked)
            return present

        await world.store.topics.edit("t", edit, turn=turn)
        assert (asked, turn.asked) == ([1], 2)

    run(scenario)
