"""The TLS handshake of one connection: before its deadline, its cryptography in a thread unless it is short.

A signature of a long key takes several milliseconds, and so does a key exchange that a client may choose; that must
not hold the event loop. A server's short steps run there all the same (short_steps.py): a thread would cost more. Both
ends use this; what follows is said by two functions. Source: SslTransportLayer; KIP-152.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from concurrent.futures import Executor

from kafka_py.net.secured.short_steps import ShortSteps
from kafka_py.net.secured.tls_transport import TlsTransport

HANDSHAKE_S = 30.0
"""As long a handshake may take."""
_HANDSHAKE_RECORD = 22
_ALERT_RECORD = 21

_REASONS = {
    "CERTIFICATE_REQUIRED": "the peer requires a certificate of this side (ssl.client.auth=required there)",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the client showed no certificate, which ssl.client.auth=required asks for",
    "BAD_CERTIFICATE": "the peer refused this side's certificate",
    "UNSUPPORTED_CERTIFICATE": "the peer refused this side's certificate",
    "CERTIFICATE_UNKNOWN": "the peer refused this side's certificate",
    "CERTIFICATE_EXPIRED": "the peer found this side's certificate expired",
    "CERTIFICATE_REVOKED": "the peer found this side's certificate revoked",
    "UNKNOWN_CA": "the peer does not trust the authority of this side's certificate",
    "DECRYPT_ERROR": "the peer cannot verify this side's certificate",
    "NO_SHARED_CIPHER": "the two sides have no cipher suite in common, or this side has no certificate",
    "UNSUPPORTED_PROTOCOL": "the two sides have no TLS version in common",
    "PROTOCOL_VERSION": "the two sides have no TLS version in common",
    "WRONG_VERSION_NUMBER": "the peer does not speak TLS",
    "HANDSHAKE_FAILURE": "the two sides agree on no parameters, or a certificate is missing",
}
"""What the names mean that OpenSSL gives to errors; an alert of the peer has the end of its name."""

IsShort = Callable[[bytes], bool]
"""(what has arrived since the last step of a handshake) -> whether the step with it takes less than a millisecond."""


def never(_data: bytes) -> bool:
    """No step is short."""
    return False


class HandshakeFailed(ConnectionError):
    """Why there is no secured connection, in one line.

    is_fatal: whether trying again would fail in the same way: certificates, versions or cipher suites do not fit.
    """

    def __init__(self, message: str, *, is_fatal: bool) -> None:
        super().__init__(message)
        self.is_fatal = is_fatal


def explained(error: BaseException) -> HandshakeFailed:
    """An error of OpenSSL or of the socket as a failed handshake."""
    if isinstance(error, HandshakeFailed):
        return error
    if isinstance(error, ssl.SSLCertVerificationError):
        return HandshakeFailed(f"the peer's certificate is refused: {error.verify_message}", is_fatal=True)
    if isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError)):
        return HandshakeFailed("the peer closed the connection during the TLS handshake", is_fatal=False)
    if isinstance(error, ssl.SSLError):
        name = error.reason or ""
        meaning = next((text for end, text in _REASONS.items() if name.endswith(end)), None)
        shown = name.lower().replace("_", " ") or str(error)
        return HandshakeFailed(f"{meaning} ({shown})" if meaning else shown, is_fatal=True)
    return HandshakeFailed(str(error) or type(error).__name__, is_fatal=False)


class Handshake:
    """Secures one transport.

    is_server: the peer speaks first. executor: runs the cryptography; None for the default executor of the loop.
    is_short: whether a server's step with what has arrived is short, where all steps before it were; those run by
        `short_steps`. None: no step is.
    """

    __slots__ = (
        "_deadline", "_executor", "_has_begun", "_is_over", "_is_server", "_is_short", "_loop", "_on_done",
        "_on_failed", "_reads", "_short_steps", "_transport",
    )  # fmt: skip

    def __init__(
        self, transport: TlsTransport, loop: asyncio.AbstractEventLoop, executor: Executor | None, *, is_server: bool,
        short_steps: ShortSteps | None = None, is_short: IsShort = never,
    ) -> None:  # fmt: skip
        self._transport = transport
        self._loop = loop
        self._executor = executor
        self._is_server = is_server
        self._short_steps = short_steps  # None from the first step on that is not short
        self._is_short = is_short
        self._has_begun = not is_server
        self._is_over = False
        self._reads = False
        self._on_done: Callable[[], None] = _nothing
        self._on_failed: Callable[[HandshakeFailed], None] = _nothing
        self._deadline: asyncio.TimerHandle | None = None

    def start(
        self, on_done: Callable[[], None], on_failed: Callable[[HandshakeFailed], None], within_s: float = HANDSHAKE_S
    ) -> None:
        """Begin; one of the two is called on the loop, unless it is cancelled before. Both sides may be closed then."""
        self._on_done = on_done
        self._on_failed = on_failed
        self._deadline = self._loop.call_later(within_s, self._expire, within_s)
        if self._is_server:
            self._read(True)
        else:
            self._step()

    def cancel(self) -> None:
        """The connection is closed by its owner."""
        if not self._is_over:
            self._is_over = True
            self._read(False)
            if self._deadline is not None:
                self._deadline.cancel()
            self._on_done = self._on_failed = _nothing

    def _read(self, wanted: bool) -> None:
        if wanted is not self._reads:
            self._reads = wanted
            if wanted:
                self._loop.add_reader(self._transport.fileno, self._on_readable)
            else:
                self._loop.remove_reader(self._transport.fileno)

    def _on_readable(self) -> None:
        try:
            data = self._transport.receive_cipher_text()
        except BlockingIOError:
            return
        except OSError as error:
            self._fail(error)
            return
        if not data:
            self._fail(HandshakeFailed("the peer closed the connection during the TLS handshake", is_fatal=False))
        elif not self._has_begun and data[0] not in (_HANDSHAKE_RECORD, _ALERT_RECORD):
            self._fail(HandshakeFailed("the client sent plain bytes to a listener with TLS", is_fatal=True))
        else:
            self._has_begun = True
            self._advance(data)

    def _advance(self, data: bytes) -> None:
        if self._short_steps is not None and not self._is_short(data):
            self._short_steps = None  # a message that came in part may end in bytes that look like another one
        if self._short_steps is None:
            self._step()
        elif not self._short_steps.run(self._short_step):
            self._read(False)

    def _short_step(self) -> None:
        if self._is_over:  # it was closed before its turn came
            return
        error: Exception | None = None
        is_complete = False
        try:
            is_complete = self._transport.step()
        except Exception as caught:  # as of a step in a thread
            error = caught
        self._conclude(is_complete, error)

    def _step(self) -> None:
        self._read(False)
        try:
            future = self._loop.run_in_executor(self._executor, self._transport.step)
        except RuntimeError:  # of a pool that was shut down
            self._fail(HandshakeFailed("this side is shutting down", is_fatal=False))
            return
        future.add_done_callback(self._on_step)

    def _on_step(self, future: asyncio.Future[bool]) -> None:
        if future.cancelled():
            self._conclude(False, HandshakeFailed("this side is shutting down", is_fatal=False))
            return
        error = future.exception()
        self._conclude(error is None and future.result(), error)

    def _conclude(self, is_complete: bool, error: BaseException | None) -> None:
        """A step has ended. Nothing happens when the handshake is over already."""
        if self._is_over:
            return
        try:
            self._transport.push()  # the alert too that names an error
        except OSError as lost:
            error = error or lost
        if error is not None:
            self._fail(error)
        elif is_complete:
            on_done = self._on_done
            self.cancel()
            on_done()
        else:
            self._read(True)

    def _expire(self, within_s: float) -> None:
        self._fail(HandshakeFailed(f"the TLS handshake was not complete after {within_s:.0f} s", is_fatal=False))

    def _fail(self, error: BaseException) -> None:
        if not self._is_over:
            on_failed = self._on_failed
            self.cancel()
            on_failed(explained(error))


def _nothing(*_: object) -> None:
    """In place of the functions of a handshake that is over."""
