"""Moves that are cancelled are those that were shown."""

from collections.abc import Callable, Collection
from types import SimpleNamespace

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.replicas import PartitionReassignment
from kafka_py.clients.admin.results import Results
from kafka_py.testing.web_manager import CalledManager

PATH = "/clusters/test/reassignments/cancel"
MOVE = PartitionReassignment([1, 2], [2], [1])
ONE, TWO, THREE = (TopicPartition("t", number) for number in (1, 2, 3))


class MovingAdmin(SimpleNamespace):
    """Moves that run; cancelled ones are gone."""

    def __init__(self) -> None:
        super().__init__(moves={ONE: MOVE, TWO: MOVE})

    async def list_partition_reassignments(self) -> dict[TopicPartition, PartitionReassignment]:
        return dict(self.moves)

    async def alter_partition_reassignments(self, wanted: Collection[TopicPartition]) -> Results[TopicPartition, None]:
        for each in wanted:
            del self.moves[each]
        return Results(dict.fromkeys(wanted))

    async def close(self) -> None: ...


def test_moves_that_begin_after_a_cancellation_was_shown_go_on(played: Callable[..., None]) -> None:
    admin = MovingAdmin()

    async def scene(manager: CalledManager) -> None:
        shown = (await manager.submit(PATH)).text
        named = [part.partition('"')[0] for part in shown.split('name="partition" value="')[1:]]
        assert named == ["t-1", "t-2"]
        del admin.moves[ONE]
        admin.moves[THREE] = MOVE
        fields = {"partition": named, "shown": shown.split('name="shown" value="')[1].partition('"')[0]}
        assert (await manager.submit(PATH, step="apply", submission="1", **fields)).status_code == 303
        assert list(admin.moves) == [THREE]

    played(scene, admin=admin, allow_changes=True)
