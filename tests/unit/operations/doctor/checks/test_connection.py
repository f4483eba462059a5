"""The way to the bootstrap servers: each failed step has its finding, and names what repairs it."""

import pytest

from kafka_py.operations.doctor.checks import connection
from kafka_py.operations.doctor.examination import ReachFault, ReachStep
from kafka_py.operations.doctor.findings import Severity

from .seen_clusters import certificate, ids, only, reached, seen

CASES = [
    (ReachStep.NAME, ReachFault.UNKNOWN_NAME, "name-unknown", "DNS"),
    (ReachStep.PORT, ReachFault.REFUSED, "port-closed", "listeners"),
    (ReachStep.PORT, ReachFault.NO_ANSWER, "port-closed", "firewalls"),
    (ReachStep.PORT, ReachFault.UNREACHABLE, "port-closed", "routes"),
    (ReachStep.TLS, ReachFault.TLS_EXPECTED, "tls-expected", "security.protocol=SSL"),
    (ReachStep.TLS, ReachFault.NO_TLS_THERE, "tls-not-offered", "security.protocol=PLAINTEXT"),
    (ReachStep.TLS, ReachFault.CLIENT_CERTIFICATE, "tls-client-certificate", "ssl.keystore.location"),
    (ReachStep.TLS, ReachFault.CERTIFICATE_NAME, "tls-wrong-name", "subject alternative name kafka1"),
    (ReachStep.TLS, ReachFault.CERTIFICATE_EXPIRED, "tls-expired", "ssl.keystore.location"),
    (ReachStep.TLS, ReachFault.CERTIFICATE_TOO_NEW, "tls-not-yet-valid", "clocks"),
    (ReachStep.TLS, ReachFault.CERTIFICATE_UNTRUSTED, "tls-untrusted", "ssl.truststore.location"),
    (ReachStep.TLS, ReachFault.NO_COMMON_TLS, "tls-nothing-in-common", "ssl.enabled.protocols"),
    (ReachStep.TLS, ReachFault.TLS_FAILED, "tls-failed", "ssl settings"),
    (ReachStep.LOGIN, ReachFault.LOGIN_EXPECTED, "login-expected", "sasl.mechanism"),
    (ReachStep.LOGIN, ReachFault.LOGIN_MECHANISM, "login-mechanism", "sasl.enabled.mechanisms"),
    (ReachStep.LOGIN, ReachFault.LOGIN_REFUSED, "login-refused", "sasl.jaas.config"),
    (ReachStep.LOGIN, ReachFault.NOT_KAFKA, "login-failed", "listener.security.protocol.map"),
    (ReachStep.API, ReachFault.NOT_KAFKA, "no-kafka", "listeners"),
    (ReachStep.API, ReachFault.NO_ANSWER, "no-answer", "process and log"),
    (ReachStep.API, ReachFault.TOO_OLD, "release-too-old", "Upgrade"),
    (ReachStep.TLS, ReachFault.NO_ANSWER, "no-answer", "process and log"),
]


@pytest.mark.parametrize(("step", "fault", "expected", "repair"), CASES, ids=[case[2] + case[1] for case in CASES])
def test_each_failed_step_has_a_finding_that_names_its_repair(
    step: ReachStep, fault: ReachFault, expected: str, repair: str
) -> None:
    failed = reached(failed=step, fault=fault, detail="why", certificate=certificate(100, "other"))
    finding = only(connection.bootstrap_servers, seen(bootstrap=(failed,)))
    assert (finding.id, finding.severity) == (expected, Severity.ERROR)
    assert repair in finding.repair
    assert finding.evidence[0] == "kafka1:9092: why"


def test_every_step_can_be_explained() -> None:
    for step in ReachStep:
        for fault in ReachFault:
            assert all(connection.explain(reached(failed=step, fault=fault), "SASL_SSL"))


def test_one_bootstrap_server_of_several_is_a_warning() -> None:
    failed = reached(2, failed=ReachStep.PORT, fault=ReachFault.REFUSED)
    assert ids(connection.bootstrap_servers, seen(bootstrap=(reached(), failed))) == [
        ("port-closed", Severity.WARNING)
    ]


def test_bootstrap_servers_of_two_clusters_are_an_error() -> None:
    assert only(connection.one_cluster, seen(bootstrap=(reached(), reached(2, cluster_id="d")))).evidence == (
        "cluster c: kafka1:9092",
        "cluster d: kafka2:9092",
    )


def test_a_way_that_is_open_is_no_finding() -> None:
    assert ids(connection.bootstrap_servers, seen()) == ids(connection.one_cluster, seen()) == []
