"""Values that carry settings do not show them: a log line with `%r` or a traceback with locals would have passwords."""

from typing import Any

import pytest

from kafka_py.broker.wiring.server_environment import ServerEnvironment
from kafka_py.manager.bundle_process import ArchiveRequest
from kafka_py.manager.settings import ClusterSettings
from kafka_py.operations.bundle.collect import BundleRequest
from kafka_py.operations.doctor.examine import DoctorRequest

SECRET = "hunter2"
JAAS = {"sasl.jaas.config": f'x required password="{SECRET}";'}
DOCTOR = DoctorRequest(JAAS, client_files={"client.properties": JAAS})


@pytest.mark.parametrize(
    "value",
    [
        ServerEnvironment(java_properties={"zookeeper.ssl.keyStore.password": SECRET}),
        ClusterSettings("name", "localhost:9092", JAAS),
        DOCTOR,
        BundleRequest(lambda name: True, doctor=DOCTOR, settings={"server.properties": JAAS}),
        ArchiveRequest(dict(JAAS), "", "archive.tar.gz", "stem"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_settings_are_not_shown(value: Any) -> None:
    assert SECRET not in repr(value)
