"""The files of a log: what a clean stop leaves on disk."""

from kafka_py.testing.fakes.stored_logs import LogWorld


class IdleBackground:
    """Never runs a job: as when the broker stops before a thread of the pool is free."""

    def run(self, work, done=None, failed=None):
        pass


def test_a_clean_stop_writes_leader_epochs_that_are_still_to_be_written():
    world = LogWorld(background=IdleBackground())
    world.append_many(2)
    world.log.assign_epoch(7, 2)
    assert b"7 2" not in world.data("leader-epoch-checkpoint")
    world.log.close()
    assert world.data("leader-epoch-checkpoint").decode().splitlines() == ["0", "2", "0 0", "7 2"]
