"""Addresses as records of groups hold them."""

import pytest

from kafka_py.broker.requests.group_requests import java_address


@pytest.mark.parametrize(
    ("host", "printed"),
    [
        ("10.0.0.1", "/10.0.0.1"),
        ("::1", "/0:0:0:0:0:0:0:1"),
        ("2001:db8::ff00:42:8329", "/2001:db8:0:0:0:ff00:42:8329"),
        ("fe80::1%eth0", "/fe80:0:0:0:0:0:0:1%eth0"),
        ("::ffff:1.2.3.4", "/1.2.3.4"),
        ("somewhere", "/somewhere"),
    ],
)
def test_an_address_is_printed_as_java_prints_one_without_a_name(host: str, printed: str) -> None:
    assert java_address(host) == printed
