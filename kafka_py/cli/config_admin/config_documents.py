"""What kafka-configs.sh --describe shows, as a document for --output."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafka_py.clients.admin.resources import ConfigEntry


def documents(
    entity_type: str, names: Iterable[str], settings_of: Callable[[str], Iterable[ConfigEntry]]
) -> list[dict[str, Any]]:
    """An object for each entity; its name is null for what all brokers have in common, secret values are null."""
    return [
        {
            "type": entity_type,
            "name": name or None,
            "configs": [
                {"name": each.name, "value": each.value, "source": each.source.name, "sensitive": each.is_sensitive}
                for each in settings_of(name)
            ],
        }
        for name in names
    ]
