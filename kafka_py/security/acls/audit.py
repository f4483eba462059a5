"""The audit log: who was allowed or denied what, in the lines of Apache Kafka 2.8.2 that log collectors parse.

Source: docs/reference/security/acls.md, section 3; AclAuthorizer.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from kafka_py.base.texts import one_line
from kafka_py.security.acls.authorization import Asker, Audit
from kafka_py.security.acls.hosts import java_host
from kafka_py.security.acls.vocabulary import Operation, ResourceType

AUDIT_LOGGER = "kafka.authorizer.logger"
TRACE = 5

_SHOWN_NAME = 300

audit_log = logging.getLogger(AUDIT_LOGGER)
known_levels: Mapping[int, bool] = vars(audit_log).get("_cache", {})
"""What `audit_log.isEnabledFor` has answered; the logging module empties it when any level changes. Read for each
decision, because the call would be a sixth of what a remembered one costs. Where Python has no such cache, it is empty.
"""


def log_decision(
    allowed: bool, who: Asker, operation: Operation, resource_type: ResourceType, name: str | None, audit: Audit
) -> None:
    """Logs one decision. name None: any resource of the type."""
    level = level_of(allowed, audit)
    if not audit_log.isEnabledFor(level):
        return
    pattern = "UNKNOWN:NONE" if name is None else f"LITERAL:{shown(name)}"
    audit_log.log(
        level,
        "Principal = %s is %s Operation = %s from host = %s on resource = %s:%s for request = %s"
        " with resourceRefCount = %d",
        shown(str(who.principal)), "Allowed" if allowed else "Denied", operation.title, java_host(who.host),
        resource_type.title, pattern, who.request_name, 0 if name is None else 1,
    )  # fmt: skip


def level_of(allowed: bool, audit: Audit) -> int:
    """Denials that have an effect are shown at INFO, permissions that are used at DEBUG."""
    if allowed:
        return TRACE if audit is Audit.NEVER else logging.DEBUG
    return logging.INFO if audit is Audit.ALWAYS else TRACE


def shown(name: str) -> str:
    """A client's text for one line of a log: without control characters, and not longer than names are."""
    return one_line(name, _SHOWN_NAME)
