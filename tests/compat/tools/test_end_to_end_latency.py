"""EndToEndLatency of both makes on our broker: the same lines, but for the figures in them."""

import re
import subprocess

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers.apache import Jars
from kafka_py.testing.processes import ROOT

CLASS = "kafka.tools.EndToEndLatency"
TIMEOUT_S = 60


def shape(output: str) -> list[str]:
    """The lines without their times."""
    return [re.sub(r"(\t|latency: |th = )[\d.]+(E-\d+)?", r"\1N", line) for line in output.splitlines()]


def test_both_say_the_same_on_our_broker(apache_kafka: Jars, module_broker: BrokerProcess) -> None:
    arguments = [module_broker.bootstrap, "latency", "1001", "all", "100"]
    theirs = apache_kafka.run(CLASS, *arguments)
    assert theirs.exit_code == 0, theirs.stderr
    ours = subprocess.run(
        [ROOT / "bin" / "kafka-run-class.sh", CLASS, *arguments],
        capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
    )  # fmt: skip
    assert (ours.returncode, ours.stderr) == (0, "")
    made, *lines = shape(theirs.stdout)
    assert made == 'Topic "latency" does not exist. Will create topic with 1 partition(s) and replication factor = 1'
    assert shape(ours.stdout) == lines == ["0\tN", "1000\tN", "Avg latency: N ms", "",
                                           "Percentiles: 50th = N, 99th = N, 99.9th = N"]  # fmt: skip
