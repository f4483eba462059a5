"""Moves between log directories on disks in memory: their order, their pauses, and what a failed one does to others."""

import asyncio
import errno
from collections.abc import Callable

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.base.slices import FileSlice
from kafka_py.base.supervision import Supervisor
from kafka_py.log.log_manager import LogManager
from kafka_py.log.model.answers import NoDescriptorsLeft
from kafka_py.log.model.broker_options import LogOptions
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.log_files import LogFiles
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.replication.mover import FutureLogMove, LogDirMover
from kafka_py.replication.state.configs import ReplicationOptions
from kafka_py.replication.state.hosted import HostedPartitions
from kafka_py.replication.state.throttle import UNLIMITED, ByteRate, Throttle
from kafka_py.testing.fakes.files import FakeFiles
from kafka_py.testing.fakes.stored_logs import batch, records_of, slice_bytes
from kafka_py.testing.virtual_time import run_virtual, virtual_clock

LARGE, SMALL, OTHER = (TopicPartition(topic, 0) for topic in ("a-large", "z-small", "m-other"))
HERE, THERE = "/one", "/two"
SEVERAL_PIECES = 40


class Broker:
    """Two directories; all logs are made in the first."""

    def __init__(self) -> None:
        self.clock = virtual_clock()
        self.files = FakeFiles(now_ms=self.clock.wall_ms)
        for directory in (HERE, THERE):
            self.files.make_directory(directory)
        self.log_dirs = self.new_log_dirs()
        self.supervisor = Supervisor(self.clock)
        self.hosted = HostedPartitions(1, lambda _: True, 30_000)
        self.steps: list[TopicPartition] = []
        self.mover = self._mover()

    def new_log_dirs(self) -> LogManager:
        loop = asyncio.get_running_loop()
        options = LogOptions.parse({"log.dirs": f"{HERE},{THERE}"})
        log_dirs = LogManager(
            options, self.files, self.clock, Chance(), later=lambda ms, call: loop.call_later(ms / 1000, call)
        )
        log_dirs.open()
        log_dirs.load(lambda _topic: LogConfig.for_topic(None, {"segment.bytes": 4000}))
        return log_dirs

    def _mover(self) -> LogDirMover:
        options = ReplicationOptions.parse({"replica.fetch.max.bytes": "1000"})

        async def read_aside(piece: FileSlice) -> bytes:
            await asyncio.sleep(0)
            return piece.file.read(piece.size, piece.position)  # type: ignore[attr-defined]

        throttle = Throttle(1, ByteRate(self.clock, 11, 11_000.0), UNLIMITED, None)
        return LogDirMover(
            self.hosted, self.log_dirs, options=lambda: options, throttle=throttle, wall_ms=self.clock.wall_ms,
            read_aside=read_aside, supervisor=self.supervisor,
        )  # fmt: skip

    def host(self, one: TopicPartition, batches: int) -> None:
        config = LogConfig.for_topic(None, {"segment.bytes": 4000})
        self.log_dirs.prefer(one, HERE)
        log = self.log_dirs.get_or_create(one, config)
        for _ in range(batches):
            log.append_as_leader(batch([b"x" * 100]), 0, self.clock.wall_ms())
        log.update_high_watermark(log.log_end_offset)
        partition = self.hosted.partitions[one] = self.hosted.new_partition(one)
        partition.log = log

    def is_moved(self, one: TopicPartition) -> bool:
        log = self.hosted.partitions[one].log
        return log is not None and log.log_dir == THERE

    async def until(self, condition: Callable[[], object], within_s: float = 300.0) -> None:
        async with asyncio.timeout(within_s):
            while not condition():  # noqa: ASYNC110  # virtual time; nothing tells of every state
                await asyncio.sleep(0.001)


def test_a_small_log_does_not_wait_for_a_large_one_and_the_one_begun_goes_to_its_end() -> None:
    async def main() -> None:
        broker = Broker()
        broker.host(LARGE, SEVERAL_PIECES)
        broker.host(SMALL, 2)
        ends: list[TopicPartition] = []
        promote = broker.log_dirs.futures.promote
        broker.log_dirs.futures.promote = lambda one: (ends.append(one), promote(one))[1]  # type: ignore[assignment]
        for one in (LARGE, SMALL):
            broker.mover.move(one, THERE)
        await broker.until(lambda: broker.is_moved(LARGE) and broker.is_moved(SMALL))
        assert ends == [SMALL, LARGE]
        await broker.mover.close()

    run_virtual(main())


def test_a_log_that_ends_beyond_its_last_batch_is_looked_at_now_and_then_and_holds_up_nobody() -> None:
    """A cut within a batch leaves it so. Nothing can be read at the end of the copy: that must not become a spin."""
    async def main() -> None:
        broker = Broker()
        broker.host(OTHER, 3)
        log = broker.hosted.partitions[OTHER].log
        assert log is not None
        log.append_as_leader(batch([b"1", b"2", b"3"]), 0, broker.clock.wall_ms())
        log.truncate_to(5)  # of the batch with offsets 3 to 5
        assert log.log_end_offset == 5
        broker.host(LARGE, SEVERAL_PIECES)
        broker.mover.move(OTHER, THERE)
        await broker.until(lambda: broker.mover.moving[OTHER].future.log_end_offset == 3)
        broker.mover.move(LARGE, THERE)
        await broker.until(lambda: broker.is_moved(LARGE))

        rounds = 0
        step = broker.mover._step

        async def counted(*arguments: object) -> float:
            nonlocal rounds
            rounds += 1
            return await step(*arguments)  # type: ignore[arg-type]

        broker.mover._step = counted  # type: ignore[assignment,method-assign]
        await asyncio.sleep(10)
        assert 50 <= rounds <= 110
        log.append_as_leader(batch([b"next"]), 0, broker.clock.wall_ms())
        await broker.until(lambda: broker.is_moved(OTHER))
        moved = broker.hosted.partitions[OTHER].log
        assert moved is not None and moved.log_end_offset == 6
        await broker.mover.close()

    run_virtual(main())


@pytest.mark.parametrize("where", ["append_as_follower", "can_move", "truncate_to"])
def test_what_nobody_foresaw_in_one_move_is_reported_and_ends_it_alone(
    where: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        broker = Broker()
        broker.host(SMALL, 2)
        broker.host(LARGE, SEVERAL_PIECES)
        kind = LogFiles if where == "can_move" else PartitionLog
        original = getattr(kind, where)

        def fail(self: object, *arguments: object, **named: object) -> object:
            files = self if isinstance(self, LogFiles) else self.files  # type: ignore[attr-defined]
            if str(SMALL) in files.place.path:
                raise ZeroDivisionError("nobody foresaw this")
            read = original.fget if isinstance(original, property) else original
            return read(self, *arguments, **named)

        monkeypatch.setattr(kind, where, property(fail) if isinstance(original, property) else fail)
        for one in (SMALL, LARGE):
            broker.mover.move(one, THERE)
        await broker.until(lambda: broker.is_moved(LARGE))
        assert not broker.is_moved(SMALL)
        assert broker.mover.failed == {SMALL}
        assert broker.supervisor.failures == {"mover between log directories": 1}
        assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ZeroDivisionError]
        await broker.mover.close()

    run_virtual(main())


def test_a_move_that_finds_no_descriptor_is_tried_again_and_others_continue_meanwhile() -> None:
    async def main() -> None:
        broker = Broker()
        broker.host(LARGE, SEVERAL_PIECES)
        broker.host(SMALL, 20)
        for one in (LARGE, SMALL):
            broker.mover.move(one, THERE)
        broker.files.fail("open", errno.EMFILE, path="z-small", times=2)
        await broker.until(lambda: broker.is_moved(LARGE))
        await broker.until(lambda: broker.is_moved(SMALL))
        assert not broker.mover.failed
        assert broker.log_dirs.live_directories == [HERE, THERE]
        await broker.mover.close()

    run_virtual(main())


@pytest.mark.parametrize("operation", ["open", "read", "write", "truncate", "rename", "sync"])
def test_a_disk_error_of_one_move_leaves_the_moves_on_other_disks_and_the_present_logs_alone(operation: str) -> None:
    async def main() -> None:
        broker = Broker()
        broker.host(SMALL, 20)
        broker.mover.move(SMALL, THERE)
        broker.files.fail(operation, errno.EIO, path=THERE)
        await broker.until(lambda: not broker.mover.moving)
        assert broker.log_dirs.live_directories in ([HERE], [HERE, THERE])
        log = broker.hosted.partitions[SMALL].log
        assert log is not None and log.log_end_offset == 20
        assert not broker.supervisor.failures
        await broker.mover.close()

    run_virtual(main())


@pytest.mark.parametrize("is_compacted_meanwhile", [True, False])
def test_a_move_of_a_former_run_continues_with_its_copy_unless_the_present_log_was_compacted_since(
    is_compacted_meanwhile: bool,
) -> None:
    """A copy may hold keys whose tombstones the present log has lost while the copy's directory was offline."""

    async def scenario() -> None:
        world = Broker()
        world.host(LARGE, 200)
        future: PartitionLog | None = world.log_dirs.futures.create(LARGE, THERE)
        assert future is not None
        move = world.mover.moving[LARGE] = FutureLogMove(future)
        while future.log_end_offset < 5:
            await world.mover._step(LARGE, move)
        await world.mover.close()
        if is_compacted_meanwhile:
            present = world.log_dirs.get(LARGE)
            assert present is not None
            present.compaction.cleaned_to = present.segments[-1].base_offset
            world.log_dirs._checkpoints.write("cleaner-offset-checkpoint")
        world.log_dirs.shutdown()
        if is_compacted_meanwhile:  # as if the directory had been offline when that was written
            world.files.open(f"{THERE}/cleaner-offset-checkpoint").truncate(0)
        world.log_dirs = world.new_log_dirs()
        world.mover = world._mover()
        future = world.log_dirs.futures.get(LARGE)
        assert future is not None and future.log_end_offset >= 5
        world.hosted.partitions[LARGE].log = world.log_dirs.get(LARGE)
        world.mover.resume([LARGE])
        assert (future.log_end_offset == 0) is is_compacted_meanwhile
        await world.until(lambda: world.is_moved(LARGE))
        moved = world.log_dirs.get(LARGE)
        assert moved is not None and moved.log_end_offset == 200

    run_virtual(scenario())


@pytest.mark.parametrize("kept", [3, 8], ids=["into what was copied", "into what is being copied"])
def test_what_the_present_log_loses_while_it_is_read_is_not_in_the_log_that_takes_over(kept: int) -> None:
    """The next leader's records come in its place at once, so that its end alone shows nothing."""
    async def main() -> None:
        broker = Broker()
        broker.host(LARGE, SEVERAL_PIECES)
        log = broker.hosted.partitions[LARGE].log
        assert log is not None
        read, is_cut = broker.mover._read_aside, False

        async def read_and_cut(piece: FileSlice) -> bytes:
            nonlocal is_cut
            data = await read(piece)
            if broker.mover.moving[LARGE].future.log_end_offset > 4 and not is_cut:
                is_cut = True
                assert 4 < broker.mover.moving[LARGE].future.log_end_offset < 8 < log.log_end_offset
                log.truncate_to(kept)
                broker.mover.truncated(LARGE)
                for _ in range(SEVERAL_PIECES):
                    log.append_as_leader(batch([b"y" * 100]), 1, broker.clock.wall_ms())
            return data

        broker.mover._read_aside = read_and_cut
        broker.mover.move(LARGE, THERE)
        await broker.until(lambda: broker.is_moved(LARGE))
        moved = broker.hosted.partitions[LARGE].log
        assert moved is not None and is_cut
        found: list[bytes | None] = []
        while len(found) < moved.log_end_offset:
            piece = moved.read(len(found), 10_000, up_to_offset=moved.log_end_offset).slice
            found += [record.value for record in records_of(slice_bytes(piece))]
        assert found == [b"x" * 100] * kept + [b"y" * 100] * SEVERAL_PIECES
        assert [start.start_offset for start in moved.epochs.entries()] == [0, kept]
        await broker.mover.close()

    run_virtual(main())


def test_a_copy_that_was_cut_at_a_log_start_inside_a_batch_begins_again_with_that_batch() -> None:
    """A follower moves: it had to cut its log at the leader's log start, and then got the whole batch around that."""
    async def main() -> None:
        broker = Broker()
        broker.host(OTHER, 3)
        log = broker.hosted.partitions[OTHER].log
        assert log is not None
        now_ms = broker.clock.wall_ms()
        log.append_as_leader(batch([b"1", b"2", b"3"]), 0, now_ms)
        for _ in range(SEVERAL_PIECES):
            log.append_as_leader(batch([b"x" * 100]), 0, now_ms)
        read, copied = broker.mover._read_aside, 0

        async def read_and_cut(piece: FileSlice) -> bytes:
            nonlocal copied
            data = await read(piece)
            if not copied and broker.mover.moving[OTHER].future.log_end_offset > 6:
                copied = broker.mover.moving[OTHER].future.log_end_offset
                log.truncate_to(5)  # of the batch with offsets 3 to 5
                broker.mover.truncated(OTHER)
                log.append_as_follower(memoryview(batch([b"y"] * 4, base_offset=3, leader_epoch=1)), now_ms, 5)
                log.update_high_watermark(7)
                log.advance_log_start_offset(5)
            return data

        broker.mover._read_aside = read_and_cut
        broker.mover.move(OTHER, THERE)
        await broker.until(lambda: OTHER not in broker.mover.moving)
        assert copied and broker.is_moved(OTHER)
        moved = broker.hosted.partitions[OTHER].log
        assert moved is not None and (moved.log_start_offset, moved.log_end_offset) == (5, 7)
        piece = moved.read(5, 1000, up_to_offset=7).slice
        assert [record.value for record in records_of(slice_bytes(piece))] == [b"y"] * 4
        await broker.mover.close()

    run_virtual(main())


def test_a_move_that_waits_for_a_descriptor_begins_at_once_when_it_is_requested_again() -> None:
    async def main() -> None:
        broker = Broker()
        broker.host(SMALL, 2)
        broker.mover.move(SMALL, THERE)
        broker.mover._waiting.set_aside(SMALL, NoDescriptorsLeft(ErrorCode.KAFKA_STORAGE_ERROR, "none is left"))
        broker.mover.resume([SMALL])
        await broker.until(lambda: broker.is_moved(SMALL), within_s=0.5)
        await broker.mover.close()

    run_virtual(main())


def test_a_move_that_was_stopped_while_it_waited_leaves_no_trace() -> None:
    async def main() -> None:
        broker = Broker()
        broker.host(SMALL, 2)
        broker.mover.move(SMALL, THERE)
        broker.mover._waiting.set_aside(SMALL, NoDescriptorsLeft(ErrorCode.KAFKA_STORAGE_ERROR, "none is left"))
        broker.mover.stop([SMALL])
        assert not broker.mover._waiting.faults
        await broker.mover.close()

    run_virtual(main())


@pytest.mark.parametrize("when", ["the present log is cut", "the move is resumed"])
def test_a_copy_that_could_not_be_cut_for_want_of_a_descriptor_is_cut_before_it_grows(
    when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        broker = Broker()
        broker.host(LARGE, SEVERAL_PIECES)
        log = broker.hosted.partitions[LARGE].log
        assert log is not None
        broker.mover.move(LARGE, THERE)
        future = broker.mover.moving[LARGE].future
        original, missing, read = type(log).truncate_to, [True], broker.mover._read_aside

        def truncate(self: PartitionLog, offset: int) -> bool:
            if self is future and missing:
                missing.pop()
                raise NoDescriptorsLeft(ErrorCode.KAFKA_STORAGE_ERROR, "none is left")
            return original(self, offset)

        async def read_and_cut(piece: FileSlice) -> bytes:
            data = await read(piece)
            if future.log_end_offset > 10 and missing:
                if when == "the move is resumed":
                    broker.mover.stop([LARGE])
                log.truncate_to(8)
                if when == "the present log is cut":
                    broker.mover.truncated(LARGE)
                for _ in range(SEVERAL_PIECES):
                    log.append_as_leader(batch([b"y" * 100]), 1, broker.clock.wall_ms())
                if when == "the move is resumed":
                    broker.mover.resume([LARGE])
            return data

        monkeypatch.setattr(type(log), "truncate_to", truncate)
        broker.mover._read_aside = read_and_cut
        await broker.until(lambda: broker.is_moved(LARGE))
        assert not missing
        assert [start.start_offset for start in future.epochs.entries()] == [0, 8]
        piece = future.read(8, 1, up_to_offset=9, min_one_batch=True).slice
        assert [record.value for record in records_of(slice_bytes(piece))] == [b"y" * 100]
        await broker.mover.close()

    run_virtual(main())
