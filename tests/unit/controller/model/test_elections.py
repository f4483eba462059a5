"""Elections: every strategy over small clusters, and what is promised about all of them."""

import itertools

import pytest

from kafka_py.controller.model import elections
from kafka_py.controller.model.elections import Elected

CASES_OFFLINE = [
    # replicas, isr, alive, unclean permitted -> leader, isr, recipients, unclean
    ((0, 1, 2), (0, 1, 2), {1, 2}, False, Elected(1, (1, 2), (1, 2))),
    ((0, 1, 2), (2, 1), {0, 1, 2}, False, Elected(1, (2, 1), (0, 1, 2))),
    ((0, 1, 2), (0,), {1, 2}, False, None),
    ((0, 1, 2), (0,), {1, 2}, True, Elected(1, (1,), (1, 2), unclean=True)),
    ((0, 1, 2), (0,), set(), True, None),
    ((0, 1, 2), (2,), {1, 2}, True, Elected(2, (2,), (1, 2))),  # somebody in sync lives: nothing unclean about it
    ((), (), set(), True, None),
]


@pytest.mark.parametrize(("replicas", "isr", "alive", "unclean", "outcome"), CASES_OFFLINE)
def test_offline_takes_the_first_living_replica_in_sync(replicas, isr, alive, unclean, outcome):
    assert elections.offline(replicas, isr, alive, unclean) == outcome


def test_w6_17_assignment_order_decides_not_isr_order():
    """W6.17: partition 2 of topic-leader, broker 0 closed: live AR [1,2], ISR [2,1] -> leader 1, not 2."""
    assert elections.offline((1, 2, 0), (2, 1), {1, 2}, False) == Elected(1, (2, 1), (1, 2))
    assert elections.offline((0, 1, 2), (0, 2, 1), {1, 2}, False).leader == 1


def test_new_partitions_are_led_by_their_first_living_replica():
    assert elections.first_leader((3, 1, 2), {1, 2}) == Elected(1, (1, 2), (1, 2))
    assert elections.first_leader((3, 1, 2), set()) is None


def test_reassignment_picks_a_target_in_sync_and_keeps_the_isr():
    assert elections.reassign((4, 5), (1, 5, 4), {1, 4, 5}) == Elected(4, (1, 5, 4), (4, 5))
    assert elections.reassign((4, 5), (1, 5), {1, 4, 5}) == Elected(5, (1, 5), (4, 5))
    assert elections.reassign((4, 5), (1,), {1, 4, 5}) is None


def test_preferred_is_the_first_replica_or_nobody():
    assert elections.preferred((0, 1, 2), (2, 0), {0, 2}) == Elected(0, (2, 0), (0, 1, 2))
    assert elections.preferred((0, 1, 2), (2, 1), {0, 1, 2}) is None
    assert elections.preferred((0, 1, 2), (0, 1), {1, 2}) is None


def test_controlled_shutdown_leads_away_and_shrinks_the_isr():
    outcome = elections.controlled_shutdown((0, 1, 2), (0, 1, 2), {0, 1, 2}, {0})
    assert outcome == Elected(1, (1, 2), (0, 1, 2))
    assert elections.controlled_shutdown((0, 1, 2), (0, 1), {0, 1, 2}, {0, 1}) is None


def test_no_clean_election_ever_leaves_the_isr():
    """Pitfall: an ISR that shrank to one and then died must not be followed by somebody else."""
    ids = (0, 1, 2)
    for replicas in itertools.permutations(ids):
        for isr in _subsets(ids):
            for alive in map(set, _subsets(ids)):
                for outcome in (
                    elections.offline(replicas, isr, alive, False),
                    elections.reassign(replicas, isr, alive),
                    elections.preferred(replicas, isr, alive),
                    elections.controlled_shutdown(replicas, isr, alive, {0}),
                ):
                    if outcome is not None:
                        assert outcome.leader in isr
                        assert outcome.leader in alive
                        assert outcome.leader in outcome.isr
                        assert set(outcome.isr) <= set(isr)
                if elections.needs_unclean(isr, alive):
                    assert elections.offline(replicas, isr, alive, False) is None


def _subsets(ids):
    return itertools.chain.from_iterable(itertools.combinations(ids, n) for n in range(len(ids) + 1))
