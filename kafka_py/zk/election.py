"""Controller election: the ephemeral /controller, and the epoch that fences requests of previous controllers.

Source: docs/reference/zookeeper.md, sections 4 and 5.
"""

from __future__ import annotations

import asyncio
import logging
from typing import NamedTuple

from kafka_py.zk.access import ControllerMoved, ZkAccess
from kafka_py.zk.schema import MalformedZNode, NumberText
from kafka_py.zk.session import BadVersion, CreateOp, MultiFailed, NodeExists, SetOp, Stat, Watch
from kafka_py.zk.znodes import ControllerEpochZNode, ControllerZNode

_log = logging.getLogger(__name__)


class ControllerEpoch(NamedTuple):
    """The controller epoch and the znode version of /controller_epoch, with which writes are fenced."""

    epoch: int
    epoch_zk_version: int


class ElectionStore:
    """Election of the controller."""

    def __init__(self, znodes: ZkAccess) -> None:
        self._znodes = znodes

    async def controller_id(self, watch: Watch | None = None) -> int | None:
        """The broker that is controller, None if there is none or /controller cannot be read.

        The watch fires when /controller is created, changed or deleted, whether it exists now or not.
        """
        path = ControllerZNode.path()
        if watch is None:
            found = await self._znodes.read(path)
        else:
            _, found = await asyncio.gather(self._znodes.session.exists(path, watch), self._znodes.read(path))
        if found is None:
            return None
        try:
            return ControllerZNode.decode(found[0]).brokerid
        except MalformedZNode as error:
            _log.error("no controller can be read: %s", error)
            return None

    async def controller_epoch(self) -> ControllerEpoch | None:
        """The current epoch, None before the first election. Raises MalformedZNode."""
        found = await self._znodes.read(ControllerEpochZNode.path())
        return None if found is None else ControllerEpoch(ControllerEpochZNode.decode(found[0]).epoch, found[1].version)

    async def elect(self, broker_id: int, now_ms: int) -> ControllerEpoch:
        """Elects this broker if there is no controller: creates /controller and increments the epoch atomically.

        A rejected write is checked by a read, because the response of a successful attempt may have been lost. Raises
        ControllerMoved if another broker is, or was meanwhile, elected.
        """
        current = await self.controller_epoch() or await self._create_epoch()
        epoch = current.epoch + 1
        seat = ControllerZNode(broker_id, NumberText(now_ms))
        try:
            results = await self._znodes.session.multi(
                [
                    CreateOp(ControllerZNode.path(), seat.encode(), ephemeral=True),
                    SetOp(ControllerEpochZNode.path(), ControllerEpochZNode(epoch).encode(), current.epoch_zk_version),
                ]
            )
        except MultiFailed as failure:
            if not isinstance(failure.error, NodeExists | BadVersion):
                raise failure.error from None
            return await self._elected_after_all(broker_id, epoch)
        stat = results[1]
        assert isinstance(stat, Stat)
        return ControllerEpoch(epoch, stat.version)

    async def _create_epoch(self) -> ControllerEpoch:
        try:
            await self._znodes.create_recursive(ControllerEpochZNode.path(), ControllerEpochZNode(0).encode())
        except NodeExists:
            created = await self.controller_epoch()
            if created is None:
                raise ControllerMoved("/controller_epoch was deleted during the election") from None
            return created
        return ControllerEpoch(0, 0)

    async def _elected_after_all(self, broker_id: int, epoch: int) -> ControllerEpoch:
        holder = await self.controller_id()
        if holder is None:
            raise ControllerMoved("the new controller has resigned already")
        if holder != broker_id:
            raise ControllerMoved(f"broker {holder} was elected controller")
        found = await self.controller_epoch()
        if found is None or found.epoch != epoch:
            raise ControllerMoved(f"broker {broker_id} is controller with epoch {found and found.epoch}, not {epoch}")
        return found

    async def delete_controller(self, epoch_zk_version: int) -> None:
        """Deletes /controller, which forces an election. Raises ControllerMoved if one has taken place already."""
        await self._znodes.delete_if_present(ControllerZNode.path(), epoch_zk_version=epoch_zk_version)
