"""Signals that ask a pipeline to end, and the second one that does not wait."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from kafka_py.pipeline.jobs.stopping import Stop


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_and_the_second_interrupts(
    number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(number)
    stop = Stop()
    with stop.by_signals():
        assert not stop.asked
        os.kill(os.getpid(), number)
        assert stop.asked
        assert "stopping; once more to stop at once" in capsys.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


def test_a_pause_ends_when_somebody_asks() -> None:
    stop = Stop()
    with stop.by_signals():
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        begun = time.monotonic()
        stop.wait(60)
        assert stop.asked
        assert time.monotonic() - begun < 30
    stop.wait(60)


def test_a_pause_takes_its_time() -> None:
    begun = time.monotonic()
    Stop().wait(0.15)
    assert time.monotonic() - begun >= 0.15
