"""The authorizer of a broker, as `authorizer.class.name` names it.

Source: docs/reference/security/acls.md, sections 2 and 4; docs/reference/configs.tsv.
"""

from __future__ import annotations

import gc

from kafka_py.base.chance import Chance
from kafka_py.base.clock import Clock
from kafka_py.base.supervision import Supervisor
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.security.acls.authorization import ALLOW_ALL, Authorizer
from kafka_py.zk.acls import AclStore

BY_ACLS = ("kafka.security.authorizer.AclAuthorizer", "kafka.security.auth.SimpleAclAuthorizer")
"""The classes of Apache Kafka in whose place this broker has AclAuthorizer."""

_FIRST_WITH_PREFIXED = "2.0-IV1"


def make_authorizer(
    config: BrokerConfig, store: AclStore, clock: Clock, chance: Chance, supervisor: Supervisor
) -> Authorizer:
    """The configured authorizer, not yet started. Raises ConfigError for a class that does not exist or fit."""
    name = config.authorizer_class_name.strip()
    if not name:
        return ALLOW_ALL
    properties = config.originals
    if name not in BY_ACLS:
        from kafka_py.security.acls.plugin_authorizer import PluginAuthorizer

        return PluginAuthorizer.load(name, properties)
    from kafka_py.security.acls.acl_authorizer import AclAuthorizer, allowed_without_acls, super_users_of
    from kafka_py.security.acls.keeper import AclKeeper

    with_prefixed = config.inter_broker_version().at_least(_FIRST_WITH_PREFIXED)
    return AclAuthorizer(
        AclKeeper(store, clock, chance, supervisor, with_prefixed=with_prefixed, settle=gc.freeze),
        super_users_of(properties),
        allowed_without_acls=allowed_without_acls(properties),
    )
