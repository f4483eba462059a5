"""The table of families is the one of the page."""

import re

from kafka_py.operations.exporter.names import FAMILIES
from kafka_py.testing.processes import ROOT

ROW = re.compile(r"^\| `(\w+)` \|(.*?)\| .+ \|$", re.MULTILINE)


def test_the_page_has_every_name_with_its_labels() -> None:
    section = (ROOT / "docs" / "metrics.md").read_text().partition("## Names of a cluster")[2].partition("\n## ")[0]
    found = {name: tuple(re.findall(r"`(\w+)`", labels)) for name, labels in ROW.findall(section)}
    assert found == {row.name: row.labels for row in FAMILIES}
