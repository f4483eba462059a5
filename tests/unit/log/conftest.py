"""The directory of a partition, for the tests of its files."""

import pytest

from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.disk.handles import OpenHandles
from kafka_py.testing.fakes.files import FakeFiles


@pytest.fixture
def place() -> PartitionDirectory:
    files = FakeFiles()
    files.make_directory("/l")
    return PartitionDirectory("/l", files, OpenHandles())
