"""kafka-py rebalance --log-dirs on real brokers with two directories each, killed, cancelled, stopped and resumed."""

from __future__ import annotations

from pathlib import Path

from uneven_directories import UnevenDirectories

from kafka_py.testing.broker import BrokerProcess


def test_uneven_log_directories_are_evened_out_under_load_and_one_is_drained(zk_chroot: str, tmp_path: Path) -> None:
    homes = [tmp_path / f"broker-{number}" for number in (0, 1)]
    first, second = (
        BrokerProcess(home, zk_chroot, broker_id=number, log_dirs=[home / "disk1", home / "disk2"])
        for number, home in enumerate(homes)
    )
    with first, second:
        uneven = UnevenDirectories([first, second], tmp_path)
        uneven.even_out()
        uneven.drain()
