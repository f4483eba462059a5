"""What the broker counts of requests, and of itself. Source: reference metrics table."""

from __future__ import annotations

from kafka_py.base.meters import Distribution, Gauge, MetricRegistry, MetricTable, Rate
from kafka_py.wire.apis import APIS, Api, ApiKey

_REQUEST = ("request",)


class RequestMetrics(MetricTable, group="kafka.network:type=RequestMetrics"):
    """Times and sizes of one API's requests; counts by version and by error are instances with one more tag."""

    requests = Rate("RequestsPerSec", unit="requests", tags=("request", "version"), about="Requests.")
    errors = Rate("ErrorsPerSec", unit="requests", tags=("request", "error"), about="Error codes in responses.")
    local_time = Distribution("LocalTimeMs", unit="ms", tags=_REQUEST, about="Time in the handler.")
    remote_time = Distribution("RemoteTimeMs", unit="ms", tags=_REQUEST, about="Time parked, waiting for others.")
    total_time = Distribution("TotalTimeMs", unit="ms", tags=_REQUEST, about="From the request to its response.")
    request_bytes = Distribution("RequestBytes", unit="bytes", tags=_REQUEST, about="Size of requests.")


class ApiMetrics:
    """The tables of one API, made as its versions and errors occur."""

    __slots__ = ("_errors", "_registry", "_versions", "name", "times")

    def __init__(self, registry: MetricRegistry, name: str) -> None:
        self.name = name
        self.times = RequestMetrics(registry, request=name)
        self._registry = registry
        self._versions: dict[int, RequestMetrics] = {}
        self._errors: dict[str, RequestMetrics] = {}

    def count(self, version: int) -> None:
        """One more request of that version."""
        table = self._versions.get(version)
        if table is None:
            table = self._versions[version] = RequestMetrics(self._registry, request=self.name, version=str(version))
        table.requests += 1

    def count_error(self, error_name: str) -> None:
        """One more error code in a response."""
        table = self._errors.get(error_name)
        if table is None:
            table = self._errors[error_name] = RequestMetrics(self._registry, request=self.name, error=error_name)
        table.errors += 1


class AllRequestMetrics:
    """Every API's metrics, those of fetches by consumers and by followers apart as well."""

    __slots__ = ("_by_key", "fetch_consumer", "fetch_follower")

    def __init__(self, registry: MetricRegistry) -> None:
        self._by_key = {key: ApiMetrics(registry, api.name) for key, api in APIS.items()}
        self.fetch_consumer = ApiMetrics(registry, "FetchConsumer")
        self.fetch_follower = ApiMetrics(registry, "FetchFollower")

    def of(self, api: Api) -> ApiMetrics:
        return self._by_key[ApiKey(api.key)]


class PurgatoryMetrics(MetricTable, group="kafka.server:type=DelayedOperationPurgatory"):
    """Parked operations of one kind; the owner is the Purgatory."""

    size = Gauge(
        "PurgatorySize",
        of=lambda purgatory: purgatory.watched,
        tags=("delayedOperation",),
        about="Watched entries: an operation counts once for each of its keys.",
    )
    delayed = Gauge(
        "NumDelayedOperations",
        of=lambda purgatory: purgatory.delayed,
        tags=("delayedOperation",),
        about="Operations still waiting.",
    )


class ServerMetrics(MetricTable, group="kafka.server:type=KafkaServer"):
    """The owner is the KafkaServer."""

    broker_state = Gauge(
        "BrokerState",
        of=lambda server: int(server.state),
        about="0 not running, 1 starting, 2 recovering, 3 running, 6 pending controlled shutdown, 7 shutting down.",
    )
    cluster_id = Gauge("ClusterId", of=lambda server: server.cluster_id or "", about="The cluster's id.")
