"""Asks ZooKeeper servers how they are, by the four-letter word that every one allows: srvr (I/O)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from kafka_py.base.clock import Clock
from kafka_py.operations.doctor.examination import ZooKeeperSeen
from kafka_py.zk.configs import ConnectString

MOST_BYTES = 65_536
UNKNOWN_MODE = "unknown"
_NOT_ALLOWED = "is not in the whitelist"


async def look_at_zookeepers(connect: str, clock: Clock, timeout_s: float) -> tuple[ZooKeeperSeen, ...]:
    """Each server of a connect string. Raises ConfigError for one that cannot be read."""
    servers = ConnectString.parse(connect, "--zookeeper").servers
    return tuple(await asyncio.gather(*(_look(host, port, clock, timeout_s) for host, port in servers)))


async def _look(host: str, port: int, clock: Clock, timeout_s: float) -> ZooKeeperSeen:
    server = f"{host}:{port}"
    began_ms = clock.monotonic_ms()
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                writer.write(b"srvr")
                answer = await reader.read(MOST_BYTES)
                while piece := await reader.read(MOST_BYTES):
                    answer += piece
            finally:
                writer.close()
    except TimeoutError:
        return ZooKeeperSeen(server, f"no answer within {timeout_s:.0f} s")
    except OSError as error:
        return ZooKeeperSeen(server, error.strerror or str(error))
    took_ms = clock.monotonic_ms() - began_ms
    return server_seen(server, answer.decode("utf-8", "replace").splitlines(), took_ms)


def server_seen(server: str, lines: Sequence[str], round_trip_ms: float) -> ZooKeeperSeen:
    """What the answer to srvr says."""
    fields = {name.strip(): value.strip() for name, colon, value in (line.partition(":") for line in lines) if colon}
    if not fields.get("Mode"):
        text = " ".join(lines)[:200]
        if _NOT_ALLOWED in text:  # 4lw.commands.whitelist without srvr: it serves, and says no more
            return ZooKeeperSeen(server, mode=UNKNOWN_MODE, round_trip_ms=round_trip_ms)
        return ZooKeeperSeen(server, text or "it closes the connection without an answer", round_trip_ms=round_trip_ms)
    latencies = [*fields.get("Latency min/avg/max", "").split("/"), "", "", ""]
    return ZooKeeperSeen(
        server,
        mode=fields["Mode"],
        round_trip_ms=round_trip_ms,
        average_latency_ms=_number(latencies[1]),
        most_latency_ms=_number(latencies[2]),
        outstanding=int(max(0.0, _number(fields.get("Outstanding", "0")))),
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return -1.0
