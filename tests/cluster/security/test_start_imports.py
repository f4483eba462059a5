"""What a broker imports as it starts: what only secured listeners need must not cost a plain one time and memory."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import asyncio, sys
from kafka_py.testing.local_broker import LocalBroker
from kafka_py.testing.zookeeper import FakeZookeeper

async def main() -> None:
    broker = LocalBroker(sys.argv[1], FakeZookeeper(), {"sasl.enabled.mechanisms": "PLAIN"})
    await broker.start()
    await broker.stop()

asyncio.run(main())
print(*sorted(sys.modules))
"""
ONLY_WHEN_SECURED = (
    "kafka_py.security.tls", "kafka_py.security.sasl.server_exchange", "kafka_py.security.acls.acl_authorizer",
    "kafka_py.security.tokens.token_keeper", "kafka_py.security.password_encoder", "cryptography",
)  # fmt: skip


def test_a_plain_broker_starts_without_what_secured_listeners_need(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    modules = done.stdout.split()
    assert "kafka_py.broker.wiring.logins" in modules
    assert [name for name in modules if name.startswith(ONLY_WHEN_SECURED)] == []
