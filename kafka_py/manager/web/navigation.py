"""The menu of a cluster: the routes that have an entry, in the order of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kafka_py.manager.web.formats import part
from kafka_py.manager.web.routes import CLUSTER, WebRoute


class MenuEntry(NamedTuple):
    """is_here: whether the page belongs to this entry."""

    label: str
    path: str
    is_here: bool


def cluster_menu(routes: Sequence[WebRoute], cluster: str, section: str) -> list[MenuEntry]:
    """The entries for one cluster."""
    return [
        MenuEntry(route.menu, route.path.replace("{cluster}", part(cluster)), route.menu == section)
        for route in routes
        if route.menu and route.path.startswith(CLUSTER)
    ]
