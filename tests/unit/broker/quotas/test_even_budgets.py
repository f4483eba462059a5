"""Clients that take all they can get their byte rate evenly, and all others what the samples alone give them."""

import heapq
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_py.base.quota_rates import Window
from kafka_py.broker.quotas.client_quotas import ClientQuotas
from kafka_py.broker.quotas.sensors import LONGEST_THROTTLE_MS, Budget, EvenBudget
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.net.principal import ANONYMOUS

LIMIT = 200_000.0
WINDOW = Window.of_seconds(11, 1)
WINDOW_S = 11.0
BEGAN_MS = 1e6
"""A broker's clock does not begin at 0."""

Make = type[Budget]
Client = Callable[[float, int], tuple[int, int]]
Log = list[tuple[float, int]]
"""Seconds, bytes."""


def made(make: Make = EvenBudget, limit: float | None = LIMIT) -> Budget:
    return make(("", "c"), WINDOW, limit, LONGEST_THROTTLE_MS)


def run(clients: int, seconds: float, one: Client) -> Log:
    """Clients that send as soon as they may. one: (now in ms, its number) -> bytes sent, throttle time."""
    due = [(number * 0.1, number) for number in range(clients)]
    log = []
    while due[0][0] < seconds * 1000.0:
        now_ms, number = heapq.heappop(due)
        sent, throttle_ms = one(BEGAN_MS + now_ms, number)
        log.append((now_ms / 1000.0, sent))
        heapq.heappush(due, (now_ms + 2.0 + throttle_ms, number))
    return log


def share(log: Log, begin_s: float, length_s: float) -> float:
    return sum(size for at_s, size in log if begin_s <= at_s < begin_s + length_s) / length_s / LIMIT


def producing(budget: Budget, size: int) -> Client:
    return lambda now_ms, _number: (size, budget.charge(size, now_ms))


def consuming(budget: Budget, size: int) -> Client:
    def one(now_ms: float, number: int) -> tuple[int, int]:
        throttle_ms = budget.admit(size, now_ms, number)
        return (0 if throttle_ms else size), throttle_ms

    return one


@pytest.mark.parametrize("begin_s", [11, 13, 17.5, 22, 40])
@pytest.mark.parametrize(("clients", "size"), [(1, 1_000), (1, 16_384), (1, 100_000), (5, 1_000), (5, 16_384)])
def test_a_producer_that_takes_all_it_can_has_its_rate_over_30_seconds(clients: int, size: int, begin_s: float) -> None:
    log = run(clients, 75, producing(made(), size))
    assert 0.9 < share(log, begin_s, 30) < 1.02


@pytest.mark.parametrize("begin_s", [11, 15, 30])
@pytest.mark.parametrize(("clients", "size"), [(1, 1_000), (1, 50_000), (5, 50_000), (1, 190_000)])
def test_a_consumer_that_takes_all_it_can_has_its_rate_too(clients: int, size: int, begin_s: float) -> None:
    log = run(clients, 75, consuming(made(), size))
    assert 0.85 < share(log, begin_s, 30) < 1.05


def shares_of_connections(budget: Budget, ways_ms: list[float], size: int, seconds: float = 300.0) -> list[float]:
    """What each of a client's connections has of the limit, if all fetch what they can. ways_ms: there and back."""
    due = [(BEGAN_MS + way_ms, number) for number, way_ms in enumerate(ways_ms)]
    heapq.heapify(due)
    got = [0] * len(ways_ms)
    while due[0][0] < BEGAN_MS + seconds * 1000.0:
        now_ms, number = heapq.heappop(due)
        throttle_ms = budget.admit(size, now_ms, number)
        got[number] += 0 if throttle_ms else size
        heapq.heappush(due, (now_ms + throttle_ms + ways_ms[number], number))
    return [total / seconds / LIMIT for total in got]


@pytest.mark.parametrize(
    ("ways_ms", "size", "least"),
    [
        ([1, 8], 4_000, 0.4),
        ([1, 1.1], 100_000, 0.4),
        ([1, 8, 15, 22, 29], 20_000, 0.15),
        ([1, 2] * 15, 10_000, 0.02),
        ([1, 500], 20_000, 0.02),
        ([1, 8, 15], 200, 0.05),
    ],
)
def test_the_connection_with_the_shortest_way_does_not_have_all_of_its_client(
    ways_ms: list[float], size: int, least: float
) -> None:
    shares = shares_of_connections(made(), ways_ms, size)
    assert min(shares) > least
    assert 0.9 < sum(shares) < 1.05


def test_nobody_waits_for_what_takes_long_to_be_within_the_limit() -> None:
    budget = made()
    budget.charge(10.5 * LIMIT, BEGAN_MS)
    assert budget.admit(3 * LIMIT, BEGAN_MS + 500.0, 1) == pytest.approx(3000, abs=2)
    assert budget.admit(0.1 * LIMIT, BEGAN_MS + 500.0, 2) == pytest.approx(100, abs=2)
    assert budget.admit(0.1 * LIMIT, BEGAN_MS + 500.0, 3) == pytest.approx(200, abs=2)


def test_turns_are_at_most_a_window_ahead_and_end_with_their_limit() -> None:
    budget = made()
    budget.charge(10.5 * LIMIT, BEGAN_MS)
    times = [budget.admit(0.4 * LIMIT, BEGAN_MS + 500.0, number) for number in range(100)]
    assert times[:3] == pytest.approx([400, 800, 1200], abs=5)
    assert max(times) == 11_000
    budget.set_limit(2 * LIMIT)
    assert budget.admit(0.4 * LIMIT, BEGAN_MS + 501.0, 101) == 0


def test_turns_of_connections_that_have_left_end_a_sample_later() -> None:
    budget = made()
    assert isinstance(budget, EvenBudget)
    budget.charge(10.5 * LIMIT, BEGAN_MS)
    for number in range(10_000):  # a client that connects again each time, and never waits
        budget.charge(0.01 * LIMIT, BEGAN_MS + 500.0 + number * 10.0)
        assert budget.admit(0.1 * LIMIT, BEGAN_MS + 500.0 + number * 10.0, number) > 0
    assert len(budget._turns or ()) <= 1201, "those of a window and a sample"
    assert budget.admit(0.001 * LIMIT, BEGAN_MS + 112_500.0, 0) == 0


def test_nobody_is_admitted_before_whoever_waits_for_a_turn() -> None:
    budget = made()
    budget.charge(10.1 * LIMIT, BEGAN_MS)
    assert budget.admit(0.1 * LIMIT, BEGAN_MS + 11_050.0, 1) == 0
    assert budget.charge(9.9 * LIMIT, BEGAN_MS + 11_050.0) == 0
    throttle_ms = budget.admit(0.2 * LIMIT, BEGAN_MS + 11_050.0, 1)
    assert throttle_ms == 200
    late_ms = BEGAN_MS + 11_050.0 + throttle_ms + 200.0
    assert budget.admit(0.001 * LIMIT, late_ms, 2) > 0
    assert budget.admit(0.1 * LIMIT, late_ms + 1.0, 1) == 0


def test_a_turn_may_come_a_little_early() -> None:
    budget = made()
    budget.charge(10.1 * LIMIT, BEGAN_MS)
    assert budget.admit(0.1 * LIMIT, BEGAN_MS + 11_050.0, 1) == 0
    budget.charge(9.9 * LIMIT, BEGAN_MS + 11_050.0)
    times = [budget.admit(0.2 * LIMIT, BEGAN_MS + 11_050.0, number) for number in (1, 2)]
    assert times == [200, 400]
    assert budget.admit(0.2 * LIMIT, BEGAN_MS + 11_249.6, 1) == 0


def test_turns_end_where_the_samples_decide_alone_again() -> None:
    budget = made()
    budget.charge(10.1 * LIMIT, BEGAN_MS)
    assert budget.admit(0.1 * LIMIT, BEGAN_MS + 11_050.0, 1) == 0
    budget.charge(9.9 * LIMIT, BEGAN_MS + 11_050.0)
    for number in range(8):
        assert budget.admit(0.4 * LIMIT, BEGAN_MS + 11_050.0, number) > 0
    total = budget.total
    assert budget.admit(0.1 * LIMIT, BEGAN_MS + 13_200.0, 9) == 0
    assert budget.total == total + 0.1 * LIMIT


def test_what_is_refused_is_not_recorded() -> None:
    for budget in (made(), made(Budget)):
        budget.charge(10.5 * LIMIT, BEGAN_MS)
        total = budget.total
        assert budget.admit(LIMIT / 10, BEGAN_MS + 1.0, 1) > 0
        assert budget.admit(LIMIT, BEGAN_MS + 2.0, 1) > 0
        assert budget.total == total


def test_responses_of_more_than_a_sample_are_still_sent() -> None:
    log = run(1, 120, consuming(made(), 900_000))
    assert 0.7 < share(log, 11, 99) < 1.2


def test_without_that_there_is_a_burst_in_every_window() -> None:
    log = run(1, 75, producing(made(Budget), 16_384))
    assert share(log, 11, 30) > 1.09


@pytest.mark.parametrize(("text", "make"), [("true", EvenBudget), ("false", Budget)])
def test_the_setting_decides_for_both_byte_rates(text: str, make: Make) -> None:
    quotas = ClientQuotas(BrokerConfig.parse({"zookeeper.connect": "z", "kafka_py.quota.even": text}))
    client = ANONYMOUS, "c"
    assert type(quotas.produce.budget_of(client)) is type(quotas.fetch.budget_of(client)) is make
    assert type(quotas.request.budget_of(client)) is Budget


def test_bursts_within_the_limit_are_never_throttled() -> None:
    budget = made()
    times = [budget.charge(9.9 * LIMIT, BEGAN_MS + number * 11_000.0) for number in range(20)]
    assert times == [0] * 20


def test_who_leaves_his_budget_unused_for_a_sample_is_measured_by_the_samples_alone() -> None:
    budget = made()
    assert budget.charge(10.5 * LIMIT, BEGAN_MS) == 500
    assert budget.charge(0, BEGAN_MS + 500) == 0
    assert budget.charge(LIMIT, BEGAN_MS + 11_001.0) == 0
    assert budget.charge(8.9 * LIMIT, BEGAN_MS + 11_002.0) == 0
    assert budget.charge(LIMIT, BEGAN_MS + 11_003.0) == pytest.approx(900, abs=3)


def test_another_limit_ends_what_was_to_be_paid_back_and_the_same_one_does_not() -> None:
    budget = made()
    assert budget.charge(20 * LIMIT, BEGAN_MS) == 10_000
    budget.set_limit(LIMIT)
    assert budget.charge(LIMIT, BEGAN_MS + 10_999.0) == pytest.approx(10_000, abs=10)
    budget.set_limit(2 * LIMIT)
    assert budget.charge(LIMIT, BEGAN_MS + 11_001.0) == 0
    budget.set_limit(None)
    assert budget.charge(1e12, BEGAN_MS + 11_002.0) == 0


def test_what_is_to_be_paid_back_is_at_most_a_window() -> None:
    budget = made()
    assert budget.charge(1000 * LIMIT, BEGAN_MS) == 990_000
    assert budget.charge(LIMIT / 10, BEGAN_MS + 12_001.0) == 0


@pytest.mark.parametrize("limit", [0.0, -1.0])
def test_limits_of_nothing_are_as_without(limit: float) -> None:
    assert made(limit=limit).charge(1, BEGAN_MS) == made(Budget, limit).charge(1, BEGAN_MS)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 2_500_000), st.floats(0.0, 3.0)), min_size=1, max_size=30))
def test_in_the_first_window_throttle_times_are_at_most_a_sample_longer(requests: list[tuple[int, float]]) -> None:
    """Of a client that waits as long as it is told, and of one that does not: a window is 10 to 11 samples long."""
    for waits in (True, False):
        even, alone = made(), made(Budget)
        now_ms = BEGAN_MS
        for size, pause_s in requests:
            if now_ms >= BEGAN_MS + 10_000.0:
                break
            throttle_ms = alone.charge(size, now_ms)
            assert throttle_ms <= even.charge(size, now_ms) <= throttle_ms + 1001
            now_ms += pause_s * 1000.0 + (throttle_ms if waits else 0)
