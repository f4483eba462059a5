"""The page of the doctor: findings of a cluster that cannot be reached, as a page and as JSON."""

from collections.abc import Callable

from kafka_py.testing.web_manager import CalledManager


def test_a_cluster_that_cannot_be_reached_has_a_page_that_says_why(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        answer = await manager.get("/clusters/test/doctor")
        assert answer.status_code == 200
        assert "port-closed" in answer.text
        assert "Start the broker, or correct the port" in answer.text

    played(scene)


def test_the_findings_are_json_as_well(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        document = (await manager.get("/api/clusters/test/doctor")).json()
        assert document["errors"] == 1
        [finding] = document["findings"]
        assert (finding["id"], finding["severity"]) == ("port-closed", "error")
        assert document["unchecked"] == ["the cluster: no bootstrap server can be used"]

    played(scene)
