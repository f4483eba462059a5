"""Addresses as Java writes them, which is how the hosts of ACLs are compared.

Source: docs/reference/security/acls.md, section 2.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, ip_address


@lru_cache(maxsize=1024)
def java_host(host: str) -> str:
    """An address in Java's form: `10.0.0.1`, `0:0:0:0:0:0:0:1`. What is not an address is returned unchanged."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    number = int(address)
    groups = ":".join(f"{number >> shift & 0xFFFF:x}" for shift in range(112, -1, -16))
    return groups if address.scope_id is None else f"{groups}%{address.scope_id}"
