"""kafka-pipeline.sh: runs the pipeline that a file describes.

    kafka-pipeline.sh config/pipeline-to-parquet.yaml --master local[2] --set TOPIC=orders
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from kafka_py.base.errors import ConfigError, KafkaError
from kafka_py.pipeline.jobs.spec import Section, read_file
from kafka_py.pipeline.jobs.stopping import Stop

USAGE = "usage: kafka-pipeline.sh FILE [--master MASTER] [--set NAME=VALUE]... [--check]"
HELP = f"""{USAGE}

Runs the pipeline that FILE (.yaml or .toml) describes, on Spark.

  --master MASTER   Spark's master; default: that of the file, else local[*]
  --set NAME=VALUE  a value for ${{NAME}} in the file, before the environment's
  --check           only read the file and say whether it is in order
"""


class Job(NamedTuple):
    """How one kind of file is read and run: `read_*` and `run_*` of a module that is loaded when it is needed."""

    module: str
    suffix: str
    fails_on_result: bool = False

    @property
    def read(self) -> Callable[[Section, str], Any]:
        """From the file's section and name to the job."""
        return self._function("read")

    @property
    def run(self) -> Callable[[Any, Any, Stop], Any]:
        """Runs a job in a Spark session until it is done or stopped; returns what the exit code depends on."""
        return self._function("run")

    def _function(self, verb: str) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(
            import_module(f"kafka_py.pipeline.jobs.{self.module}"), f"{verb}_{self.suffix}"
        )
        return function


JOBS = {
    "pipeline": Job("generic", "pipeline"),
    "topic-to-parquet": Job("to_parquet", "to_parquet"),
    "mirror": Job("mirror", "mirror"),
    "audit": Job("audit", "audit", fails_on_result=True),
    "history": Job("history", "history"),
}


class Arguments(NamedTuple):
    path: Path
    master: str | None
    variables: dict[str, str]
    check: bool


def parse(arguments: Sequence[str]) -> Arguments:
    """Raises ConfigError with what is wrong."""
    path, master, variables, check = None, None, {}, False
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word in ("--master", "--set"):
            if not rest:
                raise ConfigError(f"{word} needs a value")
            value = rest.pop(0)
            if word == "--master":
                master = value
            else:
                name, equals, text = value.partition("=")
                if not equals or not name:
                    raise ConfigError(f"--set takes NAME=VALUE, not {value!r}")
                variables[name] = text
        elif word == "--check":
            check = True
        elif word.startswith("-") or path is not None:
            raise ConfigError(f"{word} is not understood")
        else:
            path = Path(word)
    if path is None:
        raise ConfigError("a file must be given")
    return Arguments(path, master, variables, check)


def main(arguments: Sequence[str]) -> int:
    """0: done; 1: failed, or an audit found differences; 2: the file or the command line is wrong."""
    if not arguments or "--help" in arguments or "-h" in arguments:
        print(HELP)
        return 0 if arguments else 2
    try:
        given = parse(arguments)
        read = read_job(given.path, given.variables)
    except ConfigError as error:
        print(f"kafka-pipeline: {error.message}\n{USAGE}", file=sys.stderr)
        return 2
    if given.check:
        print(f"{given.path}: a {read.kind} named {read.name}, in order")
        return 0
    return _run(JOBS[read.kind], read.job, read.name, given.master or read.master, read.settings)


class JobFile(NamedTuple):
    """What a file says. job: as `read_*` of its kind returns it. master, settings: of Spark."""

    kind: str
    name: str
    job: Any
    master: str | None
    settings: dict[str, str]


def read_job(path: Path, variables: Mapping[str, str]) -> JobFile:
    """Reads a file and checks every key of it. Raises ConfigError."""
    spec = read_file(path, variables)
    kind = spec.choice("job", *JOBS, default="pipeline")
    name = spec.text("name", path.stem)
    spark = spec.section("spark")
    master = spark.maybe_text("master")
    settings = spark.settings("settings")
    spark.text("master", "")
    spark.finish()
    job = JOBS[kind].read(spec, name)
    spec.finish()
    return JobFile(kind, name, job, master, settings)


def _run(kind: Job, job: Any, name: str, master: str | None, settings: dict[str, str]) -> int:
    from kafka_py.pipeline.progress import show_progress
    from kafka_py.pipeline.session import spark_session

    try:
        session = spark_session(name, master=master, settings=settings)
    except KafkaError as error:
        print(f"kafka-pipeline: {error.message}", file=sys.stderr)
        return 1
    try:
        show_progress(session)
        stop = Stop()
        with stop.by_signals():  # now, for Spark has put its own handler there
            result = kind.run(job, session, stop)
        return int(bool(kind.fails_on_result and result))
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        print(f"kafka-pipeline: {name} failed: {cause(error)}", file=sys.stderr)
        return 1
    finally:
        session.stop()


def cause(error: BaseException) -> str:
    """The line that says what happened, out of the pages that Spark wraps around it."""
    lines = [text.strip() for text in str(error).splitlines() if text.strip()]
    ours = [text for text in lines if "kafka_py." in text and "Error" in text and not text.startswith(("File", "at "))]
    return (ours or lines or [type(error).__name__])[-1 if ours else 0]


def cli() -> None:
    """Entry point of the process."""
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    cli()
