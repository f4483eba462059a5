"""The page of rebalances without a cluster: the form, what cannot be done, and executions that were interrupted."""

from kafka_py.base.ids import TopicPartition
from kafka_py.manager.rebalance_jobs import PART
from kafka_py.operations.rebalancing.batches import BatchLimits
from kafka_py.operations.rebalancing.model import PartitionChange
from kafka_py.operations.rebalancing.plan_file import PlannedStep, PlanState, write_state

PATH = "/clusters/test/rebalance"


def interrupted_state():
    step = PlannedStep(PartitionChange(TopicPartition("<b>", 0), (0,), (1,), 5))
    return PlanState("c", "rebalance", {step.change.partition: step}, [], None, BatchLimits())


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
