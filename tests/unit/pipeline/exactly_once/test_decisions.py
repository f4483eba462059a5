"""Decisions as records, and what follows from them."""

import pytest

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.transaction_calls import ProducerEpoch
from kafka_py.pipeline.exactly_once import decisions
from kafka_py.pipeline.exactly_once.decisions import (
    BatchVerdict,
    Decision,
    DecisionState,
    Driver,
    Finished,
    Outcome,
    Prepared,
    begun_record,
    closed_record,
    decision_records,
    driver_id,
    fencing_record,
    finished_records,
    forgotten_slot,
    named,
    slot_record,
    verdict,
)
from kafka_py.pipeline.exactly_once.slots import Claim

PREPARED = Prepared("p-3-1", 1000, 7, TopicPartition("out", 2), 41)
DECISION = Decision("query", 12, True, (PREPARED,))
CLAIM = Claim("p-3-1", 3, 1, 88, ProducerEpoch(5, 3))


def ledger_of(*records, prefix="p"):
    ledger = DecisionState(prefix)
    for key, value in records:
        ledger.apply(key, value)
    return ledger


def test_records_are_the_documented_json_and_are_read_back():
    [decision] = decision_records("p", DECISION)
    assert decision == (
        b'["p","decision","query"]', b'{"batch":12,"commits":true,"transactions":[["p-3-1",1000,7,"out",2,41]]}'
    )  # fmt: skip
    [finished] = finished_records("p", DECISION)
    assert finished == (b'["p","finished","query"]', b'{"batch":12}')
    slot = slot_record("p", CLAIM)
    assert slot == (b'["p","slot","p-3-1"]', b'{"task":3,"attempt":1,"claimant":88,"driver":[5,3]}')
    begun, closed = begun_record("p", Driver(5, 3)), closed_record("p", Driver(5, 3))
    assert (begun, closed) == (
        (b'["p","begun","driver"]', b'{"driver":[5,3]}'), (b'["p","closed","driver"]', b'{"driver":[5,3]}')
    )  # fmt: skip
    ledger = ledger_of(decision, finished, slot, begun, closed)
    assert (ledger.decisions, ledger.finished) == ({"query": DECISION}, {"query": Finished("query", 12)})
    assert (ledger.slots, ledger.claims) == ({"p-3-1": CLAIM}, [CLAIM])
    assert ledger.begun == ledger.closed == (5, 3)


def test_a_driver_raises_epochs_from_its_beginning_until_it_says_that_it_does_not():
    begun = begun_record("p", Driver(5, 3))
    yes, no = (fencing_record("p", fences=fences) for fences in (True, False))
    assert no == (b'["p","fencing","driver"]', b'{"fences":false}')
    for before, expected in ([], False), ([begun], True), ([begun, no], False), ([begun, no, yes], True):
        assert ledger_of(*before, begun).former_fences is expected


def test_a_tombstone_forgets_and_other_keys_are_left_alone():
    ledger = ledger_of(
        *decision_records("p", DECISION), slot_record("p", CLAIM), (b'["p","decision","query"]', None),
        forgotten_slot("p", "p-3-1"), (b'["p","slot","absent"]', None), (b'["p","later kind","x"]', b"{}"),
        (b"not json", b"x"), (None, b"x"), (b'["p"]', b"x"), (b'["q","decision","query"]', b"not json"),
    )  # fmt: skip
    assert (ledger.decisions, ledger.slots) == ({}, {})


@pytest.fixture
def many(monkeypatch):
    """A decision of three records."""
    monkeypatch.setattr(decisions, "PART_BYTES", 1000)
    return Decision("query", 12, True, tuple(PREPARED._replace(offset=number) for number in range(80)))


def test_a_decision_that_one_record_cannot_hold_is_several_and_is_read_back_whole(many):
    records = decision_records("p", many)
    parts = [b'["p","part","0/query"]', b'["p","part","1/query"]']
    assert [key for key, _ in records] == [*parts, b'["p","decision","query"]']
    assert all(len(value) < 1100 for _, value in records)
    assert ledger_of(*records).unfinished() == [many]
    assert [key for key, _ in finished_records("p", many)] == [b'["p","finished","query"]', *parts]
    assert ledger_of(*records, *finished_records("p", many)).unfinished() == []


def test_what_one_record_holds_is_well_below_what_brokers_take():
    row = Prepared("x" * 249, 2**63 - 1, 32_767, TopicPartition("y" * 249, 2**31 - 1), 2**63 - 1)
    records = decision_records("p", Decision("query", 12, True, (row,) * 2000))
    assert len(records) > 3
    assert max(len(value) for _, value in records) < 300_000


@pytest.mark.parametrize("is_missing", [True, False])
def test_a_part_that_is_missing_or_of_another_batch_is_not_passed_over(many, is_missing):
    key, value = decision_records("p", many._replace(batch=13))[0]
    with pytest.raises(KafkaError, match="lacks part 0 of the decision about batch 12 of query"):
        ledger_of(*decision_records("p", many), (key, None if is_missing else value)).unfinished()


def test_parts_of_an_earlier_decision_are_not_those_of_a_smaller_one(many):
    ledger = ledger_of(*decision_records("p", many), *decision_records("p", DECISION._replace(batch=13)))
    assert ledger.unfinished() == [DECISION._replace(batch=13)]


@pytest.mark.parametrize("value", [b"{}", b"x", b'{"batch":1,"commits":true,"transactions":[[1]]}', b"7"])
def test_a_malformed_record_of_ours_is_refused_with_its_key(value):
    with pytest.raises(KafkaError, match=r"decision.*query"):
        ledger_of((b'["p","decision","query"]', value))


def test_decisions_are_unfinished_until_they_are_noted_as_finished():
    before = DECISION._replace(batch=11)
    ledger = ledger_of(*decision_records("p", DECISION), *finished_records("p", before))
    assert ledger.unfinished() == [DECISION]
    ledger.apply(*finished_records("p", DECISION)[0])
    assert ledger.unfinished() == []
    ledger.apply(*decision_records("p", Decision("query", 13, False))[0])
    assert ledger.unfinished() == []


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([], BatchVerdict.COMMITTED),
        ([Outcome.COMMITTED] * 2, BatchVerdict.COMMITTED),
        ([Outcome.LOST] * 2, BatchVerdict.LOST),
        ([Outcome.LOST, Outcome.COMMITTED], BatchVerdict.TORN),
    ],
)
def test_a_batch_is_torn_when_only_some_of_it_is_committed(outcomes, expected):
    assert verdict(outcomes) is expected


def test_names_begin_with_the_prefix_and_long_lists_are_cut():
    assert driver_id("p") == "p-driver"
    assert named([PREPARED]) == "p-3-1 (with records in out-2)"
    assert named([PREPARED] * 7).endswith(" and 2 more")
