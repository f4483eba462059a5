"""Where the commands of a page are run: a folder like a checkout, the commands on the PATH, a home of its own."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from page_blocks import Block

from kafka_py.testing.processes import ROOT, python_environment

BLOCK_TIMEOUT_S = 120
LIKE_A_CHECKOUT = ("bin", "docker", "docs", "benchmarks")
WRAPPER = """#!/bin/sh
exec {python} -P -m kafka_py.cli.umbrella.main "$@"
"""


@dataclass
class PageWorld:
    """replaced: names and ports of a page -> those of this run. names: what Python blocks have in common."""

    folder: Path
    replaced: Mapping[str, str] = field(default_factory=dict)
    names: dict[str, object] = field(default_factory=lambda: {"__name__": "docs"})

    def __post_init__(self) -> None:
        commands = self.folder / "commands"
        commands.mkdir(parents=True)
        (self.folder / "home").mkdir()
        for name in LIKE_A_CHECKOUT:
            (self.folder / name).symlink_to(ROOT / name)
        shutil.copytree(ROOT / "config", self.folder / "config")
        for script in (ROOT / "bin").glob("*.sh"):
            (commands / script.name).symlink_to(script)
        (commands / "kafka-py").write_text(WRAPPER.format(python=sys.executable))
        (commands / "kafka-py").chmod(0o755)
        self.environment = {
            **os.environ,
            **python_environment(),
            "HOME": str(self.folder / "home"),
            "LOG_DIR": str(self.folder / "logs"),
            "KAFKA_PY_DATA": str(self.folder / "cluster"),
            "KAFKA_PY_PYTHON": sys.executable,
            "PATH": os.pathsep.join([str(commands), str(Path(sys.executable).parent), os.environ["PATH"]]),
        }

    def run(self, block: Block) -> str:
        """Runs a block as it stands but for names and ports. What it printed; a block that fails ends the test."""
        code = self.own(block.code)
        if block.language == "python":
            with contextlib.chdir(self.folder):
                exec(compile("\n" * (block.line - 1) + code, block.page, "exec"), self.names)
            return ""
        return self.shell(code, block.place)

    def shell(self, code: str, place: str = "") -> str:
        """Runs commands; what they printed."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", code], cwd=self.folder, env=self.environment, check=False,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BLOCK_TIMEOUT_S,
        )  # fmt: skip
        assert done.returncode == 0, f"{place}\n{code}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def run_all(self, blocks: Iterable[Block]) -> str:
        """What all of them printed."""
        return "".join(self.run(block) for block in blocks)

    def end(self) -> None:
        """Kills every process that was started in this folder."""
        for entry in Path("/proc").glob("[0-9]*/cwd"):
            with contextlib.suppress(OSError):
                if entry.readlink().is_relative_to(self.folder):
                    os.kill(int(entry.parent.name), signal.SIGKILL)

    def own(self, code: str) -> str:
        for name, here in self.replaced.items():
            code = code.replace(name, here)
        return code
