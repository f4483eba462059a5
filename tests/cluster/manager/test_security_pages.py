"""Users, ACLs, quotas, delegation tokens and transactions of a cluster with logins, in a real browser."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from kafka_py.cli.local_cluster.security import ACLS
from kafka_py.clients import Producer
from kafka_py.manager.settings import ClusterSettings, ManagerSettings
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.web_manager import ServedManager

SUBJECTS = ("users", "acls", "quotas", "tokens", "transactions", "transactions/open")


@pytest.fixture(scope="module")
def cluster(kafka_cluster_factory: Callable[..., KafkaCluster]) -> Iterator[KafkaCluster]:
    settings = {**ACLS, "delegation.token.secret.key": "token-secret"}
    with kafka_cluster_factory(security="SASL_PLAINTEXT", settings=settings) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def manager(cluster: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedManager]:
    properties = dict(cluster.access("admin").settings)
    servers = properties.pop("bootstrap.servers")
    clusters = (ClusterSettings("ours", servers, properties),)
    settings = ManagerSettings(clusters, data=tmp_path_factory.mktemp("manager"), allow_changes=True)
    with ServedManager(settings) as served:
        yield served


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_page_is_readable_for_everybody(subject: str, readable: Callable[..., None]) -> None:
    readable(f"/clusters/ours/{subject}")


def test_a_user_is_created_and_its_credential_deleted(page: Page) -> None:
    page.goto("/clusters/ours/users")
    form = page.locator("form.card")
    form.get_by_label("Name").fill("<b>carol")
    form.get_by_label("Password").fill("carol-secret")
    form.get_by_role("button", name="Set password").click()
    expect(page.get_by_text("The password of <b>carol for SCRAM-SHA-256 was set.")).to_be_visible()
    row = page.get_by_role("row", name="<b>carol")
    row.get_by_role("button", name="Delete SCRAM-SHA-256").click()
    expect(page.get_by_text("kafka-configs.sh")).to_be_visible()
    page.locator("#apply").click()
    expect(page.get_by_role("row", name="<b>carol")).to_have_count(0)


def test_an_acl_is_added_appears_in_the_matrix_and_is_removed(page: Page) -> None:
    page.goto("/clusters/ours/acls")
    form = page.locator("form.card")
    form.get_by_label("Principal").fill("User:carol")
    form.get_by_label("Resource name").fill("orders")
    form.get_by_label("The name is").select_option("Prefixed")
    form.get_by_label("Read", exact=True).check()
    form.get_by_role("button", name="Show what changes").click()
    expect(page.get_by_text("--allow-principal User:carol")).to_be_visible()
    page.locator("#apply").click()
    expect(page.locator("#matrix").get_by_role("row", name="Topic orders")).to_contain_text("Read")
    page.locator("#rules").get_by_role("row", name="User:carol").get_by_role("button", name="Remove").click()
    page.locator("#apply").click()
    expect(page.get_by_text("The ACL was removed.")).to_be_visible()
    expect(page.locator("#rules").get_by_role("row", name="User:carol")).to_have_count(0)


def test_a_quota_of_a_default_is_set_and_removed(page: Page) -> None:
    page.goto("/clusters/ours/quotas")
    form = page.locator("form.card")
    form.get_by_label("Name of the user").fill("carol")
    form.get_by_label("all client ids without a limit of their own").check()
    form.get_by_label("Value").fill("123456")
    form.get_by_role("button", name="Show what changes").click()
    page.locator("#apply").click()
    row = page.get_by_role("row", name="carol")
    expect(row).to_contain_text("<default>")
    row.get_by_role("button", name="Remove").click()
    page.locator("#apply").click()
    expect(page.get_by_text("There are no quotas.")).to_be_visible()


def test_a_token_is_created_its_hmac_shown_once_and_ended(page: Page) -> None:
    page.goto("/clusters/ours/tokens")
    page.get_by_label("Renewers").fill("User:carol")
    page.get_by_role("button", name="Show what changes").click()
    page.locator("#apply").click()
    expect(page.get_by_role("heading", name="HMAC")).to_be_visible()
    page.reload()
    expect(page.get_by_text("shown once")).to_be_visible()
    page.goto("/clusters/ours/tokens")
    row = page.get_by_role("row", name="User:carol")
    row.get_by_role("button", name="End").click()
    page.locator("#apply").click()
    expect(page.get_by_role("row", name="User:carol")).to_have_count(0)


def test_an_open_transaction_is_shown_and_aborted(page: Page, cluster: KafkaCluster, tmp_path: Path) -> None:
    topic = cluster.create_topic()
    settings = {**cluster.access("admin").settings, "transactional.id": "<i>id"}
    with Producer(settings) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, value=b"v", partition=0).result(30)
        page.goto("/clusters/ours/transactions")
        expect(page.get_by_role("heading", name="Transactions")).to_be_visible()
        page.goto(f"/clusters/ours/transactions/open?topic={topic}")
        page.get_by_role("row", name=f"{topic}-0").get_by_role("button", name="Abort").click()
        expect(page.get_by_text(f"abort --topic {topic} --partition 0 --start-offset 0")).to_be_visible()
        page.locator("#apply").click()
        expect(page.get_by_text("No transaction is open.")).to_be_visible()
        producer.abort_transaction()
