"""The journal of a run: its events as lines of JSON in .nightjar/runs/NAME.jsonl.

The run appends to it and depends on no reader. Another process (prefect_view/mirror.py) shows the journal in Prefect,
during the run or later, and deletes it once Prefect's server has recorded the run. Events, each with its time `at`:

    begin     kind (rebuild, nightly), name, parameters, and the process of the run
    graph     tags, and for each stage that may run: upstream, description and key
    stage     a Result
    artifact  what Prefect's UI shows, of a stage or of the run
    log       a line of the run itself
    end       an End
    shown     the id of the flow run that shows the journal, and how many events it has (the mirror adds it)
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nightjar.core.files import own_folder, write_text
from nightjar.core.json_text import parse
from pipelines.execution.results import End, Result
from pipelines.graph import describe
from pipelines.graph.graph import Graph
from pipelines.process import identity
from pipelines.project import places

POLL_SECONDS = 0.2

Event = dict[str, Any]


def new_name() -> str:
    """A name for a run: the time, and what keeps it apart from another of the same second."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def path_of(root: Path, name: str) -> Path:
    """Where the journal of a run is."""
    return root / places.RUNS / f"{name}.jsonl"


def append(path: Path, event: str, **facts: Any) -> None:
    """Add an event in one write, so that several writers do not mix. Raises OSError, also if there is no journal.

    An event begins on a line of its own, because the last line of a process that was killed may be torn.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(descriptor, b"\n" + _line(event, facts).encode())
    finally:
        os.close(descriptor)


def _line(event: str, facts: Mapping[str, Any]) -> str:
    return json.dumps({"event": event, "at": time.time(), **facts}, default=str) + "\n"


class Journal:
    """The journal that a run writes; several threads may. Events for which the disk has no room are lost."""

    def __init__(self, root: Path, kind: str, parameters: Mapping[str, Any], name: str = "") -> None:
        self.root, self.kind, self.name = root, kind, name or new_name()
        self.path = path_of(root, self.name)
        self._lock = threading.Lock()
        owner = {"pid": os.getpid(), "started": identity.identity(os.getpid())}
        begin = {"kind": kind, "name": self.name, "parameters": dict(parameters), **owner}
        with contextlib.suppress(OSError):
            own_folder(root)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_text(self.path, _line("begin", begin))

    def write(self, event: str, **facts: Any) -> None:
        """Add an event."""
        with self._lock, contextlib.suppress(OSError):
            append(self.path, event, **facts)

    def graph(self, graph: Graph) -> None:
        """Add what is shown of the stages before they run."""
        stages = {
            name: {
                "upstream": graph.nearest(stage),
                "description": stage.description,
                "key": stage.key,
            }
            for name, stage in graph.stages.items()
        }
        self.write("graph", tags=describe.tags(graph.root), stages=stages)

    def tell(self, result: Result) -> None:
        """Add the result of a stage, with its lines."""
        self.write("stage", **result.facts(), lines=result.lines)

    def artifact(
        self, kind: str, key: str = "", data: Any = None, description: str = "", stage: str = ""
    ) -> None:
        """Add an artifact of the run, or of a stage after its last result. `kind` is markdown or table. A link in
        markdown that begins with / is a path on the project's server.
        """
        self.write("artifact", kind=kind, key=key, data=data, description=description, stage=stage)

    def log(self, message: str, level: str = "info") -> None:
        """Add a line about the run itself; `level` is info or warning."""
        self.write("log", level=level, message=message)

    def end(self, end: End) -> None:
        """Add how the run ended; nothing follows."""
        self.write("end", **asdict(end))


def events(lines: list[bytes]) -> Iterator[Event]:
    """The events of lines; those that are torn are left out."""
    for line in lines:
        with contextlib.suppress(ValueError, TypeError):
            event = parse(line)
            if isinstance(event, dict) and isinstance(event.get("event"), str):
                yield event


def follow(path: Path, alive: Callable[[], bool]) -> Iterator[Event | None]:
    """The events of a journal as they come, and None whenever there is no new one; until the event `end`, or until the
    run is not alive any more. Raises OSError.
    """
    rest = b""
    with path.open("rb") as file:
        while True:
            living = alive()  # asked first: what a process wrote last is read
            data = file.read()
            *lines, rest = (rest + data).split(b"\n")
            for event in events(lines):
                yield event
                if event["event"] == "end":
                    return
            if not data:
                if not living:
                    return
                yield None
                time.sleep(POLL_SECONDS)


@dataclass
class Record:
    """What a journal says of its run: the first event, the flow run that shows it, and how many events it has."""

    begin: Event = field(default_factory=dict)
    flow_run: str = ""
    shown: int = 0

    @property
    def alive(self) -> bool:
        """Whether the process of the run still runs."""
        return identity.alive(int(self.begin["pid"]), str(self.begin["started"]))


def read(path: Path) -> Record:
    """What a journal holds now. Raises OSError, and ValueError for a file that is none."""
    found = Record()
    try:
        for event in events(path.read_bytes().split(b"\n")):
            match event.pop("event"):
                case "begin":
                    found.begin = event
                case "shown":
                    found.flow_run, found.shown = str(event["flow_run"]), int(event["events"])
        int(found.begin["pid"]), str(found.begin["started"]), found.begin["kind"], found.begin["name"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"not the journal of a run ({type(error).__name__})") from None
    return found
