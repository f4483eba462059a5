"""What a URL has, from a server that does not behave."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from kafka_py.base.clock import SystemClock
from kafka_py.security.sasl.oauth.places import MOST_BYTES, Unreadable, place_of

asked: list[str] = []
may_answer = threading.Event()


class Handler(BaseHTTPRequestHandler):
    """The path is the status; a redirection leads to /200, and a good response is a byte too large."""

    def do_GET(self) -> None:
        asked.append(self.path)
        if self.path == "/202":
            may_answer.wait(10)
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
    may_answer.clear()
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


def test_an_endpoint_may_take_longer_for_its_answer_than_for_the_connection(url: str) -> None:
    place = place_of("a.setting", url + "/202", SystemClock(), {}, connect_ms=50, read_ms=20_000)
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(place.read)
        with pytest.raises(TimeoutError):
            reading.result(0.2)  # four times what the connection may take
        may_answer.set()
        assert reading.result(10) == b""


def test_an_endpoint_that_does_not_answer_is_given_up_after_the_time_for_answers(url: str) -> None:
    place = place_of("a.setting", url + "/202", SystemClock(), {}, connect_ms=20_000, read_ms=50)
    with pytest.raises(Unreadable, match="timed out"):
        place.read()
    may_answer.set()


def test_a_host_name_that_cannot_be_one_is_unreadable() -> None:
    with pytest.raises(Unreadable, match=r"label|idna"):
        place_of("a.setting", f"http://{'a' * 64}.example/", SystemClock(), {}).read()
