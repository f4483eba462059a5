"""The settings file: what is read, and what would not be safe."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.manager.settings import ClusterSettings, ManagerSettings, read_settings

TEXT = """
port = 9001
users = "users"
public_names = ["kafka.example"]
trusted_proxies = ["10.0.0.1", "fd00::/8"]

[[cluster]]
name = "orders"
bootstrap_servers = "b1:9092,b2:9092"
command_config = "orders.properties"
zookeeper = "zk:2181/kafka"
version = "2.8.2"

[cluster.properties]
"request.timeout.ms" = 1000

[[cluster]]
name = "test"
bootstrap_servers = "b3:9092"
is_read_only = true

[history]
days = 3

[[mask]]
pattern = "a"
"""


def read(tmp_path: Path, text: str) -> ManagerSettings:
    path = tmp_path / "manager.toml"
    path.write_text(text)
    return read_settings(path)


def test_a_file_is_read_with_its_paths_relative_to_it(tmp_path: Path) -> None:
    (tmp_path / "orders.properties").write_text("security.protocol=SSL\nrequest.timeout.ms=2000\n")
    settings = read(tmp_path, TEXT)
    assert (settings.port, settings.users, settings.public_names) == (9001, tmp_path / "users", ("kafka.example",))
    assert settings.trusted_proxies == ("10.0.0.1", "fd00::/8")
    orders, test = settings.clusters
    assert orders.client_properties() == {
        "security.protocol": "SSL", "request.timeout.ms": "1000", "bootstrap.servers": "b1:9092,b2:9092"
    }  # fmt: skip
    assert (orders.zookeeper, orders.version, test.is_read_only) == ("zk:2181/kafka", "2.8.2", True)
    assert settings.extra == {"history": {"days": 3}}
    assert settings.masks == ({"pattern": "a"},)
    settings.validate()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("port = ", "cannot be read"),
        ('port = "9000"', "port is of type int"),
        ("port = true", "port is of type int"),
        ("colour = 1", "There is no setting colour"),
        ("[[cluster]]\nname = 'a'", "needs the setting bootstrap_servers"),
        ("[[cluster]]\nname = 'a b'\nbootstrap_servers = 'x:1'", "name has letters"),
        ("[[cluster]]\nname = '..'\nbootstrap_servers = 'x:1'", "name has letters"),
        ("[[cluster]]\nname = 'a'\nbootstrap_servers = 'x'", "Invalid url"),
        ("[[cluster]]\nname = 'a'\nbootstrap_servers = ' , '", "no bootstrap servers"),
        ("[[cluster]]\nname = 'a'\nbootstrap_servers = 'x:1'\ncolor = 1", "no setting color"),
    ],
)
def test_a_file_that_is_wrong_is_named_with_the_reason(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        read(tmp_path, text)
    assert why in refused.value.message
    assert "manager.toml" in refused.value.message


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"host": "0.0.0.0"}, "listens on this machine only"),
        ({"host": "kafka.example"}, "listens on this machine only"),
        ({"port": 70_000}, "port is between"),
        ({"tls_key": Path("k")}, "given together"),
        ({"trusted_proxies": ("proxy.example",)}, "trusted_proxies has IP addresses"),
        ({"trusted_proxies": ("*",)}, "trusted_proxies has IP addresses"),
        ({"clusters": (ClusterSettings("a", "x:1"), ClusterSettings("a", "y:1"))}, "the same name"),
    ],
)
def test_what_would_not_be_safe_is_refused(changed: dict[str, object], why: str) -> None:
    with pytest.raises(ConfigError) as refused:
        replace(ManagerSettings(), **changed).validate()  # type: ignore[arg-type]
    assert why in refused.value.message


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_this_machine_needs_no_users_file(host: str) -> None:
    ManagerSettings(host=host).validate()
    ManagerSettings(host="0.0.0.0", users=Path("users")).validate()
