"""Which requests are traced, and the bound of those that wait."""

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.base.chance import Chance
from kafka_py.broker.observe.tracing.sampling import ENOUGH, MOST_QUEUED, Sampler
from kafka_py.net.client_software import ClientSoftware
from kafka_py.net.endpoints import SecurityProtocol
from kafka_py.net.principal import ANONYMOUS
from kafka_py.wire.apis import APIS, ApiKey

MOMENTS = (1.0, 1.001, 1.003, 1.01, 1.011, 1.0125, 80)
CONNECTION = SimpleNamespace(
    id="127.0.0.1:9092-127.0.0.1:5000-1", listener_name="CLIENT", security_protocol=SecurityProtocol.PLAINTEXT,
    principal=ANONYMOUS, client_software=ClientSoftware("n" * 9999, "1" * 9999), peer_host="127.0.0.1", peer_port=5000,
)  # fmt: skip
CONTEXT = SimpleNamespace(
    connection=CONNECTION, api=APIS[ApiKey.METADATA], api_version=4, correlation_id=7, client_id="c" * 9999,
    metrics=SimpleNamespace(name="Metadata"),
)  # fmt: skip


def sampler(ratio: float = 1.0, wakes: list[None] | None = None, **given: Any) -> Sampler:
    woken = [] if wakes is None else wakes
    return Sampler(ratio, Chance(1).generator(), lambda: woken.append(None), **{"names_principal": False, **given})


@pytest.mark.parametrize(("ratio", "least", "most"), [(0.0, 0, 0), (0.1, 80, 120), (1.0, 1000, 1000)])
def test_a_share_of_the_requests_is_traced(ratio: float, least: int, most: int) -> None:
    made = sampler(ratio)
    assert least <= sum(made.begin(None) is not None for _ in range(1000)) <= most


def test_a_queued_request_keeps_values_only() -> None:
    made = sampler(names_principal=True)
    traced = made.begin(None)
    assert traced is not None
    made.finish(traced, CONTEXT, MOMENTS)
    [queued] = made.queue
    held = [getattr(queued, name) for name in queued.__slots__]
    assert CONTEXT not in held and CONNECTION not in held
    assert (queued.name, queued.api_key, queued.version, queued.correlation_id) == ("Metadata", 3, 4, 7)
    assert (queued.principal, queued.peer, queued.client_id) == ("User:ANONYMOUS", ("127.0.0.1", 5000), "c" * 256)
    assert queued.client_software == ("n" * 256, "1" * 256)


def test_no_more_than_a_bound_wait() -> None:
    wakes: list[None] = []
    made = sampler(wakes=wakes)
    for _ in range(MOST_QUEUED + 10):
        traced = made.begin(None)
        assert traced is not None
        made.finish(traced, CONTEXT, MOMENTS)
        assert len(wakes) == (len(made.queue) >= ENOUGH)
    assert (len(made.queue), made.dropped) == (MOST_QUEUED, 10)
    made.finish(made.queue.popleft(), CONTEXT, MOMENTS)
    assert (len(made.queue), made.dropped) == (MOST_QUEUED, 10)
