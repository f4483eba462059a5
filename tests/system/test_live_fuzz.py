"""Changed frames over the sockets of a running broker, some thousands before, during and after logins.

The long form, with figures, is benchmarks/security/live_fuzz.py.
"""

from collections.abc import Iterator
from random import Random

import pytest

from benchmarks.security.fuzzing.generator import Counter
from benchmarks.security.fuzzing.scripts import Answers, Frame, Script, read_of_login, read_of_requests
from benchmarks.security.fuzzing.target import Target, faults_in, running_target
from benchmarks.security.live_fuzz import PHASES, Pace, run_phase

FRAMES = {"before": 10_000, "during": 3_000, "after": 7_000}
PACE = Pace(with_s=2.0, alone_s=0.1)
MOST_GROWTH_MB = 60.0


@pytest.fixture(scope="module")
def target(zookeeper, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    with running_target(f"{zookeeper.connect}/live-fuzz", tmp_path_factory.mktemp("live-fuzz")) as found:
        yield found


@pytest.mark.parametrize("phase", PHASES)
def test_changed_frames_hurt_nobody_else(target: Target, phase: str) -> None:
    found = run_phase(phase, target, FRAMES[phase], seed=5, scripts=100, pace=PACE)
    assert not found.faults
    assert found.counts[Counter.READ] >= FRAMES[phase]
    assert found.counts[Counter.ENDED] > 20
    assert (found.missing, found.written > 0) == (0, True)
    assert found.resident_mb[-1] - found.resident_mb[0] < MOST_GROWTH_MB


def test_faults_are_found_in_a_log(tmp_path) -> None:
    log = tmp_path / "server.log"
    log.write_text("[x] INFO fine\n[x] ERROR Produce v1 failed\nTraceback (most recent call last):\n  File\n")
    assert len(faults_in(log)) == 2


# ---- which frames count


def _frame(number: int) -> Frame:
    return Frame(b"\0\0\0\x0a\0\x12\0\0" + number.to_bytes(4, "big") + b"\xff\xff", 14)


def _answer(serial: int, index: int, error: int = 0) -> bytes:
    return b"\0\0\0\x06" + (serial << 7 | index).to_bytes(4, "big") + error.to_bytes(2, "big")


SCRIPT = Script([_frame(number) for number in range(10)])


def test_each_time_a_script_has_other_ids_and_bytes() -> None:
    script = Script([Frame(b"\0\0\0\x0c\0\x12\0\0\0\0\0\0\xff\xffab", 14, [14, 15])] * 3)
    chance = Random(1)
    made = [bytes(script.fill(serial, chance)) for serial in range(200)]
    assert len(set(made)) == 200
    assert {each[8:12] for each in made} == {(serial << 7).to_bytes(4, "big") for serial in range(200)}
    assert all(each[:8] == b"\0\0\0\x0c\0\x12\0\0" for each in made)
    assert len({each[14:16] for each in made}) > 50


@pytest.mark.parametrize("step", [1, 3, 7, 1000])
def test_answers_are_counted_however_they_arrive(step: int) -> None:
    large = b"\0\0\x10\0" + (9 << 7 | 1).to_bytes(4, "big") + bytes(4092)
    stream = b"\0\0\0\0" + _answer(9, 0, 35) + large + b"\0\0\0\x02ab" + _answer(8, 7) + _answer(9, 2, 58)
    answers = Answers(9)
    for at in range(0, len(stream), step):
        answers.take(stream[at : at + step])
    assert (answers.count, answers.last_index, answers.last_error) == (6, 2, 58)


@pytest.mark.parametrize(
    ("errors", "is_over", "read"),
    [
        ([], False, 0),
        ([], True, 1),  # the first one ended the connection
        ([0, 35, 42], True, 4),
        ([0, 58], True, 2),  # the second one was answered, and ended it
        ([0] * 10, True, 10),  # this side's end was read after all
    ],
)
def test_frames_of_logins_that_count(errors: list[int], is_over: bool, read: int) -> None:
    answers = Answers(3)
    for index, error in enumerate(errors):
        answers.take(_answer(3, index, error))
    assert read_of_login(SCRIPT, answers, is_over=is_over) == read


@pytest.mark.parametrize(
    ("indexes", "is_over", "read"),
    [([], False, 0), ([], True, 1), ([0, 4], False, 5), ([0, 4], True, 6), ([9], True, 10)],
)
def test_requests_that_count(indexes: list[int], is_over: bool, read: int) -> None:
    """Requests that have no response count when a later one has."""
    answers = Answers(3)
    answers.take(_answer(2, 9))  # of the script before
    for index in indexes:
        answers.take(_answer(3, index))
    assert read_of_requests(SCRIPT, answers, is_over=is_over) == read
