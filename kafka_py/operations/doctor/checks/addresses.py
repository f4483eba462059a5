"""The addresses that brokers advertise, each tried from here: the most common failure of a first hour.

A client connects to bootstrap.servers only once; from then on it uses the addresses that the brokers advertise.
Source: KIP-103; docs/reference/configs.tsv (advertised.listeners).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from kafka_py.operations.doctor.checks.connection import evidence_of
from kafka_py.operations.doctor.examination import Examination, Reached, ReachFault, ReachStep
from kafka_py.operations.doctor.findings import DoctorFinding, Severity

WHY = (
    "A client uses bootstrap.servers for its first connection only; it then connects to the addresses that the brokers "
    "advertise, and every partition led by this broker is out of reach."
)


def advertised_addresses(seen: Examination) -> Iterator[DoctorFinding]:
    """Advertised addresses that do not lead to the broker from here."""
    for broker, reached in sorted(seen.advertised.items()):
        if reached.failed is None:
            continue
        yield DoctorFinding(
            "advertised-unreachable",
            Severity.ERROR,
            f"Broker {broker} advertises {reached.where}, which cannot be reached from here: {_reason(seen, reached)}.",
            WHY,
            _repair(seen, broker, reached),
            evidence_of(reached),
        )


def _reason(seen: Examination, reached: Reached) -> str:
    if reached.failed is ReachStep.NAME:
        return "the name is not known here"
    if _is_local(reached.host) and not any(_is_local(each.host) for each in seen.bootstrap):
        return "it is the address of whatever machine it is used on"
    return str(reached.fault.value if reached.fault else reached.detail)


def _repair(seen: Examination, broker: int, reached: Reached) -> str:
    entry = f"LISTENER://{_good_host(seen, reached)}:{reached.port}"
    setting = f"Set advertised.listeners={entry} in server.properties of broker {broker} and restart it"
    if reached.failed is ReachStep.NAME:
        return f"{setting}, or make the name {reached.host} known to clients (DNS, /etc/hosts)."
    if reached.fault is ReachFault.REFUSED:
        return (
            f"{setting}. If the address is right, start the broker if it is stopped, or let it listen there: "
            f"`listeners` has to name port {reached.port} on an interface that clients reach, and a container has to "
            "publish it."
        )
    if reached.failed is ReachStep.PORT:
        return f"{setting}, or open port {reached.port} between here and there."
    return f"{setting}, for a listener with this client's security.protocol, {seen.protocol}."


def _good_host(seen: Examination, reached: Reached) -> str:
    """A host by which a broker was reached; a placeholder where that is the advertised one itself."""
    for each in seen.bootstrap:
        if each.failed is None and each.host != reached.host:
            return each.host
    return "HOST-THAT-CLIENTS-REACH"


def local_addresses(seen: Examination) -> Iterator[DoctorFinding]:
    """Brokers that advertise a loopback address although this client came by another one."""
    came_by = [each for each in seen.bootstrap if each.failed is None]
    if not came_by or any(_is_local(each.host) or any(map(_is_local, each.addresses)) for each in came_by):
        return
    for broker, reached in sorted(seen.advertised.items()):
        if _is_local(reached.host) and reached.failed is None:
            yield DoctorFinding(
                "advertised-local",
                Severity.ERROR,
                f"Broker {broker} advertises {reached.where}: every client would look for it on its own machine.",
                WHY,
                f"Set advertised.listeners=LISTENER://{came_by[0].host}:{reached.port} in its server.properties, and "
                "`listeners` to an interface that clients reach.",
            )


def _is_local(host: str) -> bool:
    if host == "localhost" or host.startswith("localhost."):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def same_address(seen: Examination) -> Iterator[DoctorFinding]:
    """Brokers with one address: clients reach only one of them."""
    places: dict[str, list[int]] = {}
    for broker, reached in sorted(seen.advertised.items()):
        places.setdefault(reached.where, []).append(broker)
    for where, brokers in places.items():
        if len(brokers) > 1:
            names = ", ".join(map(str, brokers))
            yield DoctorFinding(
                "advertised-same",
                Severity.ERROR,
                f"Brokers {names} all advertise {where}.",
                "Requests for one broker arrive at another, which is not the leader of what they are about.",
                "Give each broker an address of its own in advertised.listeners, with its own port behind a common "
                "load balancer.",
            )


def another_broker(seen: Examination) -> Iterator[DoctorFinding]:
    """An advertised address at which another broker answers."""
    for broker, answer in sorted(seen.foreign_brokers.items()):
        reached = seen.advertised.get(broker)
        where = reached.where if reached is not None else "its address"
        yield DoctorFinding(
            "advertised-other-broker",
            Severity.ERROR,
            f"At {where}, which broker {broker} advertises, another broker answers.",
            "Requests for this broker arrive at another one, which refuses them: clients see NOT_LEADER_OR_FOLLOWER.",
            f"Correct advertised.listeners of broker {broker}, or what forwards this address.",
            (answer,),
        )
