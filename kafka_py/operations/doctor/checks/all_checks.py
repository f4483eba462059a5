"""The table of checks, in the order in which findings of equal gravity are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kafka_py.operations.doctor.checks import (
    addresses,
    balance,
    broker_settings,
    certificates,
    client_settings,
    connection,
    controller,
    factors,
    machines,
    partitions,
    releases,
    zookeeper,
)
from kafka_py.operations.doctor.examination import Examination
from kafka_py.operations.doctor.findings import DoctorFinding

DoctorCheck = Callable[[Examination], Iterator[DoctorFinding]]

CHECKS: tuple[DoctorCheck, ...] = (
    connection.bootstrap_servers,
    connection.one_cluster,
    addresses.advertised_addresses,
    addresses.local_addresses,
    addresses.same_address,
    addresses.another_broker,
    certificates.certificates_that_expire,
    certificates.own_certificate,
    controller.has_controller,
    controller.one_controller,
    controller.one_view,
    partitions.offline_partitions,
    partitions.below_min_isr,
    partitions.under_replicated,
    partitions.min_isr_and_factor,
    factors.internal_topics,
    factors.factors_of_settings,
    factors.single_replicas,
    balance.preferred_leaders,
    balance.skew,
    balance.racks,
    machines.failed_log_dirs,
    machines.disks,
    machines.clocks,
    machines.processes,
    machines.pages_of_metrics,
    broker_settings.settings_that_differ,
    broker_settings.unclean_election,
    broker_settings.auto_creation,
    releases.releases,
    releases.old_protocol,
    zookeeper.servers_that_do_not_serve,
    zookeeper.slow_servers,
    zookeeper.modes,
    client_settings.client_files,
    client_settings.against_brokers,
    client_settings.missing_stores,
)


def findings_in(seen: Examination) -> list[DoctorFinding]:
    """What all checks find."""
    return [finding for check in CHECKS for finding in check(seen)]
