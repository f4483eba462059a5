"""Dynamic configs: reads the overrides of topics and brokers from ZooKeeper and applies them (I/O).

At start-up every entity is applied once; later notifications in `/config/changes` name the entity to re-read.
Source: docs/reference/zookeeper.md, section 10; docs/reference/controller.md, section 1 (unclean elections).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping

from kafka_py.base.errors import ConfigError
from kafka_py.base.turns import sliced
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.settings.live_config import LiveConfig
from kafka_py.broker.settings.setting_names import shown
from kafka_py.broker.settings.topic_configs import BUILT_A_TURN, TopicConfigs
from kafka_py.controller.controller import Controller
from kafka_py.log.log_manager import LogManager
from kafka_py.log.model.configs import LogConfig
from kafka_py.zk.config_znodes import DEFAULT_ENTITY, desanitize, entity_path
from kafka_py.zk.entity_configs import ConfigStore

_log = logging.getLogger(__name__)

UNCLEAN = "unclean.leader.election.enable"
LoadUsers = Callable[[ConfigStore, Mapping[str, Mapping[str, str]]], Awaitable[None]]
"""Takes over the settings of all users, and reads what it needs besides."""

_QUOTA_KINDS = ("users", "clients", "ips")
"""Entities with quotas."""


class ConfigChanges:
    """Applies overrides to this broker.

    on_broker_config: called with the broker's new settings; applies them in all parts. on_quotas: called with the path
    of an entity that has quotas, and its settings. on_user: called with the name of a user, who may have credentials,
    and the user's settings. on_repeated: called when the broker's settings were written and are the same, which is how
    an administrator says that a file they name has changed.
    """

    def __init__(
        self,
        broker_id: int,
        *,
        stored: ConfigStore,
        live: LiveConfig,
        topics: TopicConfigs,
        log_dirs: LogManager,
        controller: Callable[[], Controller | None],
        on_broker_config: Callable[[BrokerConfig], Awaitable[None]],
        on_quotas: Callable[[str, Mapping[str, str]], Awaitable[None]],
        on_user: Callable[[str, Mapping[str, str]], None],
        on_repeated: Callable[[BrokerConfig], Awaitable[None]],
    ) -> None:
        self._broker_id = broker_id
        self._stored = stored
        self._live = live
        self._topics = topics
        self._log_dirs = log_dirs
        self._controller = controller
        self._on_broker_config = on_broker_config
        self._on_quotas = on_quotas
        self._on_user = on_user
        self._on_repeated = on_repeated

    async def load(self, *others: LoadUsers) -> None:
        """Reads everything: at start-up, and where changes were missed. others: take over what else has settings."""
        await self.load_broker()
        await self.load_topics()
        users = await self._stored.of_all("users")
        for other in others:
            await other(self._stored, users)

    async def load_broker(self) -> None:
        """Reads the dynamic settings of all brokers, then those of this broker.

        Its passwords that were encrypted with password.encoder.old.secret are first re-encrypted.
        """
        passwords, entity = self._live.passwords, entity_path(("brokers", str(self._broker_id)))
        own = await self._stored.of_entity(entity)
        if await passwords.re_encoded(own) is not None:
            await self._stored.edit(entity, passwords.re_encoded)  # kafka-configs.sh --zookeeper may write it as well
            own = await self._stored.of_entity(entity)
            _log.info("The passwords among the dynamic settings are encrypted with password.encoder.secret now")
        self._live.set_cluster_wide(await self._broker_overrides(DEFAULT_ENTITY))
        plain = await passwords.decoded(own)
        self._live.set_own(plain, await passwords.found(plain))
        await self._on_broker_config(self._live.current)

    async def load_topics(self) -> None:
        """Reads the overrides of all topics."""
        async for some in sliced((await self._stored.of_all("topics")).items(), BUILT_A_TURN):
            for topic, overrides in some:
                self.set_topic(topic, overrides)

    async def apply(self, entity: str) -> None:
        """Re-reads and applies one entity, given by its path such as `topics/t` or `brokers/<default>`."""
        kind, _, name = entity.partition("/")
        if kind == "topics":
            overrides = await self._stored.of_topic(name)
            is_new = overrides != self._topics.overrides(name)
            self.set_topic(name, overrides)
            if is_new:
                _log.info("Settings of topic %s are now %s", name, shown(overrides, known=LogConfig.ROWS))
        elif kind == "brokers":
            await self._apply_broker(name)
        elif kind in _QUOTA_KINDS:
            settings = await self._stored.of_entity(entity)
            if kind == "users" and "/" not in name and name != DEFAULT_ENTITY:
                self._on_user(desanitize(name), settings)
            await self._on_quotas(entity, settings)
        else:
            _log.error("A config change of an unknown kind is ignored: %s", entity)

    def set_topic(self, topic: str, overrides: Mapping[str, str]) -> None:
        """Applies a topic's overrides to its logs."""
        config = self._topics.set_overrides(topic, overrides)
        for partition_log in self._log_dirs.logs_of(topic):
            partition_log.reconfigure(config)
        controller = self._controller()
        if controller is not None and overrides.get(UNCLEAN, "").strip().lower() == "true":
            controller.topic_unclean_election_enabled(topic)

    async def _apply_broker(self, name: str) -> None:
        before = self._live.overrides()
        try:
            if name == DEFAULT_ENTITY:
                self._live.set_cluster_wide(await self._broker_overrides(name))
            elif name == str(self._broker_id):
                plain = await self._broker_overrides(name)
                self._live.set_own(plain, await self._live.passwords.looked_up(plain))
            else:
                return
            take_over = self._on_repeated if self._live.overrides() == before else self._on_broker_config
            await take_over(self._live.current)
        except ConfigError as error:
            _log.error("A dynamic setting cannot be applied: %s", error.detail)
        after = self._live.overrides()
        if after != before:
            _log.info("The broker's dynamic settings are now %s", shown(after))

    async def _broker_overrides(self, name: str) -> dict[str, str]:
        return await self._live.passwords.decoded(await self._stored.of_entity(entity_path(("brokers", name))))
