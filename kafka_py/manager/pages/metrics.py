"""`/metrics`: all clusters of the manager for Prometheus, as the history has observed them last.

A scrape is no work for the clusters. Where users log in, Prometheus has the token of the setting metrics_token
(authorization), or the name and password of a reader in the users file (basic_auth).
"""

from __future__ import annotations

from starlette.responses import Response

from kafka_py.manager.identity.roles import AccessRole
from kafka_py.manager.pages.history import history_of
from kafka_py.manager.web.requests import NotFound, PageRequest
from kafka_py.manager.web.routes import WebRoute
from kafka_py.net.scraping.exposition import CONTENT_TYPE


async def scrape(request: PageRequest) -> Response:
    """The samples of kafka_exporter, with the label `cluster`. Raises NotFound without a history."""
    service = history_of(request)
    if service is None:
        raise NotFound("The manager observes no cluster: is_enabled of [history] is false, or its file is in use")
    pieces = await service.scrape()
    return Response(b"".join(pieces), headers={"Content-Type": CONTENT_TYPE})


ROUTES = (
    WebRoute(
        "GET", "/metrics", AccessRole.READER, scrape, "Metrics of all clusters for Prometheus.",
        in_api=False, is_for_programs=True, takes_scrape_token=True,
    ),
)  # fmt: skip
