"""The leader epochs of a log are written down as they change."""


from kafka_py.log.disk.background import InlineBackground
from kafka_py.log.state.checkpoints import read_epochs
from kafka_py.log.state.epoch_checkpoint import EpochCheckpoint


class LateBackground:
    """Runs jobs when the test says so."""

    def __init__(self):
        self.jobs = []

    def run(self, work, done=None, failed=None):
        self.jobs.append((work, done, failed))

    def finish_one(self):
        work, done, _ = self.jobs.pop(0)
        done(work())


def on_disk(place):
    return read_epochs(place.files, "/l/leader-epoch-checkpoint")


def test_every_change_is_written_down(place):
    known = EpochCheckpoint(place, InlineBackground(), lambda error: None)
    known.assign(0, 0)
    known.assign(0, 5)
    known.assign(1, 7)
    assert place.files.read_bytes("/l/leader-epoch-checkpoint") == b"0\n2\n0 0\n1 7\n"
    known.truncate_from_end(7)
    known.truncate_from_start(3)
    assert on_disk(place) == [(0, 3)]
    known.clear()
    assert on_disk(place) == []


def test_changes_before_a_write_are_in_it_and_it_is_followed_by_one_more(place):
    background = LateBackground()
    known = EpochCheckpoint(place, background, lambda error: None)
    for epoch in range(5):
        known.assign(epoch, epoch)
    assert len(background.jobs) == 1
    for _ in range(2):
        background.finish_one()
        assert on_disk(place) == [(epoch, epoch) for epoch in range(5)]
    assert not background.jobs


def test_save_now_overtakes_a_write_that_has_not_begun(place):
    background = LateBackground()
    known = EpochCheckpoint(place, background, lambda error: None)
    known.assign(0, 0)
    known.assign(1, 5)
    known.save_now()
    assert on_disk(place) == [(0, 0), (1, 5)]
    background.finish_one()
    assert on_disk(place) == [(0, 0), (1, 5)]
    assert not background.jobs
