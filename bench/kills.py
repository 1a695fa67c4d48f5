"""Kill rebuilds at random moments, in every way there is, and count what is lost.

    python -m bench.kills --kills 120

On a made graph in a temporary folder, with one Prefect server: every rebuild has everything to do, and is ended by
SIGTERM, SIGINT, SIGKILL or Cancel through Prefect's API, at a moment drawn from its whole length. Prints, for each way,
the longest time until the last of its processes had ended, the states the runs reached, and what was found broken.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from ruamel.yaml import YAML

from bench.harness import DVC, NIGHTJAR, Repository, options, timed
from nightjar.core import paths

WAYS = {"SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT, "SIGKILL": signal.SIGKILL, "Cancel": None}
# Stages write 20 MB little by little and put it in place when it is whole, as nightjar/core/tables.py does.
MAKE = """
import hashlib, os, sys
from pathlib import Path
name, *deps = sys.argv[1:]
text = hashlib.sha256(b"".join(Path(dep).read_bytes() for dep in deps)).hexdigest()
part = Path(f".{name}.tmp-{os.getpid()}")
with part.open("w") as file:
    for number in range(20):
        file.write(f"{name} {text} {number}\\n" * (1_000_000 // len(f"{name} {text} {number}\\n")))
        file.flush()
part.rename(f"{name}.out")
"""
SEED = ["seed.txt"]
NEEDS = {"a": SEED, "b": SEED, "c": ["a.out", "b.out"], "d": ["a.out"], "e": ["c.out", "d.out"]}
STAGES = {
    name: {"cmd": f"python make.py {name} {' '.join(deps)}", "deps": ["make.py", *deps], "outs": [f"{name}.out"]}
    for name, deps in NEEDS.items()
}  # fmt: skip


def is_complete(text: bytes) -> bool:
    """Tell whether an output is all that its stage writes."""
    first = text.partition(b"\n")[0].split(b" ")
    if len(first) != 3:
        return False
    parts = (b"%s %s %d\n" % (first[0], first[1], number) for number in range(20))
    return text == b"".join(part * (1_000_000 // len(part)) for part in parts)


class ServedProject(Repository):
    """A DVC repository with a Prefect server that stays."""

    def __init__(self, root: Path, seed: int = 0) -> None:
        super().__init__(root, STAGES)
        (root / "make.py").write_text(MAKE)
        self.write(seed)

    def write(self, seed: int) -> None:
        (self.root / "seed.txt").write_text(str(seed))

    def start(self) -> subprocess.Popen[str]:
        command = [*NIGHTJAR, "rebuild", "--jobs", "2"]
        out = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=self.root, env=self.environment, stdout=out, stderr=out, text=True
        )

    def ask(self, path: str, **body: Any) -> Any:
        port = json.loads((self.root / paths.SERVER).read_text())["port"]
        headers = {"content-type": "application/json"}
        address = f"http://127.0.0.1:{port}/api/{path}"
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def processes(self, beside: int) -> list[int]:
        """Return the processes that run in the project's folder, without the server and `beside`."""
        server, process_ids = json.loads((self.root / paths.SERVER).read_text())["pid"], []
        for process in psutil.process_iter():
            try:
                inside = Path(process.cwd()) == self.root and process.status() != psutil.STATUS_ZOMBIE
                if inside and process.pid != beside and os.getpgid(process.pid) != server:
                    process_ids.append(process.pid)
            except (psutil.Error, OSError):
                continue
        return process_ids

    def runs(self) -> set[str]:
        return {path.name for path in (self.root / paths.RUNS).glob("*")}

    def lock(self) -> dict[str, Any]:
        path = self.root / "dvc.lock"
        return YAML(typ="safe").load(path.read_text())["stages"] if path.exists() else {}


def wait_for(true: Callable[[], object], seconds: float) -> float:
    """Wait until `true` gives something true; returns the seconds, or infinity."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        if true():
            return time.monotonic() - began
        time.sleep(0.05)
    return float("inf")


def kill(project: ServedProject, way: str, after: float) -> tuple[float, str, str] | None:
    """Start a rebuild and end it; returns the seconds until all had ended, what it printed, and its flow run, empty if
    it ended before that began.

    None if it had ended by itself before.
    """
    before, run = project.runs(), ""
    rebuild, deadline = project.start(), time.monotonic() + after
    while time.monotonic() < deadline and rebuild.poll() is None:
        run = run or next(iter(project.runs() - before), "")
        time.sleep(0.01)
    number = WAYS[way]
    if number is None:
        wait_for(lambda: project.runs() - before or rebuild.poll() is not None, 60)
    run = run or next(iter(project.runs() - before), "")
    if rebuild.poll() is not None:
        rebuild.communicate(timeout=120)
        return None
    if number is not None:
        rebuild.send_signal(number)
    else:
        project.ask(f"flow_runs/{run}/set_state", state={"type": "CANCELLING", "name": "Cancelling"})
    seconds = wait_for(lambda: not project.processes(rebuild.pid), 60)
    out, err = rebuild.communicate(timeout=120)
    if "Traceback" in err:
        print(f"{way} after {after:.1f} s:\n{err}", file=sys.stderr)
    return seconds, out, run


def broken(project: ServedProject, printed: str) -> Counter[str]:
    """Count the faults that a kill left behind."""
    faults: Counter[str] = Counter()
    try:
        locked = project.lock()
    except Exception:  # torn in the middle: no YAML, or no stages
        return Counter({"dvc.lock broken": 1})
    for name in NEEDS:
        path = project.root / f"{name}.out"
        if path.exists() and not is_complete(path.read_bytes()):
            faults["half-written outputs"] += 1
    for name in re.findall(r"^(\w): ran ", printed, re.MULTILINE):
        text = (project.root / f"{name}.out").read_bytes()
        if locked.get(name, {}).get("outs", [{}])[0].get("md5") != hashlib.md5(text).hexdigest():
            faults["stages lost"] += 1
    return faults


def same_as_serial(project: ServedProject, seed: int) -> bool:
    """Tell whether a rebuild to its end gives the bytes and entries of `dvc repro` in a copy without kills."""
    project.call(*NIGHTJAR, "rebuild")
    serial = project.root.with_name("serial")
    shutil.rmtree(serial, ignore_errors=True)
    serial_project = ServedProject(serial, seed)
    serial_project.call(*DVC, "repro", "--quiet")
    files = [f"{name}.out" for name in NEEDS]
    equal = all((project.root / name).read_bytes() == (serial / name).read_bytes() for name in files)
    return equal and project.lock() == serial_project.lock()


@dataclass
class KillOutcome:
    """Outcome of the kills so far, by way."""

    ended: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    runs: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    broken: Counter[str] = field(default_factory=Counter)
    compared: int = 0
    differ: int = 0

    def show(self, project: ServedProject) -> None:
        for way, times in self.ended.items():
            named = {"id": {"any_": [run for run in self.runs[way] if run]}}
            reached = project.ask("flow_runs/filter", flow_runs=named, limit=200)
            states = dict(Counter(run["state"]["type"] for run in reached))
            states["before it began"] = self.runs[way].count("")
            late = sum(second > 10 for second in times)
            print(
                f"{way}: {len(times)} kills, ended within {max(times):.1f} s ({late} later than 10), {states}"
            )
        for what in ("half-written outputs", "stages lost", "dvc.lock broken"):
            print(f"{what}: {self.broken[what]}")
        serial = f"{self.differ} of {self.compared}"
        print(f"rebuilds afterwards that differ from a serial dvc repro: {serial}", flush=True)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--kills", type=int, default=120)
    parser.add_argument("--every", type=int, default=20, help="compare with a serial run after so many")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    draw, outcome, turn, seed = random.Random(arguments.seed), KillOutcome(), 0, 0
    with tempfile.TemporaryDirectory() as name:
        project = ServedProject(Path(name).resolve() / "project")
        with project.server(4897):
            length = timed(lambda: project.start().communicate(timeout=120)).clock
            while turn < arguments.kills:
                way, seed = list(WAYS)[turn % len(WAYS)], seed + 1
                project.write(seed)
                killed = kill(project, way, draw.uniform(0, length))
                if killed is None:
                    continue
                seconds, printed, run = killed
                outcome.ended[way].append(seconds)
                outcome.runs[way].append(run)
                outcome.broken += broken(project, printed)
                turn += 1
                if turn % arguments.every == 0 or turn == arguments.kills:
                    outcome.compared += 1
                    outcome.differ += not same_as_serial(project, seed)
                    print(f"after {turn} kills:")
                    outcome.show(project)


if __name__ == "__main__":
    main()
