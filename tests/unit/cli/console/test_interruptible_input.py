"""Input that signals interrupt: also the signal that arrives between Python's check and the wait itself."""

import io
import os
import random
import select
import signal
import subprocess
import sys

from kafka_py.cli.console.interruptible_input import interruptible

ECHO = """
import os, signal, sys
from kafka_py.cli.console.interruptible_input import interruptible

signal.signal(signal.SIGUSR1, lambda *_: os.write(1, b"s"))
with interruptible(sys.stdin.buffer) as stream:
    os.write(1, b"r")
    while stream.read1(65536):
        pass
"""
SIGNALS = 2000


def test_no_signal_waits_for_the_next_input():
    """Reading with plain read1, about one signal in a thousand was seen only when the next byte came."""
    command = [sys.executable, "-c", ECHO]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as echo:
        assert echo.stdout.read(1) == b"r"
        chance = random.Random(7)
        for number in range(SIGNALS):
            echo.stdin.write(b"begun")
            for _ in range(chance.randrange(1500)):
                pass
            echo.send_signal(signal.SIGUSR1)
            assert select.select([echo.stdout], [], [], 30)[0], f"signal {number} was not seen"
            assert echo.stdout.read(1) == b"s"
        echo.stdin.close()
        assert echo.wait(30) == 0


def test_all_bytes_up_to_the_end():
    reading, writing = os.pipe()
    with open(reading, "rb") as source, interruptible(source) as stream:
        os.write(writing, b"one\ntwo")
        assert stream.read1(100) == b"one\ntwo"
        os.write(writing, b"last")
        os.close(writing)
        assert stream.read() == b"last"
        assert stream.read1(100) == b""


def test_a_buffer_in_memory_stays_as_it_is():
    source = io.BytesIO(b"x")
    with interruptible(source) as stream:
        assert stream is source


def test_what_was_set_before_is_set_again():
    reading, writing = os.pipe2(os.O_NONBLOCK)
    before = signal.set_wakeup_fd(writing)
    try:
        with open(os.devnull, "rb") as source, interruptible(source) as stream:
            assert stream.read() == b""
        assert signal.set_wakeup_fd(before) == writing
    finally:
        os.close(reading)
        os.close(writing)
