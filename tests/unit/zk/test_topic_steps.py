"""The assignment of a large topic is made, encoded and decoded in steps, with the results of a single step."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Generator
from typing import Any

import pytest

from kafka_py.base.steps import to_end
from kafka_py.testing.zookeeper import on_fake
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.topics import STEP_BYTES, STEP_PARTITIONS, ReplicaAssignment, TopicAssignment
from kafka_py.zk.znodes import TopicZNode

ID = uuid.UUID(int=77)
LARGE = 5_000
LARGEST_PIECE = STEP_BYTES + 64
"""A piece ends with the partition in which it gets its full size."""


def sized(partitions: int) -> TopicAssignment:
    """Every third partition number, of which some are being reassigned."""
    rows = {
        3 * number: ReplicaAssignment((number % 5, 7), (7,) * (number % 2), (number % 5,) * (number % 7 == 0))
        for number in reversed(range(partitions))
    }
    return TopicAssignment(rows, ID if partitions % 2 else None)


@pytest.mark.parametrize("partitions", [0, 1, STEP_PARTITIONS, STEP_PARTITIONS + 1, 100, 999, 5_000])
def test_data_in_pieces_is_the_data_in_one_piece(partitions: int) -> None:
    assignment = sized(partitions)
    data = to_end(assignment.encoding())
    assert data == assignment.to_znode().encode()
    read = to_end(TopicAssignment.decoding(data))
    assert read == assignment
    assert list(read.partitions) == sorted(assignment.partitions)
    assert to_end(TopicAssignment.making({3: [1, 2], 1: [2]}, ID)) == TopicAssignment.of({3: [1, 2], 1: [2]}, ID)


def test_a_large_topic_is_made_encoded_and_decoded_in_small_steps() -> None:
    assignment = sized(5_000)
    steps = [
        TopicAssignment.making({number: [1] for number in range(5_000)}), assignment.encoding(),
        TopicAssignment.decoding(assignment.to_znode().encode()),
    ]  # fmt: skip
    assert all(sum(1 for _ in each) >= 5_000 // STEP_PARTITIONS for each in steps)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b":", b" : "), (b"{", b'{"extra":{"partitions":{"1":[9]}},'), (b"{", b'{"partitions":{"1":[9]},'),
        (b"{", b'{"configs":{"1":[9]},'), (b"{", b'{"text":"}{",'), (b"],", b"], "), (b"}", b"} "),
    ],
)  # fmt: skip
def test_a_large_topic_that_something_else_wrote_is_read_as_well(old: bytes, new: bytes) -> None:
    assignment = sized(300)
    data = assignment.to_znode().encode()
    count = -1 if b"{" not in new else 1
    assert to_end(TopicAssignment.decoding(data.replace(old, new, count))) == assignment


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"],", b"]"), (b"],", b"],,"), (b"],", b"]x"), (b"]}", b"],}"), (b"]}", b"]"), (b"}", b"},"), (b"7]", b'"7"]'),
        (b"7]", b"7"), (b'"600"', b'"six"'), (b"{", b","), (b'{"', b'{{"'),
    ],
)  # fmt: skip
def test_a_large_topic_that_cannot_be_read_is_refused(old: bytes, new: bytes) -> None:
    data = sized(300).to_znode().encode()
    broken = data.replace(old, new)
    with pytest.raises(MalformedZNode) as refused:
        to_end(TopicAssignment.decoding(broken))
    with pytest.raises(MalformedZNode) as expected:
        TopicZNode.decode(broken)
    assert str(refused.value) == str(expected.value)


def outcome(data: bytes) -> TopicAssignment | str:
    try:
        return to_end(TopicAssignment.decoding(data))
    except MalformedZNode as error:
        return str(error)


@pytest.mark.parametrize("place", range(40))
def test_a_lost_byte_anywhere_makes_no_other_topic(place: int) -> None:
    """Pieces end where lists end, so each of these has every kind of byte at its edges somewhere."""
    data = sized(300).to_znode().encode()
    at = data.index(b"]", STEP_BYTES * (1 + place // 20)) - 10 + place % 20
    broken = data[:at] + data[at + 1 :]
    found, in_one_step = outcome(broken), outcome(b" " + broken)
    assert found == in_one_step or {type(found), type(in_one_step)} == {str}


@pytest.mark.timeout(10)
@pytest.mark.parametrize("fields_before", [b"", b'"version":3,'])
def test_a_large_map_without_an_end_is_refused(fields_before: bytes) -> None:
    data = b"{" + fields_before + b'"partitions":{' + rows_of_text(300)
    assert b"}" not in data
    with pytest.raises(MalformedZNode):
        to_end(TopicAssignment.decoding(data))


@pytest.mark.parametrize("white_space", [b"", b" ", b"\n\t "])
def test_a_comma_after_the_last_list_is_refused_where_a_piece_ends(white_space: bytes) -> None:
    """The comma is all that is left for the next piece. JSON has no comma behind the last value."""
    rows = rows_of_text(300)
    piece = rows[: rows.index(b"]", STEP_BYTES) + 1]
    data = b'{"partitions":{%b%b},"version":3}'
    read = to_end(TopicAssignment.decoding(data % (piece, b"")))
    assert read == TopicAssignment.of({number: [1, 2] for number in range(piece.count(b"]"))})
    broken = data % (piece, b"," + white_space)
    with pytest.raises(json.JSONDecodeError):
        json.loads(broken)
    with pytest.raises(MalformedZNode):
        to_end(TopicAssignment.decoding(broken))


def test_of_two_large_maps_with_one_name_the_last_one_counts_and_both_must_be_json() -> None:
    """As json.loads has it."""
    data = b'{"partitions":{%b},"partitions":{%b},"version":3}'
    rows = rows_of_text(300)
    with pytest.raises(MalformedZNode):
        to_end(TopicAssignment.decoding(data % (b"xx", rows)))
    for first in (b'"9999":[9]', rows.replace(b"[1,2]", b"[3]"), b""):
        both = data % (first, rows)
        expected = {int(number): replicas for number, replicas in json.loads(both)["partitions"].items()}
        assert to_end(TopicAssignment.decoding(both)) == TopicAssignment.of(expected)
        assert len(expected) == 300


def rows_of_text(partitions: int) -> bytes:
    """The inside of a map of partitions, all on the brokers 1 and 2."""
    return b",".join(b'"%d":[1,2]' % number for number in range(partitions))


# ---- stops


def stops_of(steps: Generator[None, None, Any]) -> int:
    return sum(1 for _ in steps)


@pytest.mark.parametrize("partitions", [LARGE, LARGE + 1])
def test_the_data_of_a_large_topic_is_decoded_in_pieces(partitions: int) -> None:
    """These stops are besides those while its partitions are made of what was decoded; with an id and without one."""
    data = sized(partitions).to_znode().encode()
    while_made = (partitions - 1) // STEP_PARTITIONS
    while_decoded = stops_of(TopicAssignment.decoding(data)) - while_made
    assert len(data) // LARGEST_PIECE <= while_decoded <= len(data) // STEP_BYTES + 3, "each of three maps has a rest"


@pytest.mark.parametrize(("partitions", "stops"), [(0, 0), (1, 0), (STEP_PARTITIONS, 0), (STEP_PARTITIONS + 1, 1)])
def test_a_topic_with_at_most_one_slice_of_partitions_has_no_stop(partitions: int, stops: int) -> None:
    """Most topics are not larger."""
    replicas = {number: [1] for number in range(partitions)}
    assignment = TopicAssignment.of(replicas, ID)
    data = assignment.to_znode().encode()
    assert len(data) <= STEP_BYTES
    assert stops_of(TopicAssignment.making(replicas, ID)) == stops
    assert stops_of(assignment.encoding()) == stops
    assert stops_of(TopicAssignment.decoding(data)) == stops


class LoopTurns:
    """Counts the turns that another task has on the loop, from one look to the next."""

    def __init__(self) -> None:
        self._count = 0
        self._task = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        while True:
            self._count += 1
            await asyncio.sleep(0)

    def taken(self) -> int:
        count, self._count = self._count, 0
        return count

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


ENCODING_TURNS = LARGE // STEP_PARTITIONS
WRITE_TURNS = 20
"""More than the requests to ZooKeeper take; fewer than the steps on a large topic."""


@on_fake
async def test_others_have_the_loop_while_a_large_assignment_is_written_and_read(store, zk):
    await store.brokers.ensure_top_level_paths()
    small, large = TopicAssignment.of({0: [1]}, ID), sized(LARGE)
    data = large.to_znode().encode()
    turns = LoopTurns()
    await store.topics.create("small", small)
    await store.topics.set_assignment("small", small)
    await store.topics.assignment("small")
    assert turns.taken() < WRITE_TURNS < ENCODING_TURNS

    await store.topics.create("t", large)
    assert turns.taken() >= ENCODING_TURNS
    await store.topics.set_assignment("t", large)
    assert turns.taken() >= ENCODING_TURNS
    assert await store.topics.assignment("t") == large
    assert turns.taken() >= LARGE // STEP_PARTITIONS + len(data) // LARGEST_PIECE
    await turns.stop()


@on_fake
async def test_others_have_the_loop_while_a_large_assignment_is_edited(store, zk):
    await store.brokers.ensure_top_level_paths()
    small, large = TopicAssignment.of({0: [1]}, ID), sized(LARGE)
    data = large.to_znode().encode()
    await store.topics.create("t", small)
    turns, before_edit = LoopTurns(), []

    def replaced_by(assignment):
        def edit(present):
            before_edit.append(turns.taken())
            return assignment

        return edit

    await store.topics.edit("t", replaced_by(large))
    assert turns.taken() >= ENCODING_TURNS
    await store.topics.edit("t", replaced_by(small))
    assert turns.taken() < WRITE_TURNS
    decoding_small, decoding_large = before_edit
    assert decoding_small < WRITE_TURNS
    assert decoding_large >= LARGE // STEP_PARTITIONS + len(data) // LARGEST_PIECE
    await turns.stop()
