"""A short run of the fuzzer; the long one is `python -m kafka_py.testing.fuzz --inputs 1000000`."""

import logging

import pytest

from kafka_py.testing.fuzz.__main__ import main, run_all
from kafka_py.testing.fuzz.cases import Findings


@pytest.fixture(autouse=True)
def quiet():
    """Thousands of warnings are in order."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_few_thousand_changed_inputs(seed: int) -> None:
    findings = Findings()
    run_all(6000, seed, findings)
    assert not findings.first, findings.report()


@pytest.mark.slow
def test_more_of_them() -> None:
    findings = Findings()
    run_all(100_000, 3, findings)
    assert not findings.first, findings.report()


def test_the_command_says_what_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--inputs", "400", "--seed", "9"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines[:4]] == ["wire", "texts", "logs", "broker"]
    assert lines[4].startswith("0 findings")
