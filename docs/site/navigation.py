"""Which page is where in the navigation: sections with paths, in the order of reading; missing ones are left out."""

from collections.abc import Set

SECTIONS: dict[str, list[str]] = {
    "Start": ["index.md", "kafka-py.md", "concepts.md", "testing-with-kafka_py.md"],
    "Operations": [
        "operations.md",
        "manager.md",
        "browsing-messages.md",
        "metrics.md",
        "dashboards.md",
        "tracing.md",
        "doctor.md",
        "rebalancing.md",
        "groups.md",
        "transactions.md",
        "quotas.md",
        "containers.md",
        "migration.md",
    ],
    "Security": ["security.md", "securing-a-cluster.md"],
    "Clients": ["clients.md", "other-clients.md", "recipes.md", "patterns.md", "examples/README.md"],
    "Spark": ["pipeline.md", "exactly-once-sink.md"],
    "Comparisons": ["differences.md", "comparisons.md"],
    "Reference": [
        "tables/broker-settings.md",
        "tables/topic-settings.md",
        "tables/client-settings.md",
        "tables/metrics.md",
        "tables/errors.md",
        "tables/apis.md",
        "tables/commands.md",
    ],
    "Contributing": ["architecture.md", "contributing.md", "releasing.md", "changelog.md"],
}
EXAMPLES = "Example programs"
REFERENCE_FACTS = "Facts of Apache Kafka"
"""Documents of docs/reference/ are the last part of the section Contributing."""
MORE = "More"


def arranged(pages: Set[str]) -> list[dict[str, list[object]]]:
    """The navigation of these pages, as MkDocs takes it; each page is in it once."""
    sections: dict[str, list[object]] = {
        title: [path for path in paths if path in pages] for title, paths in SECTIONS.items()
    }
    facts = sorted(path for path in pages if path.startswith("reference/"))
    facts.sort(key=lambda path: path != "reference/README.md")
    if facts:
        sections["Contributing"].append({REFERENCE_FACTS: facts})
    programs = sorted(path for path in pages if path.startswith("examples/") and path != "examples/README.md")
    if programs:
        sections["Clients"].append({EXAMPLES: programs})
    placed = {path for paths in SECTIONS.values() for path in paths} | {*facts, *programs}
    sections[MORE] = [*sorted(pages - placed)]
    return [{title: paths} for title, paths in sections.items() if paths]
