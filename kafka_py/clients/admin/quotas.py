"""Admin calls on quotas of users, clients and addresses.

Any broker answers. Source: KIP-546; KafkaAdminClient.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_py.base.errors import KafkaError
from kafka_py.clients.admin.core import AdminCore, error_of
from kafka_py.clients.admin.results import Results
from kafka_py.wire.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from kafka_py.wire.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest

ClientQuotaEntity = tuple[tuple[str, str | None], ...]
"""Types ("user", "client-id", "ip") and names of an entity; the name None is the default."""

ANY = "<any>"
"""As a name in a filter: any name, and the default."""

_EXACT, _DEFAULT, _ANY = range(3)


async def describe_client_quotas(
    core: AdminCore, components: Mapping[str, str | None] | None = None, *, strict: bool = False,
    timeout: float | None = None,
) -> dict[ClientQuotaEntity, dict[str, float]]:  # fmt: skip
    """The quotas of all entities that match. Raises KafkaError.

    components: by type the name that an entity must have: None for the default, ANY for every one.
    strict: only entities without other types.
    """
    request = DescribeClientQuotasRequest(
        components=[_component(kind, name) for kind, name in (components or {}).items()], strict=strict
    )
    response = await core.once(lambda timeout_ms: core.cluster.send_any(request, timeout_ms=timeout_ms), timeout)
    error = error_of(response.error_code, response.error_message, "the quotas are not described")
    if error is not None:
        raise error
    return {
        tuple((part.entity_type, part.entity_name) for part in entry.entity): {
            value.key: value.value for value in entry.values
        }
        for entry in response.entries or ()
    }


def _component(kind: str, name: str | None) -> ComponentData:
    if name == ANY:
        return ComponentData(entity_type=kind, match_type=_ANY, match=None)
    return ComponentData(entity_type=kind, match_type=_DEFAULT if name is None else _EXACT, match=name)


async def alter_client_quotas(
    core: AdminCore,
    changes: Mapping[ClientQuotaEntity, Mapping[str, float | None]],
    *,
    validate_only: bool = False,
    timeout: float | None = None,
) -> Results[ClientQuotaEntity, None]:
    """Sets limits by key, and removes those that are None; or only validates the changes."""

    async def attempt(
        some: list[ClientQuotaEntity], timeout_ms: int
    ) -> dict[ClientQuotaEntity, KafkaError | None]:
        request = AlterClientQuotasRequest(
            entries=[
                EntryData(
                    entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
                    ops=[
                        OpData(key=key, value=value or 0.0, remove=value is None)
                        for key, value in changes[entity].items()
                    ],
                )
                for entity in some
            ],
            validate_only=validate_only,
        )
        response = await core.cluster.send_any(request, timeout_ms=timeout_ms)
        answered: dict[frozenset[tuple[str, str | None]], KafkaError | None] = {
            frozenset((part.entity_type, part.entity_name) for part in entry.entity): error_of(
                entry.error_code, entry.error_message, "the quotas are not changed"
            )
            for entry in response.entries
        }
        return {entity: answered[frozenset(entity)] for entity in some if frozenset(entity) in answered}

    return await core.per_item(changes, attempt, timeout)
