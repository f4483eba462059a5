"""Python source under construction: lines that know which field they are about, and the names they use.

Shared by encoding.py and decoding.py, which decide what the lines say.
"""

import linecache
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from struct import Struct
from typing import Any, NamedTuple


class Source:
    """One function being written."""

    def __init__(self, title: str, signature: str, names: dict[str, Any]) -> None:
        """title: shown as the file name in tracebacks. names: the globals that the lines use; structs are added."""
        self.title = title
        self.names = names
        self.path = ""  # the field being written about, dotted
        self._lines = [signature]
        self._about = ["", ""]  # field path per line number; line numbers start at 1
        self._indent = 1

    def line(self, text: str, about: str | None = None) -> None:
        """about: the field, when it is not the one being written about."""
        self._lines.append("    " * self._indent + text)
        self._about.append(self.path if about is None else about)

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """The lines written inside are indented below `header`."""
        self.line(header)
        self._indent += 1
        yield
        self._indent -= 1

    @contextmanager
    def about(self, field: str) -> Iterator[None]:
        """The lines written inside are about `field`, of the field around it."""
        outer = self.path
        self.path = f"{outer}.{field}" if outer else field
        yield
        self.path = outer

    def struct(self, verb: str, codes: str) -> str:
        """The name of a Struct's bound `pack` or `unpack_from`; made once per format."""
        name = f"{verb}_{codes.replace('?', 'o')}"
        if name not in self.names:
            self.names[name] = getattr(Struct(">" + codes), verb)
        return name

    @property
    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def build(self, name: str) -> Callable[..., Any]:
        """Compiles the source and returns the function called `name`.

        The lines may use `field_of(error)`: the field that the line is about which raised the error, "" for none.
        """
        filename = f"<wire {self.title}>"
        about = self._about

        def field_of(error: Exception) -> str:
            return about[error.__traceback__.tb_lineno] if error.__traceback__ else ""

        self.names["field_of"] = field_of
        exec(compile(self.text, filename, "exec"), self.names)
        linecache.cache[filename] = (len(self.text), None, self.text.splitlines(keepends=True), filename)
        function: Callable[..., Any] = self.names[name]
        return function


class Run(NamedTuple):
    """One field of fixed size, waiting to share a struct with its neighbours."""

    code: str  # of the struct module
    text: str  # target or expression; "" for a pad byte
    path: str


def about_run(run: Sequence[Run]) -> str:
    """How to name the fields of a run in an error: `topics.partition to fetch_offset`."""
    first, last = run[0].path, run[-1].path
    return first if first == last else f"{first} to {last.rpartition('.')[2]}"
