"""The controller mutations of one request: partitions that it creates or deletes, as permits of its client's budget.

Source: docs/reference/quotas.md, section 4; KIP-599; ControllerMutationQuota.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.broker.quotas.manager import Client, QuotaManager
from kafka_py.broker.quotas.sensors import MutationBudget


class Mutations:
    """Takes permits topic by topic, right before each is written to ZooKeeper.

    is_strict: a topic over the quota is refused; otherwise it is accepted, and the client is throttled.
    """

    def __init__(
        self, manager: QuotaManager[MutationBudget], client: Client, now_ms: Callable[[], float], *, is_strict: bool
    ) -> None:
        self._manager = manager
        self._client = client
        self._now_ms = now_ms
        self._is_strict = is_strict
        self._throttled_until_ms = 0.0

    def take(self, permits: int) -> None:
        """Raises KafkaError(THROTTLING_QUOTA_EXCEEDED) when the topic must not be changed."""
        if not self._manager.is_on:
            return
        now_ms = self._now_ms()
        budget = self._manager.budget_of(self._client)
        is_granted, throttle_ms = budget.take(permits, now_ms, is_strict=self._is_strict)
        if throttle_ms:
            self._throttled_until_ms = now_ms + throttle_ms
        if not is_granted:
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)

    @property
    def throttle_ms(self) -> int:
        """What is left of the last throttle time."""
        return max(round(self._throttled_until_ms - self._now_ms()), 0) if self._throttled_until_ms else 0
