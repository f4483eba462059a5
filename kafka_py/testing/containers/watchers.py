"""What the web manager and Prometheus of a compose project say about its brokers, through published ports."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from typing import Any

TIMEOUT_S = 30.0


class ManagerClient:
    """Asks the JSON interface of a web manager as one of its users. Blocking."""

    def __init__(self, port: int, user: str, password: str, cluster: str = "cluster") -> None:
        self._url = f"http://127.0.0.1:{port}"
        self._login = base64.b64encode(f"{user}:{password}".encode()).decode()
        self._cluster = cluster

    def ask(self, path: str) -> Any:
        """The answer to GET /api{path}. Raises OSError, urllib.error.HTTPError for another status than 200."""
        request = urllib.request.Request(f"{self._url}/api{path}", headers={"Authorization": f"Basic {self._login}"})
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            return json.load(answer)

    def live_brokers(self) -> set[int]:
        """The ids of the brokers that the page of brokers shows as alive; none where the cluster does not answer."""
        try:
            rows = self.ask(f"/clusters/{self._cluster}/brokers")["brokers"]
        except urllib.error.HTTPError as error:
            if error.code < 500:
                raise
            return set()
        return {row["id"] for row in rows if row["is_alive"]}


def target_health(port: int) -> dict[str, str]:
    """What Prometheus thinks of each target, host:port -> up, down or unknown. Raises OSError."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/targets?state=active", timeout=TIMEOUT_S) as answer:
        targets = json.load(answer)["data"]["activeTargets"]
    return {target["labels"]["instance"]: target["health"] for target in targets}
