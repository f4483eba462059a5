"""The page of rebalances without a cluster: the form, what cannot be done, and executions that were interrupted."""

import asyncio

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.manager.clusters import ManagedCluster
from kafka_py.manager.execution_jobs import ExecutionJobs
from kafka_py.manager.identity.roles import AccessRole, WebUser
from kafka_py.manager.pages.moves import rebalance
from kafka_py.manager.pages.moves.executions import Executions
from kafka_py.manager.pages.moves.rebalance import LookedProposal, asked
from kafka_py.manager.rebalance_jobs import PART, REBALANCES
from kafka_py.manager.settings import ClusterSettings
from kafka_py.manager.web.dispatch import CHANGED_SINCE
from kafka_py.manager.web.requests import BadParameter, PageRequest
from kafka_py.operations.rebalancing.batches import BatchLimits
from kafka_py.operations.rebalancing.model import BrokerLoad, PartitionChange, Proposal, RebalanceRefused
from kafka_py.operations.rebalancing.plan_file import PlanState, PlanStep, write_state

PATH = "/clusters/test/rebalance"


def interrupted_state():
    step = PlanStep(PartitionChange(TopicPartition("<b>", 0), (0,), (1,), 5))
    return PlanState("c", {step.change.partition: step}, None, BatchLimits(), action="rebalance")


def test_the_form_is_there_and_nothing_runs(played):
    async def scene(manager):
        page = await manager.get(PATH)
        assert page.status_code == 200
        assert "No rebalance is being carried out." in page.text
        answer = (await manager.get(f"/api{PATH}")).json()
        assert (answer["plan"], answer["progress"]["is_running"]) == (None, False)
        assert answer["actions"][0] == "rebalance"

    played(scene, allow_changes=True)


def test_what_makes_no_sense_is_refused(played):
    async def scene(manager):
        for field, value in (("action", "explode"), ("brokers", "x"), ("tolerance", "101")):
            fields = {"action": "remove-brokers", field: value}
            assert (await manager.submit(f"{PATH}/execute", **fields)).status_code == 400
        for path in ("stop", "resume", "abandon"):
            assert (await manager.submit(f"{PATH}/{path}")).status_code == 404
        page = await manager.get(f"{PATH}?plan=true&action=replication-factor")
        assert (page.status_code, "factor is missing" in page.text) == (422, True)

    played(scene, allow_changes=True)


def test_an_interrupted_execution_is_offered_to_be_resumed(played, tmp_path):
    async def scene(manager):
        write_state(tmp_path / PART / "test.json", interrupted_state())
        page = await manager.get(PATH)
        assert "1 partitions are left" in page.text
        shown = await manager.submit(f"{PATH}/resume")
        assert "1 of 1 left" in shown.text
        fragment = await manager.get(f"{PATH}/progress")
        assert "<html" not in fragment.text
        (tmp_path / PART / "test.json").write_text("{}")
        assert "left" not in (await manager.get(f"{PATH}/progress")).text

    played(scene, allow_changes=True)


def test_readers_see_the_form_and_no_buttons(played, tmp_path):
    async def scene(manager):
        write_state(tmp_path / PART / "test.json", interrupted_state())
        page = await manager.get(PATH)
        assert "Propose" in page.text
        assert "Resume" not in page.text
        assert (await manager.submit(f"{PATH}/resume")).status_code == 403

    played(scene)


def searched(**fields):
    values = {name: [value] for name, value in fields.items()}
    return asked(PageRequest(None, {}, values, {}, WebUser("ann", AccessRole.READER), AccessRole.READER, ""))


@pytest.mark.parametrize(("fields", "chosen"), [
    ({}, ["ab", "b", "B", "cab"]),
    ({"topics": "a|b"}, ["b"]),
    ({"topics": "(?i)a|b"}, ["b", "B"]),
    ({"topics": ".*b", "excluded": "c.*"}, ["ab", "b"]),
])  # fmt: skip
def test_patterns_are_for_whole_names(fields, chosen):
    request = searched(**fields)
    assert [name for name in ("ab", "b", "B", "cab") if request.selects(name)] == chosen


def test_no_pattern_takes_long():
    assert not searched(topics="(a+)+").selects("a" * 248 + "!")
    for text in ("(a", "(a)\\1", "a)|(b"):
        with pytest.raises(BadParameter, match="topics"):
            searched(topics=text)


def test_the_plan_that_was_looked_at_is_carried_out_unless_a_broker_is_gone(played, monkeypatch):
    change = PartitionChange(TopicPartition("t", 0), (0,), (1,), 5)
    plans, begun = [], []

    async def propose(_request, wanted):
        is_live = not plans
        load = BrokerLoad(0, None, is_live, 1, 1, 1, 5, 0)
        plans.append(Proposal(wanted, (change,), (), (load,), (load,), (), ()))
        return LookedProposal(plans[-1], "c", [], ())

    monkeypatch.setattr(rebalance, "proposed", propose)
    monkeypatch.setattr(Executions, "start", lambda _self, _request, state: begun.append(state))

    async def scene(manager):
        shown = (await manager.submit(f"{PATH}/execute")).text
        digest = shown.split('name="shown" value="')[1].partition('"')[0]
        fields = {"step": "apply", "submission": "1"}
        again = await manager.submit(f"{PATH}/execute", shown=digest, **fields)
        assert CHANGED_SINCE in again.text and begun == []
        fresh = again.text.split('name="shown" value="')[1].partition('"')[0]
        assert (await manager.submit(f"{PATH}/execute", shown=fresh, **fields)).status_code == 303
        assert (len(plans), len(begun)) == (3, 1)

    played(scene, allow_changes=True)


def test_no_rebalance_begins_before_the_throttles_of_an_interrupted_one_are_gone(played, tmp_path):
    async def scene(manager):
        state = interrupted_state()
        state.topics = {"t": {}}
        write_state(tmp_path / PART / "test.json", state)
        refused = await manager.submit(f"{PATH}/execute")
        assert (refused.status_code, "left throttles" in refused.text) == (400, True)

    played(scene, allow_changes=True)


def test_an_execution_that_is_being_cancelled_is_not_resumed(tmp_path, manager_clock):
    class HeldUpAdmin:
        def __init__(self):
            self.may_go_on = asyncio.Event()

        async def describe_cluster(self, **_):
            await self.may_go_on.wait()
            raise RebalanceRefused("no")

        def __getattr__(self, name):
            return self.describe_cluster

    async def scene():
        environment = ClientEnvironment(clock=manager_clock, chance=Chance(1))
        jobs = ExecutionJobs(REBALANCES, tmp_path, environment)
        cluster = ManagedCluster(ClusterSettings("test", "localhost:1"), environment)
        cluster._admin = admin = HeldUpAdmin()
        abandoning = asyncio.create_task(jobs.abandon(cluster, interrupted_state()))
        await asyncio.sleep(0)
        with pytest.raises(RebalanceRefused, match="is being cancelled"):
            jobs.start(cluster, interrupted_state())
        with pytest.raises(RebalanceRefused, match="is being cancelled"):
            await jobs.abandon(cluster, interrupted_state())
        admin.may_go_on.set()
        with pytest.raises(RebalanceRefused, match="no"):
            await abandoning
        job = jobs.start(cluster, interrupted_state())
        with pytest.raises(RebalanceRefused, match="resumed"):
            await jobs.abandon(cluster, interrupted_state())
        job._task.cancel()
        await asyncio.wait([job._task])

    asyncio.run(scene())
