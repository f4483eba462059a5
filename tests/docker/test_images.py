"""The images as docker/build.sh makes them: their size, who they run as, and what a wrong variable gives."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

MOST_MB = {"broker": 150, "manager": 155}


def output_of(engine: Any, image: str, *command: str, **options: dict[str, str]) -> tuple[int, str]:
    """Exit code and output of a container that ends by itself."""
    container = engine.containers.create(image, list(command), network_mode="none", **options)
    try:
        container.start()
        code = container.wait(timeout=60)["StatusCode"]
        return code, container.logs().decode()
    finally:
        container.remove(force=True, v=True)


def test_broker_and_manager_are_small_have_no_java_and_do_not_run_as_root(engine: Any, images: dict[str, str]) -> None:
    sizes = {name: engine.images.get(image).attrs["Size"] / 1e6 for name, image in images.items()}
    print({name: f"{size:.0f} MB" for name, size in sizes.items()})
    assert all(sizes[name] < most for name, most in MOST_MB.items())
    for image in images.values():
        config = engine.images.get(image).attrs["Config"]
        assert config["User"] == "1000:1000"
        assert config["Healthcheck"]["Test"][:3] == ["CMD", "python3", "-m"]
    script = "id -u; which java; find / -name 'libjvm*' 2> /dev/null; true"
    for name in MOST_MB:
        assert output_of(engine, images[name], "sh", "-c", script) == (0, "1000\n")


def test_the_image_has_the_commands(engine: Any, images: dict[str, str]) -> None:
    code, shown = output_of(engine, images["broker"], "kafka-topics.sh", "--version")
    assert code == 0 and shown.startswith("2.8.2")
    code, shown = output_of(engine, images["broker"], "kafka-topic.sh")
    assert (code, shown) == (
        1, "Error: there is no command kafka-topic.sh in this image; without one it starts a broker\n",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "environment", "words"),
    [
        ("broker", {}, "Error: KAFKA_ZOOKEEPER_CONNECT is not set"),
        ("broker", {"KAFKA_ZOOKEEPER_CONNECT": "z:2181", "KAFKA_BROKER_ID": "one"}, "broker.id"),
        ("broker", {"KAFKA_ZOOKEEPER_CONNECT_FILE": "/run/secrets/z"}, "that file cannot be read: No such file"),
        ("manager", {"KAFKA_MANAGER_PORT": "http"}, "Error: KAFKA_MANAGER_PORT is a whole number, not 'http'"),
        ("manager", {"KAFKA_MANAGER_ADMINISTRATOR_PASSWORD": "short"}, "A password has 8 to 1000 characters"),
        ("zookeeper", {"ZOO_SERVERS": "server.1=a:2888:3888"}, "Error: ZOO_SERVERS lists the servers 1: set ZOO_MY_ID"),
    ],
)
def test_a_wrong_variable_ends_the_container_with_one_line(
    engine: Any, images: dict[str, str], name: str, environment: dict[str, str], words: str
) -> None:
    code, shown = output_of(engine, images[name], environment=environment)
    assert code == 1
    assert shown.count("\n") == 1 and words in shown


@pytest.mark.parametrize(
    ("name", "folder", "environment"),
    [
        ("broker", "/var/lib/kafka/data", {"KAFKA_ZOOKEEPER_CONNECT": "zookeeper:2181"}),
        ("manager", "/var/lib/kafka/manager", {}),
        ("zookeeper", "/var/lib/zookeeper", {}),
    ],
)
def test_a_volume_of_another_user_is_one_line(
    engine: Any, images: dict[str, str], name: str, folder: str, environment: dict[str, str]
) -> None:
    code, shown = output_of(engine, images[name], tmpfs={folder: "uid=0,mode=755"}, environment=environment)
    assert code == 1
    assert shown.startswith(f"Error: {folder} cannot be written to") and shown.endswith("to the user 1000\n")
    assert shown.count("\n") == 1
