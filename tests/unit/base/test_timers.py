"""The timing wheel on a clock that the test moves; at the end worked examples (W6.2 to W6.8)."""

import random
from collections.abc import Callable

import pytest

from kafka_py.base import timers
from kafka_py.base.timers import Timers


class World:
    """A clock and a loop's `call_later` in one; `run_to` fires what the loop would."""

    def __init__(self) -> None:
        self.now = 0.0
        self.wakes: list[Wake] = []
        self.wake_count = 0
        self.timers = Timers(self, self.call_later)

    def wall_ms(self) -> int:
        return int(self.now)

    def monotonic_ms(self) -> float:
        return self.now

    def monotonic_s(self) -> float:
        return self.monotonic_ms() / 1000

    def call_later(self, delay: float, callback: Callable[[], None]) -> "Wake":
        wake = Wake(self.now + delay * 1000.0, callback)
        self.wakes.append(wake)
        return wake

    def run_to(self, moment: float) -> None:
        while True:
            live = [wake for wake in self.wakes if not wake.cancelled and wake.at <= moment]
            if not live:
                break
            wake = min(live, key=lambda each: each.at)
            self.wakes.remove(wake)
            self.now = max(self.now, wake.at)
            self.wake_count += 1
            wake.callback()
        self.now = moment


class Wake:
    def __init__(self, at: float, callback: Callable[[], None]) -> None:
        self.at = at
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


def test_fires_at_its_deadline_and_never_early() -> None:
    world = World()
    fired: list[float] = []
    for delay in (0, 1, 19, 20, 21, 399, 400, 401, 8_000, 123_456):
        world.timers.schedule(delay, lambda: fired.append(world.now))
    world.run_to(398)
    assert fired == [0, 1, 19, 20, 21]
    world.run_to(200_000)
    assert fired == [0, 1, 19, 20, 21, 399, 400, 401, 8_000, 123_456]
    assert world.timers.pending == 0


def test_a_fraction_of_a_millisecond_is_rounded_up() -> None:
    world = World()
    world.now = 10.25
    fired: list[float] = []
    world.timers.schedule(5, lambda: fired.append(world.now))
    world.run_to(15.9)
    assert fired == []
    world.run_to(16.0)
    assert fired == [16.0]


def test_random_timers_all_fire_in_order_within_their_millisecond() -> None:
    world = World()
    chance = random.Random(7)
    fired: list[tuple[float, float]] = []
    expected = 0
    for _ in range(2_000):
        world.run_to(world.now + chance.random() * 30)
        delay = chance.choice((3, 50, 700, 9_000, 40_000)) * chance.random()
        deadline = world.now + delay
        timer = world.timers.schedule(delay, lambda deadline=deadline: fired.append((deadline, world.now)))
        if chance.random() < 0.3:
            assert timer.cancel()
        else:
            expected += 1
    world.run_to(world.now + 50_000)
    assert len(fired) == expected
    assert all(0 <= at - deadline <= 1.0 for deadline, at in fired)
    assert [at for _, at in fired] == sorted(at for _, at in fired)


def test_a_cancelled_timer_stays_silent_and_says_so_once() -> None:
    world = World()
    timer = world.timers.schedule(500, lambda: 1 / 0)
    assert timer.is_active
    assert timer.cancel()
    assert not timer.cancel()
    assert not timer.is_active
    world.run_to(1_000)
    assert world.timers.pending == 0


def test_the_loop_sleeps_until_a_bucket_is_due() -> None:
    world = World()
    world.timers.schedule(10_000, lambda: None)
    world.run_to(10_000)
    assert world.wake_count <= 4  # one per level passed on the way down
    assert world.timers.pending == 0


def test_long_polls_that_are_answered_early_cost_few_wake_ups() -> None:
    world = World()
    for _ in range(5_000):
        world.timers.schedule(500, lambda: None).cancel()
        world.run_to(world.now + 1)
    assert world.wake_count < 40


def test_a_timer_may_cancel_its_neighbour_in_the_same_bucket() -> None:
    world = World()
    fired: list[str] = []
    first = world.timers.schedule(5, lambda: (fired.append("first"), second.cancel()))
    second = world.timers.schedule(5, lambda: fired.append("second"))
    world.run_to(10)
    assert fired == ["first"]
    assert not first.is_active


def test_a_timer_that_starts_itself_anew_with_no_delay_lets_the_loop_go_on() -> None:
    world = World()
    fired: list[float] = []

    def again() -> None:
        fired.append(world.now)
        world.timers.schedule(0, again)

    world.timers.schedule(0, again)
    world.run_to(5)
    assert fired == [0, 1, 2, 3, 4, 5]


def test_a_failing_callback_harms_no_other(caplog: object) -> None:
    world = World()
    fired: list[float] = []
    world.timers.schedule(5, lambda: 1 / 0)
    world.timers.schedule(5, lambda: fired.append(world.now))
    world.timers.schedule(6, lambda: fired.append(world.now))
    world.run_to(10)
    assert fired == [5, 6]


def test_close_forgets_everything() -> None:
    world = World()
    timer = world.timers.schedule(5, lambda: 1 / 0)
    world.timers.close()
    assert not timer.cancel()
    world.run_to(10)
    assert world.timers.pending == 0


# The wheel of W6.3: level 1 counts 1 ms, level 2 counts 20 ms, level 3 counts 400 ms, twenty slots each.


def whereabouts(world: World) -> list[tuple[int, int]]:
    """(the level's tick, the slot on that level) of every bucket with a timer, in order of time."""
    held = [(start, tick) for (tick, start), bucket in world.timers._buckets.items() if bucket]
    return [(tick, start // tick % timers.SLOTS) for start, tick in sorted(held)]


def test_w6_2_slots_of_the_lowest_level_are_used_again() -> None:
    """W6.2: at 0 a task of 2 ms -> slot 2; at 2 one of 8 ms -> slot 10 and one of 19 ms -> slot 1."""
    world = World()
    world.timers.schedule(2, lambda: None)
    assert whereabouts(world) == [(1, 2)]
    world.run_to(2)
    world.timers.schedule(8, lambda: None)
    world.timers.schedule(19, lambda: None)
    assert whereabouts(world) == [(1, 10), (1, 1)]


@pytest.mark.parametrize(
    ("delay", "tick"), [(1, 1), (19, 1), (20, 20), (399, 20), (400, 400), (7_999, 400), (8_000, 8_000)]
)
def test_w6_3_each_level_reaches_twenty_times_as_far(delay: int, tick: int) -> None:
    """W6.3: levels 1/20/20 ms, 20/20/400 ms, 400/20/8000 ms, written tick/slots/span."""
    world = World()
    world.timers.schedule(delay, lambda: None)
    [(found, _)] = whereabouts(world)
    assert found == tick


def test_w6_4_a_task_of_350_ms_waits_in_slot_17_of_the_second_level() -> None:
    world = World()
    world.timers.schedule(350, lambda: None)
    assert whereabouts(world) == [(20, 17)]


def test_w6_5_tasks_of_446_to_473_ms_share_slot_1_of_the_third_level() -> None:
    """W6.5: 446, 450, 455 and 473 ms lie in [400, 800), one list that is due at 400 ms."""
    world = World()
    for delay in (450, 446, 455, 473):
        world.timers.schedule(delay, lambda: None)
    assert whereabouts(world) == [(400, 1)]
    assert [wake.at for wake in world.wakes if not wake.cancelled] == [400]


def test_w6_6_a_task_of_450_ms_goes_down_level_by_level() -> None:
    """W6.6: at 400 ms to [40, 60) of level 2, 40 ms later to [10, 11) of level 1, and fires after 450 ms in all."""
    world = World()
    fired: list[float] = []
    world.timers.schedule(450, lambda: fired.append(world.now))
    world.run_to(400)
    assert list(world.timers._buckets) == [(20, 440)]
    world.run_to(440)
    assert list(world.timers._buckets) == [(1, 450)]
    world.run_to(449)
    assert fired == []
    world.run_to(450)
    assert fired == [450]


def test_w6_7_time_advances_only_for_a_list_that_is_due() -> None:
    """W6.7: lists due at 200 and at 840 ms cost a wake-up each, where ticking would take 199 and 639 in vain."""
    world = World()
    world.timers.schedule(200, lambda: None)
    world.run_to(200)
    assert world.wake_count == 1
    world.run_to(500)
    world.timers.schedule(340, lambda: None)
    world.run_to(840)
    assert (world.wake_count, world.timers.pending) == (2, 0)


def test_w6_8_second_minute_and_hour_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """W6.8: with sixty slots the levels are a clock's hands; a tick stands for a second."""
    monkeypatch.setattr(timers, "SLOTS", 60)
    world = World()
    fired: list[float] = []
    moment = 3_600 + 50 * 60 + 10
    world.timers.schedule(moment, lambda: fired.append(world.now))
    seen = []
    for at in (0, 3_600, 3_600 + 50 * 60, moment):
        world.run_to(at)
        seen.append(whereabouts(world))
    assert seen == [[(3_600, 1)], [(60, 50)], [(1, 10)], []]
    assert fired == [moment]
