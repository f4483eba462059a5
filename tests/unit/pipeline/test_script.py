"""bin/kafka-pipeline.sh."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_a_module_in_the_current_folder_is_not_run_in_place_of_ours(tmp_path: Path) -> None:
    """A file called yaml.py lies there by chance; the job file is read by the library all the same."""
    (tmp_path / "yaml.py").write_text("raise SystemExit('the wrong yaml')\n")
    (tmp_path / "job.yaml").write_text("job: none-of-that-name\n")
    ended = subprocess.run(
        [ROOT / "bin" / "kafka-pipeline.sh", "job.yaml"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode != 0
    assert "the wrong yaml" not in ended.stdout + ended.stderr
    assert "none-of-that-name" in ended.stdout + ended.stderr
