"""What signals do to a command that waits, works, or is ending already."""

import os
import signal

import pytest

from kafka_py.cli.common.termination import EndSignals, Terminated


def send(number):
    os.kill(os.getpid(), number)


def test_a_signal_wakes_a_command_and_does_not_cut_it_off():
    woken = []
    with EndSignals() as signals:
        signals.wake = lambda: woken.append(True)
        assert (signals.came, signals.exit_code) == (False, 0)
        send(signal.SIGTERM)
        assert (woken, signals.came, signals.exit_code) == ([True], True, 128 + signal.SIGTERM)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cuts_off_what_may_be_cut_off(number):
    with EndSignals() as signals:
        signals.wake = pytest.fail
        with pytest.raises(Terminated) as caught, signals.interruptible():
            send(number)
        assert caught.value.exit_code == signals.exit_code == 128 + number


def test_only_a_later_signal_interrupts_the_ending():
    now = [5.0]
    with EndSignals(lambda: now[0]) as signals:
        send(signal.SIGTERM)
        with signals.interruptible():
            send(signal.SIGTERM)
        now[0] += 2
        with pytest.raises(Terminated):
            send(signal.SIGINT)
        assert signals.exit_code == 128 + signal.SIGTERM


def test_an_interrupt_that_is_ignored_stays_ignored_and_the_rest_is_as_before():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with EndSignals() as signals:
            send(signal.SIGINT)
            assert not signals.came
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGINT, before)
