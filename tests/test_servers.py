"""Servers of tests: no two of them get the same port."""

from itertools import islice
from pathlib import Path

from tests.servers import _ports, free_port

FIRST_OF_SYSTEM = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])


def test_ports_are_neither_those_of_the_system_nor_of_another_worker():
    taken = [set(islice(_ports(worker, process=4_711), 6_000)) for worker in ("gw0", "gw1", "gw2", "gw3")]
    assert all(max(ports) < FIRST_OF_SYSTEM for ports in taken)
    assert sum(map(len, taken)) == len(set().union(*taken)) > 20_000


def test_a_port_is_given_once():
    ports = [free_port() for _ in range(200)]
    assert len(set(ports)) == 200
