"""What a test may do to a FakeZookeeper beyond what the real one can be made to do (that is in tests/contracts)."""

import asyncio

from kafka_py.testing.virtual_time import run_virtual
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.zk.session import SessionState


def test_a_session_cut_for_longer_than_it_lasts_is_ended_and_learns_it_when_mended():
    async def run():
        zk = FakeZookeeper(session_timeout_ms=18_000)
        session, other = zk.session(), zk.session()
        await session.connect()
        await other.connect()
        await session.create("/e", ephemeral=True)
        story = []
        session.add_listener(story.append)

        session.cut()
        await asyncio.sleep(17)
        session.mend()
        assert await other.exists("/e") is not None

        session.cut()
        await asyncio.sleep(19)
        assert await other.exists("/e") is None
        assert session.state is SessionState.SUSPENDED
        session.mend()
        await asyncio.sleep(1)
        assert story == [
            SessionState.SUSPENDED,
            SessionState.CONNECTED,
            SessionState.SUSPENDED,
            SessionState.EXPIRED,
            SessionState.CONNECTING,
            SessionState.CONNECTED,
        ]

    run_virtual(run())
