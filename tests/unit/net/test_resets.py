"""Connections cut off hard are noticed on every event loop."""

import asyncio
import socket
import struct
from importlib.util import find_spec

import pytest

from kafka_py.net.resets import ResetWatch


class Connected:
    """One end of a TCP connection, watched; `peer` is the other."""

    def __init__(self, watch: ResetWatch) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.peer = socket.create_connection(server.getsockname())
            self.socket, _ = server.accept()
        self.watch = watch
        self.resets = 0
        watch.watch(self.socket.fileno(), self)

    def on_reset(self) -> None:
        self.resets += 1
        fileno = self.socket.fileno()
        self.socket.close()
        self.watch.forget(fileno)

    def cut_off(self) -> None:
        self.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.peer.close()


@pytest.mark.skipif(find_spec("uvloop") is None, reason="uvloop is not installed")
def test_on_uvloop_a_reset_is_told_once_and_an_orderly_end_is_left_to_the_reader() -> None:
    import uvloop

    async def scenario() -> None:
        watch = ResetWatch(asyncio.get_running_loop())
        cut, ended, alive = (Connected(watch) for _ in range(3))
        ended.peer.close()
        cut.cut_off()
        async with asyncio.timeout(10):
            while not cut.resets:  # noqa: ASYNC110  # the kernel's doing
                await asyncio.sleep(0)
        watch.close()
        assert (cut.resets, ended.resets, alive.resets) == (1, 0, 0)
        for connected in (ended, alive):
            connected.socket.close()
        alive.peer.close()

    uvloop.run(scenario())


def test_on_the_loop_of_asyncio_it_stays_out_of_the_way() -> None:
    async def scenario() -> None:
        watch = ResetWatch(asyncio.get_running_loop())
        connected = Connected(watch)
        connected.cut_off()
        await asyncio.sleep(0)
        assert connected.resets == 0
        connected.socket.close()
        watch.close()

    asyncio.run(scenario())
