"""All checks together: nothing for a cluster in order or one that was not seen, the gravest first."""

from kafka_py.operations.doctor.checks.all_checks import findings_in
from kafka_py.operations.doctor.findings import Severity, report_of

from .seen_clusters import IN_ORDER, partition, seen, topic


def test_a_cluster_in_order_has_no_findings() -> None:
    assert findings_in(seen()) == []


def test_a_cluster_that_was_not_seen_has_none_either() -> None:
    assert findings_in(seen(snapshot=None, advertised={}, broker_settings={})) == []


def test_the_gravest_findings_come_first() -> None:
    sick = seen(IN_ORDER, topic("u", partition(0, -1, (9,), ())), settings={"auto.create.topics.enable": "true"})
    report = report_of(findings_in(sick), ["clocks"])
    assert [finding.severity for finding in report.findings] == [Severity.ERROR, Severity.WARNING, Severity.NOTE]
    assert report.worst is Severity.ERROR
    document = report.document()
    assert (document["errors"], document["warnings"], document["notes"], document["unchecked"]) == (1, 1, 1, ["clocks"])
    assert document["findings"][0]["severity"] == "error"
