"""Options with secrets are left out where Spark shows options: in plans, the event log, descriptions of views.

Spark redacts options that match two settings of the session, spark.sql.redaction.options.regex and
spark.redaction.regex. Their defaults know passwords and tokens, but neither keys nor certificates.
"""

from __future__ import annotations

from typing import Any

SETTING = "spark.sql.redaction.options.regex"
SECRET = r"(?i:kafka\.(sasl\.jaas|ssl\..*(password|keystore\.key|certificate)))"
"""The names of options whose values are secret: those of type password among the settings of clients."""


def redact(session: Any) -> None:
    """Has the session redact them, besides what its user has it redact."""
    given = session.conf.get(SETTING, "") or ""
    if SECRET not in given:
        session.conf.set(SETTING, f"{given}|{SECRET}" if given else SECRET)
