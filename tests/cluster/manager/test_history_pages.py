"""Charts and the timeline in a real browser."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from kafka_py.clients import AdminClient, NewTopic, OffsetAndMetadata, Producer, TopicPartition
from kafka_py.testing.cluster import KafkaCluster

GROUP = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module", autouse=True)
def contents(cluster: KafkaCluster) -> None:
    """A topic with records, and a group that lags."""
    with AdminClient({"bootstrap.servers": cluster.bootstrap_servers}) as admin:
        admin.create_topics([NewTopic("charted", 2, 3)]).all()
        with Producer({"bootstrap.servers": cluster.bootstrap_servers}) as producer:
            for number in range(100):
                producer.send("charted", value=b"x" * 100, partition=number % 2)
        admin.alter_consumer_group_offsets(GROUP, {TopicPartition("charted", 0): OffsetAndMetadata(10)}).all()


PATHS = [
    "/clusters/ours/history",
    "/clusters/ours/history?kind=topic&name=charted&range=15min",
    "/clusters/ours/history?kind=group&name=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E",
    "/clusters/ours/history/series?metric=brokers",
    "/clusters/down/history",
    "/clusters/ours/timeline",
]


@pytest.mark.parametrize("path", PATHS)
def test_a_page_is_readable_for_everybody(path: str, readable: Callable[..., None]) -> None:
    readable(path)


def test_charts_are_drawn_from_what_was_observed(page: Page) -> None:
    page.goto("/clusters/ours/history")
    chart = page.get_by_role("img", name="Brokers over time")
    expect(chart.locator("canvas")).to_be_visible()
    expect(chart).to_have_attribute("data-drawn", re.compile("[1-9]"))
    region = page.get_by_role("region", name="Brokers", exact=True)
    expect(region.get_by_text("now 3")).to_be_visible()
    page.get_by_role("link", name="As a table of Brokers").click()
    expect(page.get_by_role("cell", name="3.0").first).to_be_visible()


def test_lines_by_partition_have_a_legend(page: Page) -> None:
    page.goto("/clusters/ours/history?kind=topic&name=charted")
    expect(page.get_by_text("partition 0").first).to_be_visible()


def test_the_range_of_the_charts_is_chosen(page: Page) -> None:
    page.goto("/clusters/ours/history")
    page.get_by_label("Range").select_option("1d")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("img", name="Brokers over time")).to_have_attribute(
        "data-series", "/api/clusters/ours/history/series?metric=brokers&range=1d"
    )


def test_the_timeline_of_a_cluster_that_is_down_says_so(page: Page) -> None:
    page.goto("/clusters/down/timeline")
    expect(page.get_by_role("rowheader", name="cluster")).to_be_visible()
    expect(page.get_by_text("unreachable", exact=True).first).to_be_attached()


def test_a_chart_without_values_ends_now(page: Page) -> None:
    page.goto("/clusters/down/history")
    chart = page.get_by_role("img", name="Brokers over time")
    expect(chart).to_have_attribute("data-drawn", "0")
    apart_s = chart.evaluate("chart => Math.abs(chart.plot.scales.x.max - Date.now() / 1000)")
    assert apart_s < 60
