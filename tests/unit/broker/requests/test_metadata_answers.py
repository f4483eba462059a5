"""Metadata answers that are built once for all who ask the same."""

import asyncio

import pytest

from kafka_py.broker.metadata.metadata_cache import MetadataCache, MetadataUpdate
from kafka_py.broker.requests.metadata_answers import MOST_ANSWERS, MetadataAnswers
from kafka_py.broker.requests.request_context import EncodedResponse

UPDATE = MetadataUpdate(1, [], [], {})


class Builder:
    """Counts how often it was asked, and builds when it may."""

    def __init__(self) -> None:
        self.count = 0
        self.may_end = asyncio.Event()

    async def build(self) -> EncodedResponse:
        self.count += 1
        number = self.count
        await self.may_end.wait()
        return EncodedResponse([b"\0\0\0\x05\0\0\0\0%d" % number])


def test_who_asks_while_it_is_built_gets_the_same() -> None:
    async def scenario() -> None:
        answers, builder = MetadataAnswers(MetadataCache()), Builder()
        asking = [asyncio.ensure_future(answers.get("key", builder.build)) for _ in range(100)]
        await asyncio.sleep(0)
        builder.may_end.set()
        first, *others = await asyncio.gather(*asking)
        assert all(one is first for one in others)
        assert await answers.get("key", builder.build) is first
        assert await answers.get("another", builder.build) is not first
        assert builder.count == 2

    asyncio.run(scenario())


def test_after_a_change_it_is_built_again_and_who_asked_before_gets_what_was() -> None:
    async def scenario() -> None:
        cache = MetadataCache()
        answers, builder = MetadataAnswers(cache), Builder()
        before = asyncio.ensure_future(answers.get("key", builder.build))
        await asyncio.sleep(0)
        await cache.update(UPDATE)
        after = asyncio.ensure_future(answers.get("key", builder.build))
        await asyncio.sleep(0)
        builder.may_end.set()
        assert (await before).parts_for(1) == [b"\0\0\0\x05\0\0\0\x01", b"1"]
        assert (await after).parts_for(1) == [b"\0\0\0\x05\0\0\0\x01", b"2"]
        assert await answers.get("key", builder.build) is await after

    asyncio.run(scenario())


def test_a_failure_is_everybodys_and_the_next_one_tries_again() -> None:
    async def scenario() -> None:
        answers, builder = MetadataAnswers(MetadataCache()), Builder()

        async def fail() -> EncodedResponse:
            await builder.may_end.wait()
            raise ValueError("no")

        asking = [asyncio.ensure_future(answers.get("key", fail)) for _ in range(3)]
        await asyncio.sleep(0)
        builder.may_end.set()
        for one in asking:
            with pytest.raises(ValueError, match="no"):
                await one
        assert (await answers.get("key", builder.build)).parts_for(7)[1] == b"1"

    asyncio.run(scenario())


def test_one_who_gives_up_waiting_takes_nothing_from_the_others() -> None:
    async def scenario() -> None:
        answers, builder = MetadataAnswers(MetadataCache()), Builder()
        first, second, third = [asyncio.ensure_future(answers.get("key", builder.build)) for _ in range(3)]
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.sleep(0)
        builder.may_end.set()
        assert await first is await third

    asyncio.run(scenario())


def test_there_is_a_bound_to_what_is_kept() -> None:
    async def scenario() -> None:
        answers, builder = MetadataAnswers(MetadataCache()), Builder()
        builder.may_end.set()
        for number in range(2 * MOST_ANSWERS):
            await answers.get(number, builder.build)
        assert len(answers) == MOST_ANSWERS

    asyncio.run(scenario())
