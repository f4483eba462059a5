"""The pytest plugin as other projects use it: runs of pytest inside the test."""

import subprocess
import sys
import tomllib

import pytest

from kafka_py.testing.processes import ROOT

pytest_plugins = "pytester"

PLUGIN = "kafka_py.testing.pytest_plugin"


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty project, in which kafka_py is installed."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_ADDOPTS", f"-p {PLUGIN} -p no:cacheprovider")
    return pytester


def test_the_plugin_is_an_entry_point() -> None:
    entries = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    assert entries == {PLUGIN: PLUGIN}


def test_reading_the_plugin_imports_nothing_heavy() -> None:
    program = f"import sys, pytest; before = set(sys.modules); import {PLUGIN}; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    foreign = {name for name in done.stdout.split() if name.partition(".")[0] not in sys.stdlib_module_names}
    assert foreign == {"kafka_py", "kafka_py.testing", PLUGIN}


def test_a_project_that_does_not_use_it_starts_nothing(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import sys
        def test_nothing():
            assert not [name for name in sys.modules if name.startswith(("kafka_py.testing.cluster", "kazoo"))]
        """
    )
    project.runpytest_subprocess().assert_outcomes(passed=1)


def test_the_project_may_want_security(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nkafka_cluster_security = SASL_PLAINTEXT\n")
    project.makepyfile(
        """
        def test_it(kafka_cluster):
            assert kafka_cluster.access().settings["security.protocol"] == "SASL_PLAINTEXT"
        """
    )
    project.runpytest_subprocess().assert_outcomes(passed=1)


def test_the_settings_of_the_project_describe_the_cluster(project: pytest.Pytester) -> None:
    project.makeini(
        """
        [pytest]
        kafka_cluster_brokers = 2
        kafka_cluster_settings =
            num.partitions = 5
            auto.create.topics.enable = false
        kafka_cluster_scope = module
        """
    )
    project.makepyfile(
        test_one="""
        seen = []
        def test_a(kafka_cluster):
            seen.append(kafka_cluster)
            assert len(kafka_cluster.brokers) == 2
            assert kafka_cluster.brokers[1].properties["num.partitions"] == "5"
        def test_b(kafka_cluster):
            assert seen == [kafka_cluster]
        """,
        test_two="""
        import test_one
        def test_c(kafka_cluster):
            assert kafka_cluster not in test_one.seen
            assert test_one.seen[0].zookeeper_connect.split("/")[0] == kafka_cluster.zookeeper_connect.split("/")[0]
        """,
    )
    project.runpytest_subprocess().assert_outcomes(passed=3)


def test_one_test_can_ask_for_another_cluster_and_fixtures_can_make_their_own(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.fixture(scope="module")
        def compact(kafka_cluster_factory):
            with kafka_cluster_factory(settings={"log.cleanup.policy": "compact"}) as cluster:
                yield cluster

        @pytest.mark.parametrize("kafka_cluster", [{"brokers": 2}], indirect=True)
        def test_two_brokers(kafka_cluster):
            assert len(kafka_cluster.brokers) == 2

        def test_own(compact, kafka_zookeeper):
            assert compact.brokers[0].properties["log.cleanup.policy"] == "compact"
            assert compact.zookeeper_connect.startswith(kafka_zookeeper.connect + "/")
        """
    )
    project.runpytest_subprocess().assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("kafka_cluster_scope = test", "kafka_cluster_scope is one of session, package, module, class, function"),
        ("kafka_cluster_brokers = many", "kafka_cluster_brokers is a number, not 'many'"),
        ("kafka_cluster_settings = num.partitions", "has the form name=value, not 'num.partitions'"),
    ],
)
def test_a_wrong_setting_is_said(project: pytest.Pytester, line: str, message: str) -> None:
    project.makeini(f"[pytest]\n{line}\n")
    project.makepyfile("def test(kafka_cluster): pass")
    result = project.runpytest_subprocess()
    assert result.ret != 0
    assert message in result.stdout.str() + result.stderr.str()
