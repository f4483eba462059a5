"""Every declaration says the same as Kafka's own schema: fields, types, versions, nullability, tags, defaults."""

import io
import subprocess
import sys
from contextlib import redirect_stdout

from kafka_py.wire.__main__ import main


def test_declarations_agree_with_kafkas_schemas(check_protocol):
    described = io.StringIO()
    with redirect_stdout(described):
        main(["describe"])
    checked = subprocess.run(
        [sys.executable, check_protocol], input=described.getvalue(), capture_output=True, text=True, check=False
    )
    assert checked.stdout == ""
    assert checked.returncode == 0, checked.stderr
