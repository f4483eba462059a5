"""Who may use which slot, and which slots are leased again."""

import pytest

from kafka_py.clients.transaction_calls import ProducerEpoch
from kafka_py.pipeline.exactly_once.slots import (
    IDLE_BEGINS,
    Claim,
    Lease,
    Right,
    leased,
    new_slot_id,
    right_of,
)

DRIVER = ProducerEpoch(9, 300)
MINE = Claim("p-a", 3, 0, 88, DRIVER)


@pytest.mark.parametrize(
    ("before", "closed", "begun", "expected"),
    [
        ([MINE], None, None, Right.HELD),
        ([MINE, MINE], None, None, Right.HELD),  # appended again, because the first response was lost
        ([], None, None, Right.HELD),  # deleted by a later claim
        ([MINE._replace(claimant=7), MINE], None, None, Right.TAKEN),
        ([MINE._replace(transactional_id="p-b", claimant=7), MINE], None, None, Right.HELD),
        ([MINE._replace(driver=ProducerEpoch(9, 299), claimant=7), MINE], None, None, Right.HELD),
        ([MINE], DRIVER, None, Right.TOO_LATE),
        ([MINE], ProducerEpoch(9, 299), None, Right.HELD),
        ([MINE], None, ProducerEpoch(9, 301), Right.TOO_LATE),
    ],
)
def test_the_first_claim_of_a_slot_holds_while_its_batch_is_open(before, closed, begun, expected):
    assert right_of(MINE, before, closed=closed, begun=begun) is expected


def test_a_new_id_names_the_batch_by_its_drivers_epoch_and_the_attempt():
    assert new_slot_id("p", DRIVER, 88) == "p-9-300-88"


def test_each_attempt_has_one_slot_and_idle_ones_are_forgotten():
    claims = [
        MINE, Claim("p-b", 3, 1, 5, DRIVER), Claim("p-c", 3, 0, 5, DRIVER),
        Claim("p-d", 4, 0, 5, ProducerEpoch(9, 300 - IDLE_BEGINS - 1)),
        Claim("p-e", 5, 0, 5, ProducerEpoch(9, 300 - IDLE_BEGINS)), Claim("p-f", 6, 0, 5, ProducerEpoch(8, 300)),
    ]  # fmt: skip
    fenced = [Lease(each.transactional_id, 7, number) for number, each in enumerate(claims)]
    leases, forgotten = leased({each.transactional_id: each for each in claims}, fenced, DRIVER)
    assert leases == {(3, 0): fenced[0], (3, 1): fenced[1], (5, 0): fenced[4]}
    assert forgotten == ["p-c", "p-d", "p-f"]


def test_no_slot_is_leased_whose_epoch_another_driver_may_be_raising():
    assert leased({"p-a": MINE}, [Lease("p-a", 7, 0)], DRIVER, former_fences=True) == ({}, ["p-a"])
