"""Decisions as records, and what follows from them."""

import pytest

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.pipeline.exactly_once.decisions import (
    Decision,
    Driver,
    Finished,
    Ledger,
    Outcome,
    Prepared,
    Verdict,
    decision_record,
    driver_id,
    finished_record,
    named,
    slot_id,
    slot_record,
    verdict,
)

PREPARED = Prepared("p-3-1", 1000, 7, TopicPartition("out", 2), 41)
DECISION = Decision("query", 12, True, (PREPARED,))


def ledger_of(*records, prefix="p"):
    ledger = Ledger(prefix)
    for key, value in records:
        ledger.apply(key, value)
    return ledger


def test_records_are_the_documented_json_and_are_read_back():
    assert decision_record("p", DECISION) == (
        b'["p","decision","query"]', b'{"batch":12,"commits":true,"transactions":[["p-3-1",1000,7,"out",2,41]]}'
    )  # fmt: skip
    finished = Finished("query", 12, 5, 3)
    assert finished_record("p", finished) == (b'["p","finished","query"]', b'{"batch":12,"driver":[5,3]}')
    assert slot_record("p", 3, 1) == (b'["p","slot","p-3-1"]', b'{"attempt":1}')
    ledger = ledger_of(decision_record("p", DECISION), finished_record("p", finished), slot_record("p", 3, 1))
    assert (ledger.decisions, ledger.finished, ledger.slots) == ({"query": DECISION}, {"query": finished}, {"p-3-1": 1})


def test_a_tombstone_forgets_and_other_keys_are_left_alone():
    ledger = ledger_of(
        decision_record("p", DECISION), slot_record("p", 0, 0), (b'["p","decision","query"]', None),
        (b'["p","slot","p-0-0"]', None), (b'["p","slot","absent"]', None), (b'["p","later kind","x"]', b"{}"),
        (b"not json", b"x"), (None, b"x"), (b'["p"]', b"x"), (b'["q","decision","query"]', b"not json"),
    )  # fmt: skip
    assert (ledger.decisions, ledger.slots) == ({}, {})


@pytest.mark.parametrize("value", [b"{}", b"x", b'{"batch":1,"commits":true,"transactions":[[1]]}', b"7"])
def test_a_malformed_record_of_ours_is_refused_with_its_key(value):
    with pytest.raises(KafkaError, match=r"decision.*query"):
        ledger_of((b'["p","decision","query"]', value))


def test_decisions_are_unfinished_until_they_are_noted_as_finished():
    ledger = ledger_of(decision_record("p", DECISION), finished_record("p", Finished("query", 11, 5, 2)))
    assert ledger.unfinished() == [DECISION]
    ledger.apply(*finished_record("p", Finished("query", 12, 5, 3)))
    assert ledger.unfinished() == []
    ledger.apply(*decision_record("p", Decision("query", 13, False)))
    assert ledger.unfinished() == []


@pytest.mark.parametrize(
    ("driver", "left"),
    [
        (Driver(5, 4), ["p-0-1"]),  # the one before, epoch 3, has finished its batch
        (Driver(5, 5), ["p-0-0", "p-0-1"]),
        (Driver(6, 4), ["p-0-0", "p-0-1"]),
    ],
)
def test_all_slots_may_have_leftovers_unless_the_last_driver_finished_its_batch(driver, left):
    ledger = ledger_of(finished_record("p", Finished("q", 1, 5, 3)), slot_record("p", 0, 0), slot_record("p", 0, 1))
    assert ledger.leftovers(driver) == left


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([], Verdict.COMMITTED),
        ([Outcome.COMMITTED] * 2, Verdict.COMMITTED),
        ([Outcome.LOST] * 2, Verdict.LOST),
        ([Outcome.LOST, Outcome.COMMITTED], Verdict.TORN),
    ],
)
def test_a_batch_is_torn_when_only_some_of_it_is_committed(outcomes, expected):
    assert verdict(outcomes) is expected


def test_names_begin_with_the_prefix_and_long_lists_are_cut():
    assert (driver_id("p"), slot_id("p", 3, 1)) == ("p-driver", "p-3-1")
    assert named([PREPARED]) == "p-3-1 (with records in out-2)"
    assert named([PREPARED] * 7).endswith(" and 2 more")
