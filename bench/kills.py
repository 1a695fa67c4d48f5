"""Kill rebuilds at random moments, in every way there is, and count what is lost.

    python -m bench.kills --kills 120

On a made graph in a temporary folder, with one Prefect server: every rebuild has everything to do, and is ended by
SIGTERM, SIGINT, SIGKILL or Cancel through Prefect's API, at a moment drawn from its whole length. Prints, for each way,
the longest time until the last of its processes had ended, the states the runs reached, and what was found broken.
"""

from __future__ import annotations

import argparse
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
from pathlib import Path
from typing import Any

import psutil
from ruamel.yaml import YAML

HERE = Path(__file__).resolve().parents[1]
NIGHTJAR = [sys.executable, "-c", "from pipelines.cli import main; main()"]
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
NEEDS = {
    "a": ["seed.txt"],
    "b": ["seed.txt"],
    "c": ["a.out", "b.out"],
    "d": ["a.out"],
    "e": ["c.out", "d.out"],
}
DVC = "stages:\n" + "".join(
    f"  {name}:\n    cmd: python make.py {name} {' '.join(deps)}\n"
    f"    deps: [make.py, {', '.join(deps)}]\n    outs: [{name}.out]\n"
    for name, deps in NEEDS.items()
)


def whole(text: bytes) -> bool:
    """Whether an output is all that its stage writes."""
    first = text.partition(b"\n")[0].split(b" ")
    if len(first) != 3:
        return False
    parts = (b"%s %s %d\n" % (first[0], first[1], number) for number in range(20))
    return text == b"".join(part * (1_000_000 // len(part)) for part in parts)


class Project:
    """A DVC repository with a Prefect server that stays."""

    def __init__(self, root: Path) -> None:
        self.root = root
        folder = str(Path(sys.executable).parent)
        paths = {"PYTHONPATH": str(HERE), "PATH": folder + os.pathsep + os.environ["PATH"]}
        self.environment = {**os.environ, **paths, "DVC_NO_ANALYTICS": "1", "CI": "1"}
        (root / "dvc.yaml").write_text(DVC)
        (root / "make.py").write_text(MAKE)
        self.call("git", "init", "--quiet", ".")
        self.call(sys.executable, "-m", "dvc", "init", "--quiet")
        self.write(0)

    def call(self, *command: str) -> str:
        done = subprocess.run(
            command, cwd=self.root, env=self.environment, capture_output=True, text=True, timeout=600
        )
        if done.returncode:
            raise SystemExit(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def write(self, seed: int) -> None:
        (self.root / "seed.txt").write_text(str(seed))

    def start(self) -> subprocess.Popen[str]:
        command = [*NIGHTJAR, "rebuild", "--jobs", "2"]
        out = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=self.root, env=self.environment, stdout=out, stderr=out, text=True
        )

    def server(self) -> tuple[str, int]:
        facts = json.loads((self.root / ".nightjar/server.json").read_text())
        return f"http://127.0.0.1:{facts['port']}/api", int(facts["pid"])

    def ask(self, path: str, **body: Any) -> Any:
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(f"{self.server()[0]}/{path}", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def processes(self, beside: set[int]) -> list[int]:
        """What runs in the project's folder, without the server and those that are named."""
        server, found = self.server()[1], []
        for process in psutil.process_iter():
            try:
                here = Path(process.cwd()) == self.root and process.status() != psutil.STATUS_ZOMBIE
                if here and process.pid not in beside and os.getpgid(process.pid) != server:
                    found.append(process.pid)
            except (psutil.Error, OSError):
                continue
        return found

    def lock(self) -> dict[str, Any]:
        path = self.root / "dvc.lock"
        return YAML(typ="safe").load(path.read_text())["stages"] if path.exists() else {}


def wait_for(true: Any, seconds: float) -> float:
    """Wait until `true` gives something true; returns the seconds, or infinity."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        if true():
            return time.monotonic() - began
        time.sleep(0.05)
    return float("inf")


def flow_run(project: Project, before: set[str]) -> str:
    """The id of the flow run that began since; empty if there is none."""
    found = {path.name for path in (project.root / ".nightjar/runs").glob("*")} - before
    return next(iter(found), "")


def kill(project: Project, way: str, after: float) -> tuple[float, str, str] | None:
    """Start a rebuild and end it; returns the seconds until all had ended, what it printed, and its flow run, empty if
    it ended before that began.

    None if it had ended by itself before.
    """
    before = {path.name for path in (project.root / ".nightjar/runs").glob("*")}
    rebuild, run = project.start(), ""
    deadline = time.monotonic() + after
    while time.monotonic() < deadline and rebuild.poll() is None:
        run = run or flow_run(project, before)
        time.sleep(0.01)
    number = WAYS[way]
    if number is None:
        wait_for(lambda: flow_run(project, before) or rebuild.poll() is not None, 60)
    run = run or flow_run(project, before)
    if rebuild.poll() is not None:
        rebuild.communicate(timeout=120)
        return None
    if number is not None:
        rebuild.send_signal(number)
    else:
        project.ask(f"flow_runs/{run}/set_state", state={"type": "CANCELLING", "name": "Cancelling"})
    seconds = wait_for(lambda: not project.processes({rebuild.pid}), 60)
    out, err = rebuild.communicate(timeout=120)
    if "Traceback" in err:
        print(f"{way} after {after:.1f} s:\n{err}", file=sys.stderr)
    return seconds, out, run


def broken(project: Project, printed: str) -> Counter[str]:
    """What is not as it is to be after a kill."""
    found: Counter[str] = Counter()
    try:
        locked = project.lock()
    except Exception:  # torn in the middle: no YAML, or no stages
        return Counter({"dvc.lock broken": 1})
    for name in NEEDS:
        path = project.root / f"{name}.out"
        if path.exists() and not whole(path.read_bytes()):
            found["half-written outputs"] += 1
    for name in re.findall(r"^(\w): ran ", printed, re.MULTILINE):
        text = (project.root / f"{name}.out").read_bytes()
        if locked.get(name, {}).get("outs", [{}])[0].get("md5") != hashlib.md5(text).hexdigest():
            found["stages lost"] += 1
    return found


def same_as_serial(project: Project, folder: Path) -> bool:
    """Whether a rebuild to the end gives what `dvc repro` gives in a copy that never saw a kill: bytes and entries."""
    project.call(*NIGHTJAR, "rebuild")
    serial = folder / "serial"
    shutil.rmtree(serial, ignore_errors=True)
    serial.mkdir()
    other = Project(serial)
    shutil.copy(project.root / "seed.txt", serial)
    other.call(sys.executable, "-m", "dvc", "repro", "--quiet")
    files = [f"{name}.out" for name in NEEDS]
    equal = all((project.root / name).read_bytes() == (serial / name).read_bytes() for name in files)
    return equal and project.lock() == other.lock()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=120)
    parser.add_argument("--every", type=int, default=20, help="compare with a serial run after so many")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    draw = random.Random(asked.seed)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve() / "project"
        root.mkdir()
        project = Project(root)
        project.call(*NIGHTJAR, "ui", "--background", "--port", "4897")
        try:
            _run(project, asked, draw, Path(name))
        finally:
            project.call(*NIGHTJAR, "ui", "--stop")


def _run(project: Project, asked: argparse.Namespace, draw: random.Random, folder: Path) -> None:
    project.write(0)
    began = time.monotonic()
    project.start().communicate(timeout=120)
    length = time.monotonic() - began
    ended: dict[str, list[float]] = defaultdict(list)
    runs: dict[str, list[str]] = defaultdict(list)
    found: Counter[str] = Counter()
    compared = differ = 0
    turn = seed = 0
    while turn < asked.kills:
        way = list(WAYS)[turn % len(WAYS)]
        seed += 1
        project.write(seed)
        killed = kill(project, way, draw.uniform(0, length))
        if killed is None:
            continue
        seconds, printed, run = killed
        ended[way].append(seconds)
        runs[way].append(run)
        turn += 1
        found += broken(project, printed)
        if turn % asked.every == 0 or turn == asked.kills:
            compared += 1
            differ += not same_as_serial(project, folder)
            print(f"after {turn} kills:")
            _print(project, ended, runs, found)
            print(
                f"rebuilds afterwards that differ from a serial dvc repro: {differ} of {compared}", flush=True
            )


def _print(
    project: Project, ended: dict[str, list[float]], runs: dict[str, list[str]], found: Counter[str]
) -> None:
    for way, times in ended.items():
        asked_for = {"id": {"any_": [run for run in runs[way] if run]}}
        reached = project.ask("flow_runs/filter", flow_runs=asked_for, limit=200)
        states = dict(Counter(run["state"]["type"] for run in reached))
        states["before it began"] = runs[way].count("")
        late = sum(second > 10 for second in times)
        print(f"{way}: {len(times)} kills, ended within {max(times):.1f} s ({late} later than 10), {states}")
    for what in ("half-written outputs", "stages lost", "dvc.lock broken"):
        print(f"{what}: {found[what]}")


if __name__ == "__main__":
    main()
