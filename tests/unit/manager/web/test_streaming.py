"""Streams: sent as they are made, ended when the browser leaves, and always released."""

import asyncio

import pytest

from kafka_py.manager.web.streaming import StreamedAnswer


class StreamScene:
    """A browser of one stream. released: how often it was."""

    def __init__(self, parts):
        self.released = 0
        self.sent: list[dict[str, object]] = []
        self.leaves = asyncio.Event()
        self.sends = asyncio.Event()
        self.answer = StreamedAnswer(parts, self._release, media_type="text/plain")

    async def _release(self):
        self.released += 1

    async def _receive(self):
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message):
        self.sent.append(message)
        self.sends.set()

    async def run(self):
        await self.answer({"type": "http"}, self._receive, self._send)

    def body(self):
        return b"".join(each.get("body", b"") for each in self.sent)


def test_a_stream_that_may_not_go_on_is_cut():
    scene = StreamScene(two_parts())
    scene.answer.may_go_on = iter((True, False)).__next__
    asyncio.run(scene.run())
    assert (scene.body(), scene.released) == (b"one ", 1)
    assert all(each.get("more_body", True) for each in scene.sent)


async def two_parts():
    yield b"one "
    yield b"two"


async def endless(ended):
    try:
        while True:
            yield b"x"
            await asyncio.Event().wait()
    finally:
        ended.set()


async def failing():
    yield b"one"
    raise ValueError("broken")


def test_a_stream_is_sent_to_its_end_and_released():
    async def run():
        scene = StreamScene(two_parts())
        await scene.run()
        assert (scene.body(), scene.released, scene.sent[-1]["more_body"]) == (b"one two", 1, False)

    asyncio.run(run())


def test_a_browser_that_leaves_ends_what_makes_the_parts():
    async def run():
        ended = asyncio.Event()
        scene = StreamScene(endless(ended))
        running = asyncio.ensure_future(scene.run())
        await scene.sends.wait()
        scene.leaves.set()
        await running
        assert ended.is_set() and scene.released == 1

    asyncio.run(run())


def test_a_browser_that_left_before_releases_all_the_same():
    async def run():
        scene = StreamScene(two_parts())
        scene.leaves.set()
        await scene.run()
        assert scene.released == 1

    asyncio.run(run())


def test_a_stream_that_fails_is_cut_and_released():
    async def run():
        scene = StreamScene(failing())
        with pytest.raises(ValueError, match="broken"):
            await scene.run()
        assert scene.released == 1
        assert all(message.get("more_body", True) for message in scene.sent)

    asyncio.run(run())


def test_an_end_of_the_server_ends_the_stream():
    async def run():
        ended = asyncio.Event()
        scene = StreamScene(endless(ended))
        running = asyncio.ensure_future(scene.run())
        await scene.sends.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert ended.is_set() and scene.released == 1

    asyncio.run(run())
