"""What a follower does to its log: the pieces in which it appends what was fetched."""

from kafka_py.replication.follower import following
from kafka_py.replication.follower.following import pieces
from kafka_py.testing.fakes.stored_logs import batch

ONE = bytes(batch([b"v"]))


def test_what_was_fetched_is_one_piece() -> None:
    assert [bytes(piece) for piece in pieces(memoryview(ONE * 5 + ONE[:30]))] == [ONE * 5 + ONE[:30]]
    assert [bytes(piece) for piece in pieces(memoryview(b""))] == [b""]


def test_very_many_batches_are_cut_between_batches() -> None:
    many = following._BATCHES_AT_ONCE
    found = [bytes(piece) for piece in pieces(memoryview(ONE * (2 * many + 1) + ONE[:9]))]
    assert [len(piece) // len(ONE) for piece in found] == [many, many, 1]
    assert b"".join(found) == ONE * (2 * many + 1) + ONE[:9]


def test_rubbish_is_left_to_the_append_to_refuse() -> None:
    assert [bytes(piece) for piece in pieces(memoryview(ONE + b"\xff" * 20))] == [ONE + b"\xff" * 20]
