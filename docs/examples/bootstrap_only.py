"""A server that knows where a cluster is, and nothing else: clients bootstrap from it and then talk to the cluster.

    python docs/examples/bootstrap_only.py 127.0.0.1:9093 --listen 127.0.0.1:9092

`bootstrap.servers` names where a client asks for metadata, not the cluster it will use: the first answer says which
brokers there are, and everything else goes to those. So a lone listener with one snapshot of another cluster's
Metadata and ApiVersions answers is enough to start from. It shows how little `bootstrap.servers` means; as an entry
to a production cluster it would want to look again now and then, since the snapshot never changes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import struct
from collections import Counter
from typing import Any, NamedTuple

from kafka_py.base.errors import ErrorCode
from kafka_py.net.client import BrokerConnection
from kafka_py.wire.apis import ApiKey, api_of
from kafka_py.wire.compiler import decode
from kafka_py.wire.frames import RequestHeader, encode_response, read_request_header
from kafka_py.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from kafka_py.wire.primitives import MalformedMessage

SIZE = struct.Struct(">i")
MOST_REQUEST_BYTES = 1 << 20


class Snapshot(NamedTuple):
    """What a cluster said of itself once."""

    metadata: MetadataResponse
    api_versions: ApiVersionsResponse


async def take_snapshot(host: str, port: int) -> Snapshot:
    """Asks one broker. Raises OSError, KafkaError."""
    connection = await BrokerConnection.connect(host, port, client_id="bootstrap-only")
    try:
        api_versions = await connection.send(ApiVersionsRequest(), 0)
        spoken = next(row.max_version for row in api_versions.api_keys if row.api_key == ApiKey.METADATA)
        version = min(spoken, api_of(ApiKey.METADATA).max_version)
        return Snapshot(await connection.send(MetadataRequest(topics=None), version), api_versions)
    finally:
        connection.close()


class BootstrapServer:
    """Answers Metadata and ApiVersions from a snapshot, and hangs up on everything else.

    answered: how often each API was asked for.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.answered: Counter[ApiKey] = Counter()
        self._connections: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server

    async def start(self, host: str, port: int) -> int:
        """Listens; returns the port, which the system chooses when `port` is 0."""
        self._server = await asyncio.start_server(self._serve, host, port)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        self._server.close()
        for writer in self._connections:
            writer.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        try:
            while True:
                (size,) = SIZE.unpack(await reader.readexactly(SIZE.size))
                if not 0 < size <= MOST_REQUEST_BYTES:
                    raise MalformedMessage(f"a request of {size} bytes")
                frame = await reader.readexactly(size)
                writer.writelines(self._answer(*read_request_header(frame), frame))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, MalformedMessage):
            pass  # the client has gone, or wanted what only a broker has
        finally:
            self._connections.discard(writer)
            writer.close()

    def _answer(self, header: RequestHeader, body: int, frame: bytes) -> list[Any]:
        """The response's bytes. Raises MalformedMessage for requests that are not for this server."""
        key, version = header.api_key, header.api_version
        api = api_of(key)
        self.answered[key] += 1
        if key is ApiKey.API_VERSIONS:
            if api.supports(version):
                return encode_response(self.snapshot.api_versions, version, header.correlation_id)
            known = ApiVersionsResponse(
                error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=self.snapshot.api_versions.api_keys
            )
            return encode_response(known, 0, header.correlation_id)
        if key is ApiKey.METADATA and api.supports(version):
            request = decode(MetadataRequest, version, frame, body)
            return encode_response(self._metadata(request, version), version, header.correlation_id)
        raise MalformedMessage(f"{api.name} v{version} is for brokers")

    def _metadata(self, request: MetadataRequest, version: int) -> MetadataResponse:
        """The snapshot with the topics that were asked for: all when the list is null (in version 0: empty)."""
        known = self.snapshot.metadata
        topics = {topic.name: topic for topic in known.topics}
        if request.topics is not None and (version > 0 or request.topics):
            names = [topic.name or "" for topic in request.topics]
            topics = {name: topics.get(name) or _unknown(name) for name in names}
        return MetadataResponse(
            brokers=known.brokers,
            cluster_id=known.cluster_id,
            controller_id=known.controller_id,
            topics=list(topics.values()),
        )


def _unknown(name: str) -> MetadataResponseTopic:
    return MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name=name, partitions=[])


async def main(cluster: tuple[str, int], listen: tuple[str, int]) -> None:
    """Serves until it is stopped."""
    server = BootstrapServer(await take_snapshot(*cluster))
    port = await server.start(*listen)
    print(f"clients of {cluster[0]}:{cluster[1]} may bootstrap from {listen[0]}:{port}", flush=True)
    await asyncio.Event().wait()


def address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Serves another cluster's metadata, and nothing else.")
    parser.add_argument("cluster", type=address, help="host:port of a broker of the cluster")
    parser.add_argument("--listen", type=address, default=("127.0.0.1", 9092), help="host:port to serve")
    arguments = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(arguments.cluster, arguments.listen))
