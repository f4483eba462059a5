"""A base image with Python from Debian's packages, for machines that reach a Debian mirror but no registry of images.

debootstrap's smallest variant, Python, and without what images for containers leave out: documentation, translations,
package lists. Made once and kept as a tar file in the cache (KAFKA_PY_CACHE, else ~/.cache/kafka_py). Needs root.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from kafka_py.cli.common.user_folders import cache_directory
from kafka_py.testing.processes import NotReady

SUITE = "trixie"
MIRROR = "http://deb.debian.org/debian"
PACKAGES = ("python3", "netbase")
LEFT_OUT = (
    "usr/share/doc/*", "usr/share/man/*", "usr/share/locale/*", "usr/share/info/*", "usr/share/lintian/*",
    "usr/share/zoneinfo/*", "usr/share/bash-completion/*", "var/cache/apt/*", "var/lib/apt/lists/*", "var/log/*",
    "var/cache/debconf/*-old", "usr/lib/python3*/test", "usr/lib/python3*/pydoc_data",
)  # fmt: skip
TIMEOUT_S = 1200


def base_image_archive() -> Path:
    """The tar file for `docker import`. Raises NotReady."""
    contents = hashlib.sha256(repr((PACKAGES, LEFT_OUT)).encode()).hexdigest()[:8]
    archive = cache_directory() / f"base-image-{SUITE}-{contents}.tar"
    if archive.exists():
        return archive
    if shutil.which("debootstrap") is None:
        raise NotReady("debootstrap is not installed (Debian: apt-get install debootstrap)")
    if os.geteuid() != 0:
        raise NotReady("debootstrap needs root")
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kafka_py-base-") as folder:
        root = Path(folder, "root")
        make_root(root)
        partial = Path(folder, "tar")
        subprocess.run(["tar", "-C", root, "-cf", partial, "."], check=True)
        shutil.copyfile(partial, archive.with_suffix(f".{os.getpid()}"))
        archive.with_suffix(f".{os.getpid()}").replace(archive)
    return archive


def make_root(root: Path, *packages: str) -> None:
    """Debian with Python in this folder. Raises NotReady with the end of debootstrap's output."""
    command = ["debootstrap", "--variant=minbase", f"--include={','.join((*PACKAGES, *packages))}", SUITE]
    done = subprocess.run(
        [*command, root, MIRROR], capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
    )  # fmt: skip
    if done.returncode != 0:
        raise NotReady(f"debootstrap ended with {done.returncode}: {(done.stdout + done.stderr)[-500:]}")
    for pattern in LEFT_OUT:
        for path in root.glob(pattern):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
