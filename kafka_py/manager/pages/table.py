"""All routes, in the order of the menus, and what runs beside them. A page is added here."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from kafka_py.manager.bundle_jobs import bundling
from kafka_py.manager.directory_jobs import moving_directories
from kafka_py.manager.examinations import examining
from kafka_py.manager.history.background import collecting
from kafka_py.manager.pages import (
    brokers,
    bundle,
    doctor,
    group_changes,
    groups,
    history,
    login,
    message_sending,
    messages,
    metrics,
    oidc_login,
    overview,
    reassignments,
    registration,
    settings_table,
    timeline,
    topic_changes,
    topics,
)
from kafka_py.manager.pages.message_parts import message_parts
from kafka_py.manager.pages.moves import directories, directory_changes, rebalance
from kafka_py.manager.pages.security import acls, quotas, scram_users, tokens, transactions
from kafka_py.manager.rebalance_jobs import rebalancing
from kafka_py.manager.services import ManagerServices
from kafka_py.manager.throttle_keeper import keeping_throttles
from kafka_py.manager.web.routes import WebRoute

ROUTES: tuple[WebRoute, ...] = (
    *login.ROUTES,
    *oidc_login.ROUTES,
    *overview.ROUTES,
    *registration.ROUTES,
    *brokers.ROUTES,
    *topic_changes.ROUTES,
    *topics.ROUTES,
    *message_sending.ROUTES,
    *messages.ROUTES,
    *reassignments.ROUTES,
    *groups.ROUTES,
    *group_changes.ROUTES,
    *rebalance.ROUTES,
    *directories.ROUTES,
    *directory_changes.ROUTES,
    *settings_table.ROUTES,
    *doctor.ROUTES,
    *bundle.ROUTES,
    *history.ROUTES,
    *timeline.ROUTES,
    *metrics.ROUTES,
    *scram_users.ROUTES,
    *acls.ROUTES,
    *quotas.ROUTES,
    *tokens.ROUTES,
    *transactions.ROUTES,
)
"""The first whose path fits is taken: /topics/new comes before /topics/{topic}."""

BACKGROUND: tuple[Callable[[ManagerServices], AbstractAsyncContextManager[object]], ...] = (
    message_parts,
    collecting,
    rebalancing,
    moving_directories,
    keeping_throttles,
    examining,
    bundling,
)
"""Entered when the manager starts, in this order, and left when it ends."""
