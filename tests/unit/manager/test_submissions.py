"""A form that is sent twice counts once, also while the first is under way; a failed one may be sent again."""

import asyncio

import pytest

from kafka_py.manager.submissions import MOST_KEPT, Submissions
from kafka_py.manager.web.answers import ChangeAnswer, MadeChange

MADE = MadeChange(ChangeAnswer("s", "c", [], [], False, True, "done"), "/")


def test_the_second_one_waits_for_the_first_and_gets_its_outcome() -> None:
    async def scene() -> None:
        submissions, begun, may_end, count = Submissions[MadeChange](), asyncio.Event(), asyncio.Event(), 0

        async def work() -> MadeChange:
            nonlocal count
            count += 1
            begun.set()
            await may_end.wait()
            return MADE

        first = asyncio.create_task(submissions.once("ann", "1", work))
        await begun.wait()
        second = asyncio.create_task(submissions.once("ann", "1", work))
        may_end.set()
        assert (await first, await second, count) == (MADE, MADE, 1)
        assert await submissions.once("bob", "1", work) == MADE
        assert count == 2

    asyncio.run(scene())


def test_a_failed_one_may_be_sent_again() -> None:
    async def scene() -> None:
        submissions = Submissions[MadeChange]()
        answers: list[ValueError | MadeChange] = [ValueError("no"), MADE]

        async def work() -> MadeChange:
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        with pytest.raises(ValueError, match="no"):
            await submissions.once("ann", "1", work)
        assert await submissions.once("ann", "1", work) == MADE

    asyncio.run(scene())


def test_only_the_latest_outcomes_are_kept() -> None:
    async def scene() -> None:
        submissions, count = Submissions[MadeChange](), 0

        async def work() -> MadeChange:
            nonlocal count
            count += 1
            return MADE

        for number in range(MOST_KEPT + 1):
            await submissions.once("ann", str(number), work)
        await submissions.once("ann", str(MOST_KEPT), work)
        assert count == MOST_KEPT + 1
        await submissions.once("ann", "0", work)
        assert count == MOST_KEPT + 2

    asyncio.run(scene())
