"""docs/examples/prefix_interceptor.py: interceptors one after the other (WE2-6 to WE2-8), read by kafka-python too."""

import importlib.util
import os
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest
from kafka import KafkaConsumer
from kafka import TopicPartition as TheirPartition

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.processes import ROOT, python_environment

EXAMPLE = ROOT / "docs" / "examples" / "prefix_interceptor.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("prefix_interceptor", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Broken:
    """An interceptor that fails whatever it is asked."""

    def on_send(self, record: Any) -> Any:
        raise RuntimeError("not today")

    def on_acknowledgement(self, metadata: Any, error: Any) -> None:
        raise RuntimeError("nor now")


def test_ten_messages_with_a_prefix_and_the_success_ratio_we2_6(
    example: ModuleType, module_broker: BrokerProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    module_broker.create_topic("we2-6", 1)
    example.send(module_broker.bootstrap, "we2-6", ["prefix_interceptor.PrefixInterceptor"])
    assert capsys.readouterr().out == "success ratio: 100.00%\n"
    theirs = KafkaConsumer(bootstrap_servers=module_broker.bootstrap, auto_offset_reset="earliest", group_id=None)
    theirs.assign([TheirPartition("we2-6", 0)])
    assert [next(theirs).value for _ in range(10)] == [b"prefix1-kafka"] * 10
    theirs.close()


@pytest.mark.parametrize(
    ("topic", "order", "expected"),
    [
        ("we2-7a", "PrefixInterceptor SecondPrefixInterceptor", "prefix2-prefix1-kafka"),
        ("we2-7b", "SecondPrefixInterceptor PrefixInterceptor", "prefix1-prefix2-kafka"),
    ],
)
def test_the_chain_runs_in_the_order_of_the_setting_we2_7(
    example: ModuleType, module_broker: BrokerProcess, topic: str, order: str, expected: str
) -> None:
    module_broker.create_topic(topic, 1)
    example.send(module_broker.bootstrap, topic, [getattr(example, name) for name in order.split()])
    assert example.read(module_broker.bootstrap, topic, 10) == [expected] * 10


def test_a_failure_in_the_middle_reaches_nobody_we2_8(example: ModuleType, module_broker: BrokerProcess) -> None:
    module_broker.create_topic("we2-8", 1)
    chain = [example.PrefixInterceptor, Broken, example.SecondPrefixInterceptor]
    example.send(module_broker.bootstrap, "we2-8", chain)
    assert example.read(module_broker.bootstrap, "we2-8", 10) == ["prefix2-prefix1-kafka"] * 10


def test_the_example_runs_as_it_says(module_broker: BrokerProcess) -> None:
    module_broker.create_topic("topic-demo", 1)
    done = subprocess.run(
        [sys.executable, "-P", EXAMPLE, module_broker.bootstrap, "topic-demo"],
        env={**os.environ, **python_environment()}, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["success ratio: 100.00%"] + ["prefix2-prefix1-kafka"] * 10
