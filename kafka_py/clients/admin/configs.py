"""The settings of the admin client, 54 of them with those that every client has.

Source: docs/reference/configs.tsv, scope admin.
"""

from __future__ import annotations

from kafka_py.base.options import Kind, Option, at_least, between
from kafka_py.clients.configs import INT_MAX, ClientOptions


class AdminOptions(ClientOptions):
    """The admin client's settings: names, types and defaults."""

    bootstrap_servers = Option[list[str]](
        "bootstrap.servers", [], required=True, importance="high",
        about="host:port list, from which the cluster is discovered.",
    )
    connections_max_idle_ms = Option(
        "connections.max.idle.ms", 300_000, kind=Kind.LONG, about="An unused connection is closed after this long."
    )
    default_api_timeout_ms = Option(
        "default.api.timeout.ms", 60_000, at_least(0),
        about="Time limit of a call that is given none, retries included.",
    )
    retries = Option(
        "retries", INT_MAX, between(0, INT_MAX), importance="low",
        about="How often a request that failed for a passing reason is sent again.",
    )
