"""The authorizer of a broker, as `authorizer.class.name` names it.

Source: docs/reference/security/acls.md, sections 2 and 4; docs/reference/configs.tsv.
"""

from __future__ import annotations

import gc

from kafka_py.base.supervision import Supervisor
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.wiring.server_environment import ServerEnvironment
from kafka_py.broker.wiring.zookeeper_sessions import authorizer_session
from kafka_py.security.acls.authorization import ALLOW_ALL, Authorizer
from kafka_py.zk.acls import AclStore
from kafka_py.zk.store import ZkStore

BY_ACLS = ("kafka.security.authorizer.AclAuthorizer", "kafka.security.auth.SimpleAclAuthorizer")
"""The classes of Apache Kafka in whose place this broker has AclAuthorizer."""

_FIRST_WITH_PREFIXED = "2.0-IV1"


def make_authorizer(
    config: BrokerConfig, store: AclStore, outside: ServerEnvironment, supervisor: Supervisor
) -> Authorizer:
    """The configured authorizer, not yet started. Raises ConfigError for a class that does not exist or fit.

    store: in the broker's own session, which has the ACLs unless `authorizer.zookeeper.*` says otherwise.
    """
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
    session = authorizer_session(config, outside)
    if session is not None:
        session.supervise(supervisor)
        store = ZkStore(session).acls
    return AclAuthorizer(
        AclKeeper(store, outside.clock, outside.chance, supervisor, with_prefixed=with_prefixed, settle=gc.freeze),
        super_users_of(properties),
        allowed_without_acls=allowed_without_acls(properties),
        own_session=session,
    )
