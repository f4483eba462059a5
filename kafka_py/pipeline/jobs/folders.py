"""Files of a folder wherever Spark can write: local, HDFS, S3; through Hadoop's file systems, on the driver.

Paths below are relative to the folder. `write` is all or nothing: a file is written under another name and renamed.
"""

from __future__ import annotations

import uuid
from typing import Any


class Folder:
    """One folder. session: Spark's, for its JVM and its settings."""

    def __init__(self, session: Any, path: str) -> None:
        self._jvm = session._jvm
        self.path = path.rstrip("/")
        self._hadoop = self._jvm.org.apache.hadoop.fs
        self._fs = self._at("").getFileSystem(session._jsc.hadoopConfiguration())

    def _at(self, name: str) -> Any:
        return self._hadoop.Path(f"{self.path}/{name}" if name else self.path)

    def uri(self, name: str = "") -> str:
        return f"{self.path}/{name}" if name else self.path

    def exists(self, name: str) -> bool:
        return bool(self._fs.exists(self._at(name)))

    def names(self, name: str = "") -> list[str]:
        """The names in a folder below, sorted; none when it does not exist."""
        if not self.exists(name):
            return []
        return sorted(str(status.getPath().getName()) for status in self._fs.listStatus(self._at(name)))

    def files_below(self, name: str) -> list[str]:
        """Every file below a folder, relative to it, sorted; hidden ones and Spark's marks left out."""
        found: list[str] = []
        for status in self._fs.listStatus(self._at(name)) if self.exists(name) else ():
            child = str(status.getPath().getName())
            if child.startswith(("_", ".")):
                continue
            if status.isDirectory():
                found += [f"{child}/{each}" for each in self.files_below(f"{name}/{child}" if name else child)]
            else:
                found.append(child)
        return sorted(found)

    def read(self, name: str) -> str:
        stream = self._fs.open(self._at(name))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, name: str, text: str) -> None:
        """Raises FileExistsError when it is there already."""
        if self.exists(name):
            raise FileExistsError(self.uri(name))
        directory, _, base = name.rpartition("/")
        hidden = f"{directory}/.{base}.{uuid.uuid4().hex}" if directory else f".{base}.{uuid.uuid4().hex}"
        self._fs.mkdirs(self._at(directory))
        stream = self._fs.create(self._at(hidden), True)
        stream.write(bytearray(text.encode()))
        stream.hsync()
        stream.close()
        if not self._fs.rename(self._at(hidden), self._at(name)):
            raise FileExistsError(self.uri(name))

    def move(self, source: str, target: str) -> None:
        """Does nothing when that was done before: only the target exists."""
        if self.exists(target) and not self.exists(source):
            return
        self._fs.mkdirs(self._at(target).getParent())
        if not self._fs.rename(self._at(source), self._at(target)):
            raise OSError(f"cannot move {self.uri(source)} to {self.uri(target)}")

    def remove(self, name: str) -> None:
        self._fs.delete(self._at(name), True)
