"""The page of a broker: the room on its disks."""

import pytest

from kafka_py.manager.pages.brokers import LogDirRow


@pytest.mark.parametrize(
    ("total", "usable", "percent"), [(1000, 250, 75), (1000, 0, 100), (1000, 1000, 0), (None, None, None), (0, 0, None)]
)
def test_how_full_a_disk_is(total: int | None, usable: int | None, percent: int | None) -> None:
    assert LogDirRow("/d", "", 1, 5, total, usable).used_percent == percent
