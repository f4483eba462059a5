"""What a URL has, from a server that does not behave."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from kafka_py.base.clock import SystemClock
from kafka_py.security.sasl.oauth.places import MOST_BYTES, Unreadable, place_of

asked: list[str] = []


class Handler(BaseHTTPRequestHandler):
    """The path is the status; a redirection leads to /200, and a good response is a byte too large."""

    def do_GET(self) -> None:
        asked.append(self.path)
        self.send_response(int(self.path[1:]))
        if self.path.startswith("/3"):
            self.send_header("Location", "/200")
        self.end_headers()
        if self.path == "/200":
            self.wfile.write(b"x" * (MOST_BYTES + 1))

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    asked.clear()
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("path", "reason", "is_final"),
    [
        ("/302", "HTTP status 302", False), ("/401", "HTTP status 401", True), ("/429", "HTTP status 429", False),
        ("/408", "HTTP status 408", False), ("/503", "HTTP status 503", False), ("/200", "more than 1048576", False),
    ],
)  # fmt: skip
def test_what_cannot_be_had_says_whether_to_try_again(url: str, path: str, reason: str, is_final: bool) -> None:
    with pytest.raises(Unreadable, match=reason) as failed:
        place_of("a.setting", url + path, SystemClock(), {}).read()
    assert failed.value.is_final == is_final
    assert asked == [path]  # a redirection is not followed
