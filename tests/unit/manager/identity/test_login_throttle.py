"""Failed logins make the next one wait; the wait of a user is short, that of an address grows."""

from kafka_py.manager.identity.login_throttle import FORGOTTEN_AFTER_MS, MOST_KEYS, LoginThrottle
from kafka_py.testing.clock import ManualClock


def test_the_wait_grows_with_each_failure_up_to_a_minute() -> None:
    clock = ManualClock()
    throttle = LoginThrottle(clock)
    waits = []
    for number in range(12):
        throttle.failed("1.2.3.4", f"user{number}")
        waits.append(throttle.wait_ms("1.2.3.4", "anybody"))
    assert waits == [0, 0, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, *[60_000] * 4]
    clock.advance(59_999)
    assert throttle.wait_ms("1.2.3.4", "anybody") == 1
    assert throttle.wait_ms("5.6.7.8", "anybody") == 0


def test_nobody_can_lock_another_one_out_for_long() -> None:
    throttle = LoginThrottle(ManualClock())
    for number in range(50):
        throttle.failed(f"1.2.3.{number}", "ann")
    assert throttle.wait_ms("9.9.9.9", "ann") == 5_000


def test_a_long_name_is_kept_in_part_only() -> None:
    throttle = LoginThrottle(ManualClock())
    for number in range(5):
        throttle.failed(f"1.2.3.{number}", "a" * 1_000_000)
    assert sum(len(name) for _, name in throttle._failures) < 200
    assert throttle.wait_ms("9.9.9.9", "a" * 1_000_000) > 0
    throttle.succeeded("9.9.9.9", "a" * 1_000_000)
    assert throttle.wait_ms("9.9.9.9", "a" * 1_000_000) == 0


def test_a_success_and_time_forget_failures() -> None:
    clock = ManualClock()
    throttle = LoginThrottle(clock)
    for _ in range(5):
        throttle.failed("1.2.3.4", "ann")
    throttle.succeeded("1.2.3.4", "ann")
    assert throttle.wait_ms("1.2.3.4", "ann") == 0
    for _ in range(5):
        throttle.failed("1.2.3.4", "ann")
    clock.advance(FORGOTTEN_AFTER_MS + 1)
    throttle.failed("1.2.3.4", "ann")
    assert throttle.wait_ms("1.2.3.4", "ann") == 0


def test_very_many_names_are_not_all_kept() -> None:
    throttle = LoginThrottle(ManualClock())
    for number in range(MOST_KEYS):
        throttle.failed("1.2.3.4", f"user{number}")
    assert len(throttle._failures) <= MOST_KEYS
