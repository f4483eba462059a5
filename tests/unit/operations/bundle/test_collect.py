"""What is put together of this machine alone: every text passes the redaction, also what could not be read."""

import asyncio
import json
from pathlib import Path

from kafka_py.operations.bundle.collect import BundleRequest, collect

SECRET = "hunter2-of-the-store"


def test_a_secret_that_was_seen_in_settings_is_in_no_file_of_the_archive(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(f"the store was opened with {SECRET}\n")
    request = BundleRequest(
        is_secret=lambda name: name == "ssl.key.password",
        settings={"server.properties": {"ssl.key.password": SECRET, "broker.rack": f"rack-{SECRET}"}},
        logs=[str(log), str(tmp_path / SECRET / "missing.log")],
    )
    entries = {entry.name: entry.data.decode() for entry in asyncio.run(collect(request))}
    assert not [name for name, text in entries.items() if SECRET in text]
    assert "broker.rack=rack-[hidden]" in entries["settings/0-server.properties"]
    assert entries["logs/0-server.log"] == "the store was opened with [hidden]\n"
    assert [line for line in json.loads(entries["bundle.json"])["left_out"] if "[hidden]" in line]
