"""OpenTelemetry's own collector: takes spans over HTTP and gRPC, and posts what it has understood as JSON.

    with OtelCollector(folder, receiver.http_endpoint) as collector:
        collector.http_endpoint, collector.grpc_endpoint

OpenTelemetry's builder makes it of Go modules, once, into a cache (KAFKA_PY_CACHE, else ~/.cache/kafka_py); that needs
Go and takes some minutes.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Self

from kafka_py.cli.common.user_folders import cache_directory
from kafka_py.testing.peers.apache import Unavailable
from kafka_py.testing.processes import Process, free_ports

VERSION = "v0.165.0"
BUILD_TIMEOUT_S = 900
_BUILD = f"""\
dist: {{name: otelcol, output_path: OUTPUT, version: "1"}}
receivers: [{{gomod: go.opentelemetry.io/collector/receiver/otlpreceiver {VERSION}}}]
exporters: [{{gomod: go.opentelemetry.io/collector/exporter/otlphttpexporter {VERSION}}}]
"""
_SETTINGS = """\
receivers:
  otlp:
    protocols:
      http: {endpoint: "127.0.0.1:HTTP_PORT"}
      grpc: {endpoint: "127.0.0.1:GRPC_PORT"}
exporters:
  otlp_http:
    endpoint: RECEIVER
    encoding: json
    compression: none
    sending_queue: {enabled: false}
    retry_on_failure: {enabled: false}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    traces: {receivers: [otlp], exporters: [otlp_http]}
"""


class OtelCollector(Process):
    """The collector as a process. receiver: URL of an OtlpReceiver. Raises Unavailable."""

    def __init__(self, folder: Path, receiver: str) -> None:
        http_port, grpc_port = free_ports(2)
        settings = folder / "collector.yaml"
        text = _SETTINGS.replace("HTTP_PORT", str(http_port)).replace("GRPC_PORT", str(grpc_port))
        settings.write_text(text.replace("RECEIVER", receiver))
        super().__init__([str(_built()), "--config", str(settings)], folder / "collector.log")
        self.http_endpoint = f"http://127.0.0.1:{http_port}"
        self.grpc_endpoint = f"http://127.0.0.1:{grpc_port}"

    def start(self) -> Self:
        """Starts it, and waits until it serves. Raises NotReady."""
        super().start()
        self.wait_for(lambda: "Everything is ready" in self.output(), what="the collector")
        return self


def _built() -> Path:
    """The program. Raises Unavailable."""
    target = cache_directory() / f"otelcol-{hashlib.sha256(_BUILD.encode()).hexdigest()[:16]}"
    if target.exists():
        return target
    go = shutil.which("go")
    if go is None:
        raise Unavailable("OpenTelemetry's collector needs Go to be built")
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.parent / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _build(go, target)
    return target


def _build(go: str, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        config, made = Path(work) / "builder.yaml", Path(work) / "made"
        config.write_text(_BUILD.replace("OUTPUT", str(made)))
        done = subprocess.run(
            [go, "run", f"go.opentelemetry.io/collector/cmd/builder@{VERSION}", "--config", str(config)],
            cwd=work, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=BUILD_TIMEOUT_S, check=False,
        )  # fmt: skip
        if done.returncode:
            raise Unavailable(f"OpenTelemetry's collector could not be built: {done.stderr[-1000:]}")
        (made / "otelcol").rename(target)
