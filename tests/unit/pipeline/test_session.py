"""Where Spark cannot run, the reason is said in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_py.pipeline.session import SparkMissing, check_java


def fake_java(folder: Path, banner: str) -> str:
    path = folder / "bin" / "java"
    path.parent.mkdir()
    path.write_text(f"#!/bin/sh\necho '{banner}' >&2\n")
    path.chmod(0o755)
    return str(path)


NEW_ENOUGH = [('openjdk version "17.0.1" 2021', 17), ('java version "21" 2023', 21), ('version "25-ea"', 25)]


@pytest.mark.parametrize(("banner", "version"), NEW_ENOUGH)
def test_a_java_that_is_new_enough(tmp_path: Path, banner: str, version: int) -> None:
    assert check_java(fake_java(tmp_path, banner)) == version


@pytest.mark.parametrize(
    ("banner", "words"), [('java version "1.8.0_392"', "is 8"), ('openjdk version "11.0.2"', "is 11"), ("?", "is none")]
)
def test_a_java_that_is_too_old_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, banner: str, words: str
) -> None:
    java = fake_java(tmp_path, banner)
    with pytest.raises(SparkMissing, match=f"Spark needs Java 17 or newer; {java} {words}"):
        check_java(java)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SparkMissing, match=words):
        check_java()


def test_no_java_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SparkMissing, match="none is at JAVA_HOME or in the PATH"):
        check_java()
