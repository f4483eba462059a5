"""A Kerberos realm of its own: Debian's krb5-kdc on a free port, with all its files in the test's folder.

Nothing of the machine's own Kerberos is read or changed: programs of the realm have `kerberos` in their environment,
those in Java `java_option` on their command line.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from kafka_py.testing.processes import Process, free_port

REALM = "EXAMPLE.COM"
_PROGRAMS = {"krb5kdc": "krb5-kdc", "kdb5_util": "krb5-kdc", "kadmin.local": "krb5-admin-server", "kinit": "krb5-user"}
"""Each with its package in Debian."""
_SYSTEM_FOLDERS = "/usr/sbin:/sbin"

_CLIENTS = """\
[libdefaults]
 default_realm = {realm}
 dns_lookup_realm = false
 dns_lookup_kdc = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
 default_ccache_name = FILE:{tickets}
[realms]
 {realm} = {{
  kdc = localhost:{port}
 }}
"""

_KDC = """\
[kdcdefaults]
 kdc_listen = ""
 kdc_tcp_listen = 127.0.0.1:{port}
[realms]
 {realm} = {{
  database_name = {folder}/principal
  key_stash_file = {folder}/stash
  acl_file = {folder}/acl
  max_life = {life}
  max_renewable_life = 1d
 }}
"""


def missing() -> str | None:
    """Why this machine cannot have a realm, or our logins in it; None if it can."""
    for program, package in _PROGRAMS.items():
        if _found(program) is None:
            return f"Kerberos needs {program} of {package}"
    return None if importlib.util.find_spec("gssapi") else "Kerberos needs the package gssapi"


class KerberosRealm(Process):
    """A KDC; a context manager that makes its database, starts and stops it.

    life: of tickets, as in `10m`. tickets: the default cache.
    """

    def __init__(self, folder: Path, life: str = "10h") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.tickets = folder / "tickets"
        self.krb5_conf = folder / "krb5.conf"
        self.krb5_conf.write_text(_CLIENTS.format(realm=REALM, tickets=self.tickets, port=(port := free_port())))
        kdc_conf = folder / "kdc.conf"
        kdc_conf.write_text(_KDC.format(realm=REALM, folder=folder, port=port, life=life))
        self.kerberos = {"KRB5_CONFIG": str(self.krb5_conf), "KRB5RCACHEDIR": str(folder)}
        own = {**self.kerberos, "KRB5_KDC_PROFILE": str(kdc_conf)}
        super().__init__([_found("krb5kdc") or "krb5kdc", "-n"], folder / "kdc.log", environment=own)

    @property
    def java_option(self) -> str:
        """For the command line of a Java program, or JAVA_TOOL_OPTIONS."""
        return f"-Djava.security.krb5.conf={self.krb5_conf}"

    def __enter__(self) -> Self:
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
        self.start()
        try:
            self.wait_for_output("starting...")
        except BaseException:
            self.kill()
            raise
        return self

    def add(self, *principals: str) -> None:
        """Makes principals, named without their realm, with random keys that are in `keytab`."""
        for principal in principals:
            self._run("kadmin.local", "-r", REALM, "-q", f"addprinc -randkey {principal}")
            self._run("kadmin.local", "-r", REALM, "-q", f"ktadd -k {self.keytab(principal)} {principal}")

    def keytab(self, principal: str) -> Path:
        """The file with a principal's keys."""
        return self.folder / f"{principal.replace('/', '-')}.keytab"

    def by_keytab(self, principal: str) -> dict[str, str]:
        """Options of a login entry."""
        keys = {"useKeyTab": "true", "storeKey": "true", "keyTab": str(self.keytab(principal))}
        return keys | {"principal": f"{principal}@{REALM}"}

    def change_keys(self, principal: str) -> None:
        """From now on the keys in keytabs made before are wrong."""
        self._run("kadmin.local", "-r", REALM, "-q", f"cpw -randkey {principal}")

    def kinit(self, principal: str, cache: Path, *options: str) -> None:
        """Puts a ticket into the file `cache`."""
        self._run("kinit", *options, "-k", "-t", str(self.keytab(principal)), "-c", f"FILE:{cache}", principal)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [_found(program) or program, *arguments], env=self.environment, capture_output=True, text=True, timeout=60,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        if done.returncode:
            raise AssertionError(f"{program} {' '.join(arguments)}: {done.stderr}")


def krb5_entry(options: Mapping[str, object]) -> str:
    """A login entry of sasl.jaas.config with these options."""
    written = "".join(f' {name}="{value}"' for name, value in options.items())
    return f"com.sun.security.auth.module.Krb5LoginModule required{written};"


def _found(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:{_SYSTEM_FOLDERS}")
