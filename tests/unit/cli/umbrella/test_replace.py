"""Only one process works on a plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.umbrella import replace

PLAN = """[[broker]]
id = 0
apache = { stop = "true", start = "true" }
kafka_py = { stop = "true", start = "true" }
"""


def test_a_second_process_does_not_begin_with_the_same_plan(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    options = ["--bootstrap-server", "localhost:1", "--plan", str(plan), "--to", "kafka_py"]
    with replace.only_one(plan), pytest.raises(CommandFailed, match="another process replaces brokers by this plan"):
        replace.main(options)
    with replace.only_one(plan):
        pass
    assert sorted(tmp_path.iterdir()) == [plan]
