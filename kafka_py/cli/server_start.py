"""kafka-server-start.sh: runs one broker until SIGTERM or SIGINT.

`server.properties [--override property=value]...`. Exit code 0 after a clean stop, 1 when the start fails or the
broker cannot continue. Source: docs/reference/tools.md, section 22.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

import kafka_py
from kafka_py.base.clock import SystemClock
from kafka_py.base.errors import ConfigError, KafkaError
from kafka_py.base.properties import read_properties
from kafka_py.broker.server import KafkaServer
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.wiring.server_environment import ServerEnvironment
from kafka_py.cli.common.command import UsageError
from kafka_py.cli.java_compat.server_logs import ServerLogs, set_up
from kafka_py.cli.run_class import SERVER_USAGE
from kafka_py.log.disk.files import raise_open_files_limit
from kafka_py.log.loading.log_dir import LogDirError
from kafka_py.log.loading.meta_properties import InconsistentBrokerId, InconsistentClusterId, InconsistentMetadata
from kafka_py.net.event_loop.loop import LoopWatch, new_event_loop
from kafka_py.net.listener import BindFailed
from kafka_py.security.config_providers import resolved
from kafka_py.security.java_properties import java_properties
from kafka_py.security.sasl.login_file import login_sections
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.session import ZkError

EVENT_LOOP = "KAFKA_PY_EVENT_LOOP"
"""`uvloop` in this environment variable has the broker run on it, where it is installed.

asyncio's own loop is the default: it serves as many requests for the same processor time (a turn of the loop takes up
many requests at once), takes less memory, and its turns can be measured exactly.
"""

_EXPECTED = (
    KafkaError,
    BindFailed,
    LogDirError,
    InconsistentBrokerId,
    InconsistentClusterId,
    InconsistentMetadata,
    MalformedZNode,
    ZkError,
    OSError,
)
"""Why a start fails for reasons that the operator can mend: one line each."""

_log = logging.getLogger("kafka.Kafka")


def parse_arguments(arguments: Sequence[str]) -> dict[str, str]:
    """The properties of the file with the overrides on top. Raises UsageError, ConfigError."""
    file, *rest = arguments
    if file.startswith("--"):
        raise UsageError(f"{file.lstrip('-')} is not a recognized option")
    properties = read_properties(file)
    words = iter(rest)
    for word in words:
        if word == "--override":
            pair = next(words, None)
        elif word.startswith("--override="):
            pair = word.removeprefix("--override=")
        else:
            raise UsageError(f"Found non argument parameters: {word}")
        if pair is None:
            raise UsageError("Option override requires an argument")
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"Invalid value {pair!r} for --override: it must have the form property=value")
        properties[name.strip()] = value.strip()
    return properties


def main(arguments: Sequence[str]) -> int:
    """The broker of a property file; returns its exit code."""
    if "--version" in arguments:
        print(f"{kafka_py.KAFKA_VERSION} (Commit:kafka_py-{kafka_py.__version__})")
        return 0
    if not arguments or "--help" in arguments:
        print(SERVER_USAGE, file=sys.stderr)
        return 1
    return start(lambda: parse_arguments(arguments))


def start(read_settings: Callable[[], dict[str, str]]) -> int:
    """The life of a broker with these settings, which may raise UsageError and ConfigError; returns its exit code."""
    logs = set_up(os.environ)
    if os.environ.get("JMX_PORT"):
        _log.warning("JMX_PORT is set, but there is no JMX here: metrics.http.port offers the metrics to Prometheus")
    try:
        config = BrokerConfig.parse(resolved(read_settings()))
        config.connect_string()  # without ZooKeeper there is nothing to start
    except UsageError as error:
        return _fail(f"{error}\n{SERVER_USAGE}")
    except ConfigError as error:
        return _fail(error.detail)
    _collect_garbage_seldom()
    raise_open_files_limit()
    loop, watch = new_event_loop(SystemClock(), use_uvloop=os.environ.get(EVENT_LOOP) == "uvloop")
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(_run(config, watch, logs))
    finally:
        loop.close()


async def _run(config: BrokerConfig, watch: LoopWatch, logs: ServerLogs) -> int:
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[str] = loop.create_future()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _set, stop, signal.Signals(number).name)
    try:
        sections, java = login_sections(os.environ), java_properties(os.environ)
        server = KafkaServer(config, ServerEnvironment(watch=watch, login_sections=sections, java_properties=java))
        logs.set_broker(lambda: server.broker_id)
        started = loop.create_task(server.start())
        both: set[asyncio.Future[Any]] = {started, stop}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not started.done():
            started.cancel()
            await asyncio.wait({started})
            return 0
        started.result()
    except _EXPECTED as error:
        return _fail(error.detail if isinstance(error, ConfigError) else str(error))
    except Exception:
        _log.critical("The broker could not start", exc_info=True)
        return 1
    gc.freeze()
    await asyncio.wait({stop, server.failed}, return_when=asyncio.FIRST_COMPLETED)
    if server.failed.done():
        return _fail(server.failed.result())
    _log.info("Got %s", stop.result())
    await server.shutdown()
    return 0


def _set(stop: asyncio.Future[str], name: str) -> None:
    if not stop.done():
        stop.set_result(name)


GARBAGE_THRESHOLDS = (1_500, 1, 33_000)
"""Of gc.set_threshold, for a broker. To look at 1,500 new objects takes 0.1 to 0.5 ms, at the 4,500 that are neither
new nor old up to 1; with larger numbers each is looked at as often, but more of them in one piece."""


def _collect_garbage_seldom() -> None:
    """What the imports have made stays, and so does what the start makes: the collector need not look at it.

    Requests make no cycles, so it may look at the rest more seldom; one full look holds the loop for 50 ms.
    """
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)


def _fail(reason: str) -> int:
    print(f"Error: {reason}", file=sys.stderr, flush=True)
    return 1


def cli() -> None:
    """Entry point of the process."""
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.exit(code)


if __name__ == "__main__":
    cli()
