"""The menu of a cluster: entries of the routes, with names of clusters that need quoting."""

from kafka_py.manager.pages.table import ROUTES
from kafka_py.manager.web.answers import Page
from kafka_py.manager.web.navigation import MenuEntry, cluster_menu
from kafka_py.manager.web.requests import PageRequest
from kafka_py.manager.web.routes import CLUSTER, reads


async def nothing(_request: PageRequest) -> Page:
    return Page("", None)


def test_routes_of_clusters_with_an_entry_are_in_the_menu_and_one_is_marked() -> None:
    routes = (
        reads("/", nothing, "Clusters.", Page, menu="Clusters"),
        reads(f"{CLUSTER}/topics", nothing, "Topics.", Page, menu="Topics"),
        reads(f"{CLUSTER}/topics/new", nothing, "New.", Page, under="Topics"),
        reads(f"{CLUSTER}/groups", nothing, "Groups.", Page, menu="Groups"),
    )
    assert cluster_menu(routes, "a/b?", "Topics") == [
        MenuEntry("Topics", "/clusters/a%2Fb%3F/topics", True), MenuEntry("Groups", "/clusters/a%2Fb%3F/groups", False),
    ]  # fmt: skip


def test_every_page_under_an_entry_marks_one_that_exists() -> None:
    entries = {route.menu for route in ROUTES if route.menu}
    assert {route.under for route in ROUTES if route.under} <= entries
    assert len(entries) == sum(bool(route.menu) for route in ROUTES)
