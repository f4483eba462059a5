"""Tokens are made, followed and removed in ZooKeeper by several brokers at once."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.steps import SLICE
from kafka_py.net.principal import Principal
from kafka_py.security.tokens.delegation_tokens import Lifetimes
from kafka_py.security.tokens.token_keeper import AT_A_TIME, TokenKeeper
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.zookeeper import FakeZookeeper, on_fake
from kafka_py.zk.store import ZkStore
from kafka_py.zk.tokens import StoredToken

ALICE, BOB, EVE = (Principal("User", name) for name in ("alice", "bob", "eve"))
TOKENS, CHANGES = "/delegation_token/tokens", "/delegation_token/token_changes"


class Brokers:
    """Two keepers with sessions of their own, both started, and a clock for both."""

    def __init__(self, one: ZkStore, other: ZkStore, zk: FakeZookeeper) -> None:
        self.clock = ManualClock()
        self.zk = zk
        self.session: Any = one.session  # of the first
        self.other_session: Any = other.session
        self.one, self.other = (
            TokenKeeper(store.tokens, "secret", Lifetimes(1000, 100), self.clock, Chance(seed))
            for seed, store in enumerate((one, other))
        )

    def stored(self, root: str = TOKENS) -> list[str]:
        return [path for path in self.zk.tree() if path.startswith(root + "/")]

    async def followed(self) -> None:
        """Both know the same tokens as ZooKeeper has."""
        names = [path.rpartition("/")[2] for path in self.stored()]
        for keeper in (self.one, self.other):
            await until(lambda keeper=keeper: sorted(each.token_id for each in keeper.index.tokens()) == names)


def brokers(scenario: Callable[[Brokers], Awaitable[None]]) -> Callable[[], None]:
    @on_fake
    async def run(store: ZkStore, zk: FakeZookeeper) -> None:
        session = zk.session()
        await session.connect()
        both = Brokers(store, ZkStore(session), zk)
        await both.one.start()
        await both.other.start()
        try:
            await scenario(both)
        finally:
            await both.one.close()
            await both.other.close()

    return run


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110  # the index tells nobody of its changes
            await asyncio.sleep(0)


async def refused(call: Awaitable[object]) -> ErrorCode:
    with pytest.raises(KafkaError) as failed:
        await call
    return failed.value.code


@brokers
async def test_the_parents_are_made_at_the_start(both: Brokers) -> None:
    assert {TOKENS, CHANGES} <= set(both.zk.tree())


@brokers
async def test_what_one_broker_makes_renews_and_ends_the_other_follows(both: Brokers) -> None:
    token = await both.one.create(ALICE, [BOB], -1)
    assert both.one.index.tokens() == [token]
    await both.followed()
    assert both.other.index.tokens() == [token]
    assert await both.other.renew(BOB, token.hmac, 400) == token.issued_ms + 400
    await until(lambda: both.one.index.tokens()[0].expires_ms == token.issued_ms + 400)
    assert await both.one.expire(ALICE, token.hmac, 10) == token.issued_ms + 10
    await until(lambda: both.other.index.tokens()[0].expires_ms == token.issued_ms + 10)
    assert await both.other.expire(ALICE, token.hmac, -1) == token.issued_ms
    await both.followed()
    assert both.stored() == []
    changes = both.stored(CHANGES)
    assert [path.rpartition("/")[2] for path in changes] == [f"token_change_{number:010d}" for number in range(4)]
    assert {both.zk.tree()[path] for path in changes} == {token.token_id.encode()}


@brokers
async def test_errors(both: Brokers) -> None:
    token = await both.one.create(ALICE, [], -1)
    assert await refused(both.one.renew(ALICE, b"another", -1)) is ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    assert await refused(both.one.expire(ALICE, b"", -1)) is ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    assert await refused(both.one.renew(EVE, token.hmac, -1)) is ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    both.clock.advance(101)
    assert await refused(both.one.expire(ALICE, token.hmac, -1)) is ErrorCode.DELEGATION_TOKEN_EXPIRED
    assert len(both.stored()) == 1


@brokers
async def test_a_token_that_another_broker_has_removed_does_not_come_back(both: Brokers) -> None:
    token = await both.one.create(ALICE, [], -1)
    await both.followed()
    ended = both.one.expire(ALICE, token.hmac, -1)
    renewed = both.other.renew(ALICE, token.hmac, -1)
    results = await asyncio.gather(ended, renewed, return_exceptions=True)
    assert results[0] == token.issued_ms
    assert isinstance(results[1], KafkaError)
    assert results[1].code is ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    assert both.stored() == []
    await both.followed()


@brokers
async def test_of_two_ends_set_at_once_both_brokers_know_the_stored_one(both: Brokers) -> None:
    token = await both.one.create(ALICE, [], -1)
    await both.followed()
    await asyncio.gather(both.one.expire(ALICE, token.hmac, 20), both.other.expire(ALICE, token.hmac, 30))
    await until(lambda: len({keeper.index.tokens()[0].expires_ms for keeper in (both.one, both.other)}) == 1)
    version = both.one.index.of(token.token_id)
    assert version is not None
    assert version[1] == 2
    assert await refused(both.one.renew(EVE, token.hmac, -1)) is ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH


@brokers
async def test_tokens_that_are_over_are_removed_and_no_others(both: Brokers) -> None:
    short = await both.one.create(ALICE, [], 50)
    renewed, plain = await both.one.create(ALICE, [], -1), await both.one.create(ALICE, [], -1)
    await both.followed()
    both.clock.advance(60)
    await both.other.renew(ALICE, renewed.hmac, 500)
    await both.one.remove_expired()
    await both.followed()
    assert {each.token_id for each in both.other.index.tokens()} == {renewed.token_id, plain.token_id}
    both.clock.advance(100)
    await both.one.remove_expired()
    await both.followed()
    assert [each.token_id for each in both.one.index.tokens()] == [renewed.token_id]
    assert short.token_id != plain.token_id


@brokers
async def test_a_token_that_was_just_renewed_or_removed_elsewhere_is_no_work_for_a_sweep(both: Brokers) -> None:
    renewed, ended = await both.one.create(ALICE, [], -1), await both.one.create(ALICE, [], -1)
    await both.followed()
    both.clock.advance(90)
    both.session.cut()
    await both.other.renew(ALICE, renewed.hmac, 500)
    await both.other.expire(ALICE, ended.hmac, -1)
    both.clock.advance(90)
    sweep = asyncio.ensure_future(both.one.remove_expired())
    await asyncio.sleep(0)
    both.session.mend()
    await sweep
    await both.followed()
    assert both.stored() == [f"{TOKENS}/{renewed.token_id}"]


@brokers
async def test_tokens_that_cannot_be_read_are_left_out(both: Brokers) -> None:
    token = await both.one.create(ALICE, [], -1)
    await both.followed()
    session = both.zk.session()
    await session.connect()
    good = both.zk.tree()[f"{TOKENS}/{token.token_id}"]
    assert good is not None
    for name, data in {
        "null": None, "text": b"no token", "version": good.replace(b'"version":1', b'"version":2'),
        "principal": good.replace(b"User%3Aalice", b"alice"), "short": b'{"version":1}', "list": b"[]",
    }.items():  # fmt: skip
        await session.create(f"{TOKENS}/{name}", data)
    await both.one.read_all()
    assert both.one.index.tokens() == [token]
    await session.set(f"{TOKENS}/{token.token_id}", b"no token", -1)
    await both.one.read_all()
    assert len(both.one.index) == 0
    await session.close()


@brokers
async def test_a_broker_reads_the_tokens_that_exist_at_its_start_and_those_it_missed(both: Brokers) -> None:
    tokens = [await both.one.create(ALICE, [BOB], -1) for _ in range(3)]
    session = both.zk.session()
    await session.connect()
    store, reads = ZkStore(session).tokens, []
    read = store.read

    async def noted(token_id: str) -> StoredToken | None:
        reads.append(token_id)
        return await read(token_id)

    store.read = noted  # type: ignore[method-assign]
    late = TokenKeeper(store, "secret", Lifetimes(1000, 100), both.clock, Chance(3))
    await late.start()
    assert len(reads) == 3  # changes that were announced before are no reason to read a token again
    assert sorted(each.token_id for each in late.index.tokens()) == sorted(each.token_id for each in tokens)
    assert {each.hmac for each in late.index.tokens()} == {each.hmac for each in tokens}
    await late.close()
    await both.one.expire(ALICE, tokens[0].hmac, -1)
    await late.read_all()
    assert len(late.index) == 2
    await session.close()


@brokers
async def test_a_change_whose_reply_was_lost_is_made_and_answered_once(both: Brokers) -> None:
    """The session sends a request again whose reply was lost, although it was carried out."""
    both.session.lose_next_reply()
    token = await both.one.create(ALICE, [], -1)
    assert both.one.index.of(token.token_id) == (token, 0)
    await both.followed()
    both.session.lose_next_reply()
    assert await both.one.renew(ALICE, token.hmac, 400) == token.issued_ms + 400
    await until(lambda: both.other.index.tokens()[0].expires_ms == token.issued_ms + 400)
    assert len(both.stored(CHANGES)) == 2
    both.session.lose_next_reply()
    assert await both.one.expire(ALICE, token.hmac, -1) == token.issued_ms
    assert both.stored() == []
    await both.followed()


@brokers
async def test_after_a_lost_connection_or_session_everything_that_was_missed_is_read(both: Brokers) -> None:
    first = await both.one.create(ALICE, [], -1)
    await both.followed()
    both.other_session.cut()
    gone = await both.one.create(ALICE, [], -1)
    await both.one.expire(ALICE, first.hmac, -1)
    kept = await both.one.create(ALICE, [], -1)
    for path in both.stored(CHANGES)[1:3]:  # a broker of Apache Kafka whose clock is ahead deletes them early
        await both.session.delete(path)
    both.other_session.mend()
    await both.followed()
    assert {each.token_id for each in both.other.index.tokens()} == {gone.token_id, kept.token_id}
    both.other_session.expire()
    await both.one.expire(ALICE, gone.hmac, -1)
    await both.followed()
    assert both.other.index.tokens() == [kept]


@brokers
async def test_others_have_the_loop_while_very_many_tokens_are_looked_at(both: Brokers) -> None:
    token = await both.one.create(ALICE, [], -1)
    for number in range(5_000):
        both.one.index.put(replace(token, token_id=f"t{number}", hmac=b"%d" % number), 0)
    turns, loop = 0, asyncio.get_running_loop()

    def turn() -> None:
        nonlocal turns
        turns += 1
        if not sweep.done():
            loop.call_soon(turn)

    sweep = loop.create_task(both.one.remove_expired())
    loop.call_soon(turn)
    await sweep
    assert turns > 5_000 / SLICE
    assert len(both.one.index) == 5_001


@brokers
async def test_a_sweep_changes_few_tokens_in_one_turn_of_the_loop(both: Brokers) -> None:
    """All replies that have come are dealt with in one turn; ten thousand tokens may end at the same time."""
    for _ in range(5 * AT_A_TIME):
        await both.one.create(ALICE, [], 50)
    await both.followed()
    both.clock.advance(60)
    in_turns, loop, store = [0], asyncio.get_running_loop(), both.one._store
    remove = store.remove

    async def counted(token_id: str, version: int) -> bool:
        in_turns[-1] += 1
        return await remove(token_id, version)

    def turn() -> None:
        in_turns.append(0)
        if not sweep.done():
            loop.call_soon(turn)

    store.remove = counted  # type: ignore[method-assign]
    sweep = loop.create_task(both.one.remove_expired())
    loop.call_soon(turn)
    await sweep
    assert sum(in_turns) == 5 * AT_A_TIME and max(in_turns) <= AT_A_TIME <= 20
    assert both.stored() == []
