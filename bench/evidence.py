"""The real runs behind docs/results, repeated at this commit, each by one command.

    python -m bench.evidence --list
    python -m bench.evidence [--minutes MINUTES] [NAME ...]

bench/evidence.yaml has the runs. Each runs in .nightjar/evidence/NAME, a clone of the commit with links to the real
data (NIGHTJAR_REAL_DATA), and its output goes to .nightjar/evidence/NAME.log. A run that ended well at this commit is
not repeated, and one that was stopped or failed resumes in its clone. Runs that need a GPU or data that are not there
are left out, and so is a run that is expected to end after MINUTES from now, which is no limit where runs are named
and MINUTES is not given. The table names the reason.
"""

from __future__ import annotations

import json
import math
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict
from rich.console import Console
from rich.table import Table

from bench.harness import ROOT as PROJECT
from bench.harness import options
from nightjar.core.config import parse

RUNS = Path(__file__).with_suffix(".yaml")
FOLDER = PROJECT / ".nightjar" / "evidence"


class EvidenceRun(BaseModel):
    """One run: see the head of evidence.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    section: str
    minutes: int
    commands: tuple[str, ...]
    links: Mapping[str, str] = {}
    makes: tuple[str, ...] = ()
    gpu: bool = False

    @property
    def needs_data(self) -> bool:
        return bool(self.links) or any("{real}" in command for command in self.commands)


def runs(path: Path = RUNS) -> dict[str, EvidenceRun]:
    """All runs by name, in the order of the file."""
    return {
        name: EvidenceRun.model_validate(entry)
        for name, entry in parse(path.read_text("utf-8"), str(path)).items()
    }


def commit() -> str:
    revision = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    return revision.stdout.strip()


def missing(run: EvidenceRun, real: Path | None) -> str:
    """Return what the run needs and this machine does not have; empty if nothing."""
    if run.gpu:
        import torch

        if not torch.cuda.is_available():
            return "no GPU"
    if run.needs_data and real is None:
        return "NIGHTJAR_REAL_DATA is not set"
    absent = [source for source in run.links.values() if real and not (real / source).exists()]
    return f"{absent[0]} is missing" if absent else ""


def clone(folder: Path, commit_id: str, run: EvidenceRun, real: Path | None) -> None:
    """Make, or bring up to the commit, the clone that the run works in. What the commands make first is removed."""
    if not folder.exists():
        subprocess.run(["git", "clone", "--quiet", str(PROJECT), str(folder)], check=True)
    subprocess.run(["git", "fetch", "--quiet", "origin", commit_id], cwd=folder, check=True)
    subprocess.run(["git", "checkout", "--quiet", "--force", "--detach", commit_id], cwd=folder, check=True)
    for path in run.makes:
        shutil.rmtree(folder / path, ignore_errors=True)
    for path, source in run.links.items():
        link = folder / path
        if real and not link.is_symlink():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(real / source)


def execute(name: str, run: EvidenceRun, commit_id: str, real: Path | None) -> bool:
    """Run all commands; whether all ended well. The seconds are recorded with the commit and the device."""
    folder, log = FOLDER / name, FOLDER / f"{name}.log"
    clone(folder, commit_id, run, real)
    path = str(Path(sys.executable).parent) + os.pathsep + os.environ.get("PATH", os.defpath)
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(folder)}
    began = time.monotonic()
    with log.open("a", encoding="utf-8") as file:
        for command in run.commands:
            words = shlex.split(command.replace("{real}", shlex.quote(str(real))))
            file.write(f"$ {command}\n")
            file.flush()
            status = subprocess.run(words, cwd=folder, env=environment, stdout=file, stderr=file, check=False)
            if status.returncode:
                print(f"{name}: `{command}` failed with exit status {status.returncode}; see {log}")
                return False
    entry = {
        "name": name,
        "commit": commit_id,
        "seconds": round(time.monotonic() - began),
        "device": device(),
    }
    with (FOLDER / "done.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")
    return True


def device() -> str:
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else f"{os.cpu_count()} cores"


def done(commit_id: str) -> dict[str, int]:
    """The seconds of the runs that ended well at the commit."""
    path = FOLDER / "done.jsonl"
    rows = map(json.loads, path.read_text("utf-8").splitlines()) if path.exists() else []
    return {row["name"]: row["seconds"] for row in rows if row["commit"] == commit_id}


def main(words: Sequence[str] | None = None) -> int:
    parser = options(__doc__)
    all_runs = runs()
    parser.add_argument("names", nargs="*", metavar="NAME", help="these runs only: " + ", ".join(all_runs))
    parser.add_argument("--list", action="store_true", help="run nothing")
    parser.add_argument("--minutes", type=float, help="default: 120, and no limit for runs that are named")
    arguments = parser.parse_args(words)
    if unknown := sorted(set(arguments.names) - set(all_runs)):
        parser.error(f"no such run: {', '.join(unknown)}; there are: {', '.join(all_runs)}")
    if shutil.which("git") is None:
        parser.error("git is not installed")
    real = Path(os.environ["NIGHTJAR_REAL_DATA"]).resolve() if os.environ.get("NIGHTJAR_REAL_DATA") else None
    commit_id, began, failed = commit(), time.monotonic(), 0
    table = Table("run", "section of docs/results", "minutes", "state", title=f"Evidence at {commit_id[:7]}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    limit = arguments.minutes
    if limit is None:
        limit = math.inf if arguments.names else 120.0
    for name in arguments.names or all_runs:
        run = all_runs[name]
        minutes_left = limit - (time.monotonic() - began) / 60
        if name in (ended := done(commit_id)):
            state = f"done in {ended[name] / 60:.0f} min"
        elif why := missing(run, real):
            state = f"left out: {why}"
        elif arguments.list:
            state = "to run"
        elif run.minutes > minutes_left:
            state = f"left out: {minutes_left:.0f} minutes are left"
        elif execute(name, run, commit_id, real):
            state = f"done in {done(commit_id)[name] / 60:.0f} min"
        else:
            state, failed = "failed", failed + 1
        table.add_row(name, run.section, str(run.minutes), state)
    Console().print(table)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
