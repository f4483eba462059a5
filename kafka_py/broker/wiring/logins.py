"""The logins of one broker: the users that it knows, and what its listeners ask of clients (I/O).

Source: KIP-43, KIP-84, KIP-103 (settings by listener).
"""

from __future__ import annotations

from kafka_py.security.sasl.scram_users import ScramUsers
from kafka_py.zk.config_znodes import DEFAULT_ENTITY
from kafka_py.zk.entity_configs import ConfigStore


class BrokerLogins:
    """What a broker knows about who may log in. users: those with SCRAM credentials, which follow ZooKeeper."""

    def __init__(self) -> None:
        self.users = ScramUsers()

    async def load(self, stored: ConfigStore) -> None:
        """Reads the credentials of all users. Raises ConfigError for one that cannot be read."""
        for name, settings in (await stored.of_all("users")).items():
            if name != DEFAULT_ENTITY:
                self.users.load(name, settings)
