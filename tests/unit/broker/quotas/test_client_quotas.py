"""Budgets in use: shared, throttled, changed while in use, removed when idle; and a plug-in in place of all that."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.base.meters import MetricRegistry
from kafka_py.broker.quotas import manager as manager_module
from kafka_py.broker.quotas.broker_quotas import entity_of
from kafka_py.broker.quotas.callback import load_quota_callback
from kafka_py.broker.quotas.client_quotas import ClientQuotas
from kafka_py.broker.quotas.manager import IDLE_MS, MOST_BUDGETS, QuotaManager
from kafka_py.broker.quotas.mutations import Mutations
from kafka_py.broker.quotas.quota_keys import QuotaEntity
from kafka_py.broker.quotas.quota_metrics import measure_quotas
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.net.principal import ANONYMOUS, Principal
from kafka_py.testing.clock import ManualClock

ALICE = Principal("User", "alice")
CLIENT = QuotaEntity(None, "c1")


def quotas(settings: Mapping[str, str] | None = None, callback: Any = None) -> ClientQuotas:
    return ClientQuotas(BrokerConfig.parse({"zookeeper.connect": "z", **(settings or {})}), callback)


def run(steps: Iterable[object]) -> None:
    for _ in steps:
        pass


def charge(manager: QuotaManager[Any], principal: Principal, client_id: str, value: float, now_ms: float) -> int:
    return manager.budget_of((principal, client_id)).charge(value, now_ms)


def test_nothing_is_measured_before_the_first_quota() -> None:
    clients, calls = quotas(), []
    clients.when_on(lambda: calls.append(1))
    run(clients.applying(CLIENT, {"unknown": "1"}))
    assert (clients.is_on, calls) == (False, [])
    run(clients.applying(CLIENT, {"producer_byte_rate": "100"}))
    assert (clients.is_on, clients.produce.is_on, clients.fetch.is_on, calls) == (True, True, False, [1])
    run(clients.applying(CLIENT, {}))
    assert clients.produce.is_on
    assert calls == [1]


def test_a_static_default_is_a_quota_from_the_start() -> None:
    clients, calls = quotas({"quota.consumer.default": "1000"}), []
    clients.when_on(lambda: calls.append(1))
    assert (clients.fetch.is_on, clients.produce.is_on, calls) == (True, False, [1])
    assert charge(clients.fetch, ANONYMOUS, "c", 20_000, 0.0) == 10_000


def test_clients_of_one_user_share_its_budget() -> None:
    clients = quotas()
    run(clients.applying(QuotaEntity("alice", None), {"producer_byte_rate": "500"}))
    produce = clients.produce
    assert charge(produce, ALICE, "c1", 5000, 0.0) == 0
    assert charge(produce, ALICE, "c2", 1, 0.0) == 2
    assert charge(produce, ANONYMOUS, "c1", 1_000_000, 0.0) == 0
    assert len(produce.budgets) == 2


def test_a_changed_limit_applies_to_what_was_used_already() -> None:
    clients = quotas()
    run(clients.applying(CLIENT, {"producer_byte_rate": "500"}))
    assert charge(clients.produce, ANONYMOUS, "c1", 5001, 0.0) == 2
    run(clients.applying(CLIENT, {"producer_byte_rate": "1000"}))
    assert charge(clients.produce, ANONYMOUS, "c1", 0, 0.0) == 0
    run(clients.applying(CLIENT, {"producer_byte_rate": "100"}))
    assert charge(clients.produce, ANONYMOUS, "c1", 0, 0.0) == 40_010
    run(clients.applying(CLIENT, {}))
    assert charge(clients.produce, ANONYMOUS, "c1", 0, 0.0) == 0


def test_a_client_changes_its_budget_with_a_new_level() -> None:
    clients = quotas()
    run(clients.applying(QuotaEntity(None, "<default>"), {"producer_byte_rate": "500"}))
    assert charge(clients.produce, ALICE, "c1", 6000, 0.0) == 2000
    run(clients.applying(QuotaEntity("alice", "c1"), {"producer_byte_rate": "10000"}))
    assert charge(clients.produce, ALICE, "c1", 6000, 0.0) == 0
    assert [budget.tags for budget in clients.produce.budgets] == [("", "c1"), ("alice", "c1")]


def test_request_time_throttles_for_one_sample_at_most() -> None:
    clients = quotas()
    run(clients.applying(CLIENT, {"request_percentage": "1.0"}))
    assert charge(clients.request, ANONYMOUS, "c1", 50.0, 0.0) == 1000


def test_a_limit_of_nothing_throttles_for_a_window_at_a_time() -> None:
    clients = quotas()
    run(clients.applying(CLIENT, {"consumer_byte_rate": "0"}))
    assert charge(clients.fetch, ANONYMOUS, "c1", 1, 0.0) == 11_000


@pytest.mark.parametrize("key", ["producer_byte_rate", "request_percentage", "controller_mutation_rate"])
def test_a_limit_below_nothing_gives_no_throttle_time_below_nothing(key: str) -> None:
    clients = quotas()
    run(clients.applying(CLIENT, {key: "-1"}))
    [manager] = [each for each in clients.managers if each.is_on]
    assert charge(manager, ANONYMOUS, "c1", 10.0, 0.0) == 0
    for is_strict in (True, False):
        assert clients.mutation.budget_of((ANONYMOUS, "c1")).take(10, 0.0, is_strict=is_strict)[1] == 0


def test_invented_client_ids_take_bounded_memory() -> None:
    clients = quotas()
    run(clients.applying(QuotaEntity(None, "<default>"), {"producer_byte_rate": "500"}))
    produce = clients.produce
    assert charge(produce, ALICE, "over", 6000, 0.0) == 2000
    for number in range(3 * MOST_BUDGETS):
        charge(produce, ALICE, f"invented {number}", 1, 1.0)
        assert len(produce.known) <= MOST_BUDGETS
    assert len(produce.budgets) <= MOST_BUDGETS
    assert charge(produce, ALICE, "over", 0, 2.0) > 1900  # whom it would help to be forgotten is remembered


def test_clients_that_share_a_budget_are_not_all_noted() -> None:
    clients = quotas()
    run(clients.applying(QuotaEntity("alice", None), {"producer_byte_rate": "500"}))
    produce = clients.produce
    most = max(charge(produce, ALICE, f"invented {number}", 0, 0.0) or len(produce.known) for number in range(9000))
    assert (len(produce.budgets), most) == (1, manager_module._MOST_NOTED)


def test_a_forgotten_budget_is_not_charged_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manager_module, "MOST_BUDGETS", 20)
    clients = quotas()
    clients.produce._full_at = 20
    run(clients.applying(QuotaEntity(None, "<default>"), {"producer_byte_rate": "500"}))
    for number in range(21):
        charge(clients.produce, ALICE, f"c{number}", 1, 0.0)
    era = clients.era.number
    charge(clients.produce, ALICE, "c0", 1, 0.0)
    assert ("", "c0") in [budget.tags for budget in clients.produce.budgets]
    assert clients.produce.budget_of((ALICE, "c0")) in clients.produce.budgets
    assert clients.era.number == era > 0


def test_budgets_over_their_limits_are_not_looked_at_for_each_new_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manager_module, "MOST_BUDGETS", 20)
    monkeypatch.setattr(manager_module, "_LOOKED_AT_WHEN_FULL", 5)
    looked: list[int] = []
    clients = ClientQuotas(BrokerConfig.parse({"zookeeper.connect": "z"}))
    produce = clients.produce
    produce._full_at = 20
    forget = produce._forget_oldest
    monkeypatch.setattr(produce, "_forget_oldest", lambda: looked.append(1) or forget())
    run(clients.applying(QuotaEntity(None, "<default>"), {"producer_byte_rate": "1"}))
    for number in range(40):
        charge(produce, ALICE, f"over {number}", 1000, 0.0)
    assert (len(produce.budgets), len(looked)) == (40, 4)


def test_a_value_that_is_no_number_is_no_limit(caplog: pytest.LogCaptureFixture) -> None:
    clients = quotas()
    run(clients.applying(CLIENT, {"producer_byte_rate": "many", "consumer_byte_rate": "1"}))
    assert (clients.produce.is_on, clients.fetch.is_on) == (False, True)
    assert "producer_byte_rate" in caplog.text
    run(clients.applying(CLIENT, {"consumer_byte_rate": "many"}))
    assert clients.fetch.budget_of((ANONYMOUS, "c1")).limit is None


def test_an_idle_budget_is_removed_and_begins_afresh() -> None:
    clients = quotas()
    run(clients.applying(CLIENT, {"producer_byte_rate": "500"}))
    charge(clients.produce, ANONYMOUS, "c1", 1, 0.0)
    charge(clients.produce, ANONYMOUS, "c2", 1, 2_000_000.0)
    run(clients.removing_idle(IDLE_MS + 1_001.0))
    assert [budget.tags for budget in clients.produce.budgets] == [("", "c2")]
    charge(clients.produce, ANONYMOUS, "c1", 1, IDLE_MS + 1_002.0)
    assert len(clients.produce.budgets) == 2


def test_one_response_may_have_what_all_samples_but_one_allow() -> None:
    clients = quotas()
    run(clients.applying(CLIENT, {"consumer_byte_rate": "500"}))
    assert clients.fetch.budget_of((ANONYMOUS, "c1")).most_at_once == 5000
    assert clients.fetch.budget_of((ANONYMOUS, "c2")).most_at_once == math.inf


@pytest.mark.parametrize(
    ("path", "entity"),
    [
        ("users/alice", ("alice", None)),
        ("users/<default>/clients/a%2Fb", ("<default>", "a%2Fb")),
        ("clients/clients", (None, "clients")),
        ("ips/1.2.3.4", None),
    ],
)
def test_entities_of_paths(path: str, entity: tuple[str | None, str | None] | None) -> None:
    assert entity_of(path) == entity


# ---- mutations


def test_strict_mutations_are_refused_topic_by_topic() -> None:
    clients, now = quotas(), [0.0]
    run(clients.applying(CLIENT, {"controller_mutation_rate": "1.0"}))
    mutations = Mutations(clients.mutation, (ANONYMOUS, "c1"), lambda: now[0], is_strict=True)
    mutations.take(14)
    assert mutations.throttle_ms == 0
    with pytest.raises(KafkaError) as refused:
        mutations.take(1)
    assert refused.value.code is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert mutations.throttle_ms == 3000
    now[0] = 1000.0
    assert mutations.throttle_ms == 2000
    other = Mutations(clients.mutation, (ANONYMOUS, "c2"), lambda: now[0], is_strict=True)
    other.take(1000)
    assert other.throttle_ms == 0


def test_a_bucket_that_is_just_empty_is_not_exhausted() -> None:
    clients = quotas()
    run(clients.applying(CLIENT, {"controller_mutation_rate": "1.0"}))
    budget = clients.mutation.budget_of((ANONYMOUS, "c1"))
    assert budget.take(11, 0.0, is_strict=True) == (True, 0)
    assert (budget.tokens, budget.is_over) == (0.0, False)
    assert budget.take(1, 0.0, is_strict=True) == (True, 0)
    assert (budget.tokens, budget.is_over) == (-1.0, True)
    assert budget.take(1, 0.0, is_strict=True) == (False, 1000)


def test_of_very_many_budgets_those_over_their_limits_are_forgotten_after_a_window(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A client that invents client ids, each of which uses its budget up, does not keep an hour's worth of them."""
    monkeypatch.setattr(manager_module, "MOST_BUDGETS", 20)
    clients = quotas()
    limits = {"producer_byte_rate": "100", "controller_mutation_rate": "1"}
    run(clients.applying(QuotaEntity(None, "<default>"), limits))
    for number in range(60):
        assert charge(clients.produce, ANONYMOUS, f"c{number}", 1100, 0.0) > 0
        clients.mutation.budget_of((ANONYMOUS, f"c{number}")).take(12 if number else 100, 0.0, is_strict=False)
    run(clients.removing_idle(11_999.0))
    assert (len(clients.produce.budgets), len(clients.mutation.budgets)) == (60, 60)
    run(clients.removing_idle(12_001.0))
    assert (len(clients.produce.budgets), len(clients.mutation.budgets)) == (20, 20)
    assert clients.mutation.budget_of((ANONYMOUS, "c0")).tokens < -50  # it is exhausted for longer than a window


def test_the_metric_of_tokens_shows_those_that_have_come_in_since() -> None:
    clock = ManualClock()
    registry = MetricRegistry(clock)
    clients = quotas()
    measure_quotas(registry, clients)
    run(clients.applying(CLIENT, {"controller_mutation_rate": "1.0"}))

    def tokens() -> float:
        found = {reading.mbean: reading.attributes for reading in registry.read()}
        return float(found["kafka.server:type=ControllerMutation,client-id=c1"]["tokens"])

    budget = clients.mutation.budget_of((ANONYMOUS, "c1"))
    assert tokens() == 11.0
    budget.take(15, clock.monotonic_ms(), is_strict=True)
    assert tokens() == -4.0
    clock.advance(1_500)
    assert tokens() == -2.5
    clock.advance(60_000)
    assert tokens() == 11.0


def test_mutations_have_a_window_of_their_own() -> None:
    settings = {"controller.quota.window.num": "5", "controller.quota.window.size.seconds": "2"}
    clients = quotas({**settings, "quota.window.num": "3"})
    run(clients.applying(CLIENT, {"controller_mutation_rate": "1.0", "producer_byte_rate": "500"}))
    budget = clients.mutation.budget_of((ANONYMOUS, "c1"))
    assert budget.take(10, 0.0, is_strict=True) == (True, 0)
    assert budget.tokens == 0.0
    assert charge(clients.produce, ANONYMOUS, "c1", 2000, 0.0) == 2000


def test_a_changed_limit_of_mutations_gives_no_new_tokens() -> None:
    clients = quotas()
    run(clients.applying(CLIENT, {"controller_mutation_rate": "1.0"}))
    budget = clients.mutation.budget_of((ANONYMOUS, "c1"))
    budget.take(13, 0.0, is_strict=True)
    run(clients.applying(CLIENT, {"controller_mutation_rate": "2.0"}))
    assert clients.mutation.budget_of((ANONYMOUS, "c1")) is budget
    assert budget.take(1, 500.0, is_strict=True) == (False, 500)
    run(clients.applying(CLIENT, {}))
    assert budget.tokens == math.inf
    run(clients.applying(CLIENT, {"controller_mutation_rate": "2.0"}))
    assert budget.take(1, 600.0, is_strict=True) == (True, 0)


def test_mutations_are_counted_without_a_limit_but_not_without_any_quota() -> None:
    clients = quotas()
    mutations = Mutations(clients.mutation, (ANONYMOUS, "c2"), lambda: 0.0, is_strict=True)
    mutations.take(5)
    assert clients.mutation.budgets == []
    run(clients.applying(CLIENT, {"controller_mutation_rate": "1.0"}))
    mutations.take(5)
    [budget] = clients.mutation.budgets
    assert (budget.tags, budget.total, budget.per_second(0.0)) == (("", "c2"), 5.0, 0.5)


def test_permissive_mutations_throttle() -> None:
    clients = quotas()
    run(clients.applying(CLIENT, {"controller_mutation_rate": "1.0"}))
    mutations = Mutations(clients.mutation, (ANONYMOUS, "c1"), lambda: 0.0, is_strict=False)
    mutations.take(14)
    mutations.take(1)
    assert mutations.throttle_ms == 4000


# ---- metrics


def test_each_budget_has_its_metrics() -> None:
    clock = ManualClock()
    registry = MetricRegistry(clock)
    clients = quotas()
    measure_quotas(registry, clients)
    run(clients.applying(QuotaEntity("alice", "<default>"), {"producer_byte_rate": "500"}))
    budget = clients.produce.budget_of((ALICE, "c 1"))
    budget.charge(6000, clock.monotonic_ms())
    budget.note_throttled(2000, clock.monotonic_ms())
    clients.produce.budget_of((ALICE, "calm")).charge(1, clock.monotonic_ms())
    clients.produce.muted, clients.fetch.muted, clients.request.muted, clients.mutation.muted = 1, 2, 3, 4
    clients.exempt.record(20.0, clock.monotonic_ms())
    found = {reading.mbean: reading.attributes for reading in registry.read()}
    assert found["kafka.server:type=Produce,user=alice,client-id=c 1"] == {"byte-rate": 600.0, "throttle-time": 2000.0}
    assert math.isnan(float(found["kafka.server:type=Produce,user=alice,client-id=calm"]["throttle-time"]))
    assert found["kafka.server:type=Produce"] == {"queue-size": 1}
    assert found["kafka.server:type=Fetch"] == {"queue-size": 2}
    assert found["kafka.server:type=Request"] == {"queue-size": 3, "exempt-request-time": 2.0}
    assert found["kafka.server:type=ControllerMutation"] == {"queue-size": 4}


def test_throttle_times_are_those_of_a_minute() -> None:
    clients = quotas()
    budget = clients.produce.budget_of((ANONYMOUS, "c"))
    budget.note_throttled(10, 0.0)
    budget.note_throttled(20, 35_000.0)
    assert budget.times is not None
    assert budget.times.average(36_000.0) == 15.0
    assert budget.times.average(70_000.0) == 20.0
    assert math.isnan(budget.times.average(200_000.0))


# ---- plug-in


class Groups:
    """Clients share the budget of the word before the dash."""

    def __init__(self) -> None:
        self.limits: dict[str, float] = {}
        self.changes: list[object] = []
        self.is_reset = False
        self.closed = False

    def configure(self, configs: Mapping[str, object]) -> None:
        self.limits["team"] = float(str(configs.get("team.limit", "500")))

    def quota_metric_tags(self, quota_type: str, principal: tuple[str, str], client_id: str) -> dict[str, str]:
        return {"group": client_id.partition("-")[0]}

    def quota_limit(self, quota_type: str, tags: Mapping[str, str]) -> float | None:
        return self.limits.get(tags["group"])

    def update_quota(self, quota_type: str, entity: Mapping[str, str | None], limit: float) -> None:
        self.changes.append((quota_type, dict(entity), limit))

    def remove_quota(self, quota_type: str, entity: Mapping[str, str | None]) -> None:
        self.changes.append((quota_type, dict(entity)))

    def quota_reset_required(self, quota_type: str) -> bool:
        was, self.is_reset = self.is_reset, False
        return was

    def update_cluster_metadata(self, cluster: object) -> bool:
        self.limits["team"] = 1.0
        return True

    def close(self) -> None:
        self.closed = True


def test_a_plug_in_names_budgets_and_limits() -> None:
    plugin = Groups()
    plugin.configure({"team.limit": "500"})
    clients = quotas(callback=plugin)
    assert clients.is_on
    assert charge(clients.produce, ALICE, "team-1", 5000, 0.0) == 0
    assert charge(clients.produce, ALICE, "team-2", 1, 0.0) == 2
    assert charge(clients.produce, ALICE, "other", 1_000_000, 0.0) == 0
    plugin.limits["team"], plugin.is_reset = 5000.0, True
    assert charge(clients.produce, ALICE, "team-1", 0, 0.0) == 0
    assert charge(clients.fetch, ALICE, "team-1", 50_000, 0.0) == 0
    run(clients.on_cluster_metadata(None))
    assert charge(clients.produce, ALICE, "team-1", 0, 0.0) > 0
    assert charge(clients.fetch, ALICE, "team-1", 0, 0.0) > 0
    run(clients.applying(QuotaEntity("a%20b", "<default>"), {"request_percentage": "5.0"}))
    assert ("Request", {"user": "a b", "client-id": None}, 5.0) in plugin.changes
    assert ("Produce", {"user": "a b", "client-id": None}) in plugin.changes
    clients.close()
    assert plugin.closed


def test_a_plug_in_that_raises_limits_nobody_and_is_logged_once_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    """Neither do its exceptions reach requests, nor answers of other types."""
    plugin: Any = Groups()
    clients = quotas(callback=plugin)

    def fails(*_: object) -> object:
        raise RuntimeError("the plug-in's own")

    for method in ("quota_metric_tags", "update_quota", "remove_quota", "update_cluster_metadata", "close"):
        setattr(plugin, method, fails)
    plugin.quota_limit = lambda *_: "no number"
    for number in range(3):
        assert charge(clients.produce, ALICE, f"c{number}", 1_000_000, 0.0) == 0
    assert [budget.tags for budget in clients.produce.budgets][:1] == [(("user", "alice"), ("client-id", "c0"))]
    run(clients.applying(CLIENT, {"producer_byte_rate": "5"}))
    run(clients.on_cluster_metadata(None))
    clients.close()
    methods = [record.args[0] for record in caplog.records if isinstance(record.args, tuple)]
    assert sorted(map(str, methods)) == [
        "close", "quota_limit", "quota_metric_tags", "remove_quota", "update_cluster_metadata", "update_quota",
    ]  # fmt: skip
    plugin.quota_limit = lambda *_: 1
    assert charge(clients.produce, ALICE, "later", 1_000_000, 0.0) > 0
    assert caplog.messages[-1] == "quota_limit of the class in client.quota.callback.class answers again"


def test_a_plug_in_that_is_not_there_stops_the_start() -> None:
    assert load_quota_callback(None, {}) is None
    with pytest.raises(ConfigError, match=r"client\.quota\.callback\.class"):
        load_quota_callback("no.such.Thing", {})
