"""The loop's own figures, and how many descriptors are served in a turn."""

import asyncio
import contextlib
import selectors
import socket
import time
from collections.abc import Iterator

import pytest

from kafka_py.base.clock import SystemClock
from kafka_py.net.event_loop.loop import READY_A_TURN, LoopWatch, WatchedSelector, new_event_loop


def test_the_longest_turn_is_kept() -> None:
    now = 1000.0
    watch = LoopWatch(now)
    for busy in (0.001, 0.007, 0.002):
        watch.turn(busy, 0.01, now)
    assert watch.longest_stall_ms == pytest.approx(7)


def test_an_old_stall_is_forgotten_after_two_windows() -> None:
    now = 1000.0
    watch = LoopWatch(now)
    watch.turn(0.007, 0.0, now)
    watch.turn(0.001, 0.0, now + 61)
    assert watch.longest_stall_ms == pytest.approx(7)
    watch.turn(0.001, 0.0, now + 122)
    assert watch.longest_stall_ms == pytest.approx(1)


def test_the_idle_share_is_that_of_the_last_five_seconds_for_all_who_look() -> None:
    watch = LoopWatch(0.0)
    assert watch.idle_share == 1.0
    watch.turn(0.25, 0.75, 100.0)
    assert watch.idle_share == pytest.approx(0.75)
    watch.turn(0.25, 0.75, 105.0)
    watch.turn(1.0, 0.0, 106.0)
    assert watch.idle_share == watch.idle_share == pytest.approx(0.75)
    watch.turn(1.0, 0.0, 110.0)
    assert watch.idle_share == pytest.approx(0.0)
    assert watch.idle_ns == 1_500_000_000


def test_under_uvloop_the_thread_s_processor_time_is_what_is_busy() -> None:
    pytest.importorskip("uvloop")
    loop, watch = new_event_loop(SystemClock(), use_uvloop=True)

    async def work() -> None:
        ends = time.monotonic() + 0.5
        while time.monotonic() < ends:  # noqa: ASYNC110
            await asyncio.sleep(0)

    try:
        loop.run_until_complete(asyncio.sleep(0.12))
        assert watch.idle_share > 0.5
        before_ns, began_s, used_s = watch.idle_ns, time.monotonic(), time.thread_time()
        loop.run_until_complete(work())
        not_used_s = (time.monotonic() - began_s) - (time.thread_time() - used_s)
        assert 0 <= (watch.idle_ns - before_ns) / 1e9 <= not_used_s + 0.2  # it is looked at now and then only
    finally:
        loop.close()


def test_a_turn_of_a_real_loop_is_measured() -> None:
    loop, watch = new_event_loop(SystemClock())

    async def hold_the_loop() -> None:
        await asyncio.sleep(0)
        ends = time.monotonic() + 0.02
        while time.monotonic() < ends:
            pass
        await asyncio.sleep(0)

    try:
        loop.run_until_complete(hold_the_loop())
        loop.run_until_complete(asyncio.sleep(0))
    finally:
        loop.close()
    assert watch.longest_stall_ms >= 20


class ManyReady:
    """A selector with sockets that have something to read. read: takes it from one of them."""

    def __init__(self, stack: contextlib.ExitStack, count: int) -> None:
        self.watch = LoopWatch(0.0)
        self.selector = WatchedSelector(self.watch, lambda: 0.0)
        stack.callback(self.selector.close)
        self.ends: dict[int, tuple[socket.socket, socket.socket]] = {}
        for _ in range(count):
            ours, theirs = socket.socketpair()
            stack.enter_context(ours)
            stack.enter_context(theirs)
            theirs.send(b"x")
            self.ends[ours.fileno()] = ours, theirs
            self.selector.register(ours.fileno(), selectors.EVENT_READ)

    def turn(self) -> list[int]:
        """The descriptors of one turn."""
        return [key.fd for key, _ in self.selector.select(0)]

    def read(self, fileno: int) -> None:
        self.ends[fileno][0].recv(1)


@pytest.fixture
def many() -> Iterator[ManyReady]:
    with contextlib.ExitStack() as stack:
        yield ManyReady(stack, 2 * READY_A_TURN + 10)


def test_many_that_are_ready_are_served_some_in_each_turn(many: ManyReady) -> None:
    turns = [many.turn() for _ in range(3)]
    assert [len(turn) for turn in turns] == [READY_A_TURN, READY_A_TURN, 10]
    assert {fileno for turn in turns for fileno in turn} == set(many.ends)  # busy ones do not come twice before others


def test_those_of_one_turn_are_asked_for_again_after_the_left_over_ones(many: ManyReady) -> None:
    for _ in range(3):
        for fileno in many.turn():
            many.read(fileno)
    assert many.turn() == []
    busy = next(iter(many.ends))
    many.ends[busy][1].send(b"x")
    assert many.turn() == [busy]


def test_one_that_was_left_over_and_is_closed_or_registered_again_is_not_served_as_it_was(many: ManyReady) -> None:
    served = set(many.turn())
    closed, again, *_ = [fileno for fileno in many.ends if fileno not in served]
    many.selector.unregister(closed)
    many.selector.modify(again, selectors.EVENT_WRITE)
    assert not {closed, again} & {*many.turn(), *many.turn()}
    asked_again = {key.fd: events for _ in range(3) for key, events in many.selector.select(0)}
    assert asked_again[again] == selectors.EVENT_WRITE
    assert closed not in asked_again


def test_urgent_ones_come_in_every_turn_and_only_while_they_are_registered(many: ManyReady) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        many.watch.urgent.add(ours.fileno())
        assert ours.fileno() not in many.turn()
        many.selector.register(ours.fileno(), selectors.EVENT_READ)
        assert many.turn()[0] == ours.fileno()
        many.selector.unregister(ours.fileno())
        many.selector.select(0)  # what is ready is taken from the system, and left over
        assert ours.fileno() not in many.turn()


def test_a_new_connection_is_accepted_before_those_that_were_ready_earlier() -> None:
    loop, watch = new_event_loop(SystemClock())
    order: list[str] = []
    with contextlib.ExitStack() as stack:
        stack.callback(loop.close)
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        listening.setblocking(False)
        watch.urgent.add(listening.fileno())

        def accept() -> None:
            with contextlib.suppress(BlockingIOError):
                stack.enter_context(listening.accept()[0])
                order.append("accepted")

        def serve(ours: socket.socket) -> None:
            ours.recv(1)
            if not order:
                stack.enter_context(socket.create_connection(listening.getsockname()))
            order.append("served")

        loop.add_reader(listening.fileno(), accept)
        for _ in range(4 * READY_A_TURN):
            ours, theirs = (stack.enter_context(each) for each in socket.socketpair())
            theirs.send(b"x")
            loop.add_reader(ours.fileno(), serve, ours)

        async def until_all_are_served() -> None:
            while len(order) < 4 * READY_A_TURN + 1:  # noqa: ASYNC110
                await asyncio.sleep(0)

        loop.run_until_complete(asyncio.wait_for(until_all_are_served(), 30))
    assert order.index("accepted") <= 2 * READY_A_TURN


def test_what_a_look_has_found_is_served_in_the_next_turn_and_not_asked_for_again() -> None:
    with contextlib.ExitStack() as stack:
        few = ManyReady(stack, 3)
        one, two, three = few.ends
        for fileno in few.turn():
            few.read(fileno)
        assert not few.selector.has_ready()
        few.ends[one][1].send(b"x")
        few.ends[two][1].send(b"x")
        assert few.selector.has_ready()
        few.ends[three][1].send(b"x")  # after the look
        few.selector.unregister(two)
        assert few.turn() == [one]
        few.read(one)
        assert few.turn() == [three]
        assert few.selector.has_ready()
        few.selector.modify(three, selectors.EVENT_WRITE)
        assert few.turn() == []
        assert few.selector.select(0)[0][1] == selectors.EVENT_WRITE


def test_a_look_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float | None] = []
    with contextlib.ExitStack() as stack:
        few = ManyReady(stack, 1)

        def noting(_selector: object, timeout: float | None = None) -> list[object]:
            waits.append(timeout)
            return []

        monkeypatch.setattr(selectors.DefaultSelector, "select", noting)
        assert not few.selector.has_ready()
    assert waits == [0]


def test_those_that_are_left_over_are_something_to_serve(many: ManyReady) -> None:
    many.turn()
    assert many.selector.has_ready()
    many.turn()
    many.turn()
    for fileno in many.ends:
        many.read(fileno)
    assert not many.selector.has_ready()


def test_many_that_a_look_has_found_are_served_some_in_each_turn(many: ManyReady) -> None:
    assert many.selector.has_ready()
    turns = [many.turn() for _ in range(3)]
    assert [len(turn) for turn in turns] == [READY_A_TURN, READY_A_TURN, 10]


def test_what_was_put_off_comes_after_what_has_just_become_ready() -> None:
    loop, watch = new_event_loop(SystemClock())
    order: list[str] = []
    with contextlib.ExitStack() as stack:
        stack.callback(loop.close)
        ours, theirs = (stack.enter_context(each) for each in socket.socketpair())

        def read() -> None:
            ours.recv(1)
            order.append("read")
            loop.call_soon(order.append, "soon")

        def put_off() -> None:
            order.append("put off")
            assert watch.call_last is not None
            if order.count("put off") < 2:
                watch.call_last(put_off)
            else:
                loop.stop()

        def begin() -> None:
            assert watch.call_last is not None
            watch.call_last(put_off)
            theirs.send(b"x")

        loop.add_reader(ours.fileno(), read)
        loop.call_soon(begin)
        loop.call_later(30, loop.stop)  # what was put off does not wait for anything
        began_s = time.monotonic()
        loop.run_forever()
    assert order == ["read", "put off", "soon", "put off"]
    assert time.monotonic() - began_s < 10


def test_a_callback_sees_whether_others_wait() -> None:
    loop, watch = new_event_loop(SystemClock())
    seen: list[bool] = []
    with contextlib.ExitStack() as stack:
        stack.callback(loop.close)
        ours, theirs = (stack.enter_context(each) for each in socket.socketpair())
        loop.add_reader(ours.fileno(), lambda: (ours.recv(1), loop.stop()))

        def look() -> None:
            seen.append(watch.others_wait())  # nobody
            loop.call_soon(seen.append, False)
            seen.append(watch.others_wait())  # a callback
            loop.call_soon(look_again)

        def look_again() -> None:
            seen.append(watch.others_wait())
            theirs.send(b"x")
            seen.append(watch.others_wait())  # a descriptor

        loop.call_soon(look)
        loop.run_forever()
        assert watch.woke_s is not None and watch.woke_s <= time.monotonic()
    assert seen == [False, True, False, False, True]


class Waits:
    """How long a loop wants to wait, turn by turn. It waits for a byte that never comes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, loop: asyncio.AbstractEventLoop) -> None:
        self.seen: list[float | None] = []
        selector = loop._selector  # type: ignore[attr-defined]
        select = selectors.DefaultSelector.select

        def noting(each: selectors.DefaultSelector, timeout: float | None = None) -> object:
            if each is selector:
                self.seen.append(timeout)
            return select(each, timeout)

        monkeypatch.setattr(selectors.DefaultSelector, "select", noting)


def test_what_was_put_off_is_waited_for_once_and_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, watch = new_event_loop(SystemClock())
    order: list[int] = []
    assert watch.call_last is not None
    try:
        waits = Waits(monkeypatch, loop)
        for number in range(3):
            watch.call_last(lambda number=number: order.append(number))
        loop.call_later(1.0, loop.stop)
        loop.run_forever()
        assert order == [0, 1, 2]
        assert waits.seen[0] == 0 and waits.seen[1] and len(waits.seen) == 2  # it does not turn without end after that
        watch.call_last(loop.stop)
        handle = loop.call_later(30, loop.stop)
        loop.run_forever()
        handle.cancel()
        assert waits.seen[2] == 0
    finally:
        loop.close()


def test_a_timer_that_is_due_and_work_that_was_put_off_are_others() -> None:
    loop, watch = new_event_loop(SystemClock())
    assert watch.call_last is not None
    seen: list[bool] = []

    def look() -> None:
        handle = loop.call_later(30, loop.stop)
        seen.append(watch.others_wait())
        handle.cancel()
        loop.call_later(0, lambda: None)
        seen.append(watch.others_wait())
        loop.call_later(0.01, look_again)

    def look_again() -> None:
        seen.append(watch.others_wait())
        assert watch.call_last is not None
        watch.call_last(loop.stop)
        seen.append(watch.others_wait())

    try:
        loop.call_later(0.01, look)
        loop.run_forever()
    finally:
        loop.close()
    assert seen == [False, True, False, True]


def test_a_turn_begins_when_the_wait_is_over() -> None:
    loop, watch = new_event_loop(SystemClock())
    ages: list[float] = []

    def note() -> None:
        assert watch.woke_s is not None
        ages.append(time.monotonic() - watch.woke_s)
        loop.stop()

    try:
        loop.call_later(1.0, note)
        loop.run_forever()
    finally:
        loop.close()
    assert 0 <= ages[0] < 0.8


def test_a_closed_loop_keeps_nothing_and_takes_nothing() -> None:
    loop, watch = new_event_loop(SystemClock())
    assert watch.call_last is not None
    watch.call_last(print)
    loop.close()
    assert not loop._last  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match="closed"):
        watch.call_last(print)
