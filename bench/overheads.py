"""What the Prefect driver costs beside plain DVC, and whether that is within its limits.

    python -m bench.overheads [--repeats 5] [--stages 10] [--sample [--jobs 1]] [--change FOLDER KEY VALUES]

`nothing to do`: `dvc status`, `nightjar plan` and `nightjar rebuild` in turn, in a made repository of 40 stages (eight
chains of five, each output ten files of 20 kB) that are all up to date; medians by the clock, and processor seconds.
`a stage`: a chain of stages that each sleep for one second, one after the other, with the server running: what a stage
takes from the end of one command to the end of the next, beyond that second, by `nightjar rebuild` and `dvc repro`.
`the sample` (only with --sample; some twenty minutes): the whole graph in two fresh clones of this project's commit,
by `dvc repro`, then by `nightjar rebuild` with its own number of jobs, or the one given.
`a change` (only with --change): in a rebuilt project, KEY of params.yaml gets one value after the other (V1,V2,…), and
the project is rebuilt each time, by turns with `nightjar rebuild`, with the server running, and with `dvc repro`:
processor seconds, those of the server included.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.ratios import record
from nightjar.core import paths
from nightjar.core.config import PARAMS_FILE
from pipelines.run.profiles import edited

ROOT = Path(__file__).parents[1]
DVC = [sys.executable, "-m", "dvc"]
NIGHTJAR = [sys.executable, "-c", "from pipelines.cli import main; main()"]
CHAINS, LENGTH, FILES, BYTES = 8, 5, 10, 20_000
# What is allowed: seconds more than `dvc status`, seconds more than the command, times as long as `dvc repro`, and
# times its processor seconds.
NOTHING, STAGE, SAMPLE, CHANGE = 2.0, 0.8, 1.05, 1.0


@dataclass(frozen=True)
class Took:
    """Seconds of one process and those it waited for: by the clock, and of processors."""

    clock: float
    processor: float


def run(command: Sequence[str], folder: Path, code: Path = ROOT) -> Took:
    """Run a command to its end. Raises SystemExit with the end of its output if it fails."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(code),
        "PATH": str(Path(sys.executable).parent) + os.pathsep + os.environ.get("PATH", os.defpath),
        "DVC_NO_ANALYTICS": "1",
        "CI": "1",  # DVC does not look for updates then
    }
    with tempfile.TemporaryFile("w+") as errors:
        began = time.monotonic()
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=errors
        )
        _, status, usage = os.wait4(process.pid, 0)
        clock = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        if process.returncode != 0:
            sys.exit(f"{' '.join(command[1:])} failed: {errors.read()[-500:]}")
        return Took(clock, usage.ru_utime + usage.ru_stime)


def _repository(folder: Path, stages: dict[str, object]) -> Path:
    folder.mkdir(parents=True)
    run(["git", "init", "--quiet", "."], folder)
    run([*DVC, "init", "--quiet"], folder)
    (folder / "dvc.yaml").write_text(json.dumps({"stages": stages}), encoding="utf-8")
    return folder


def _made(folder: Path) -> Path:
    """A repository of chains whose stages copy a folder, and read parameters and a folder of code."""
    stages: dict[str, object] = {}
    for chain in range(CHAINS):
        for number in range(LENGTH):
            name = f"s{chain}_{number}"
            before = f"s{chain}_{number - 1}.out" if number else "source"
            stages[name] = {
                "cmd": f"cp -r {before} {name}.out && echo {name} > {name}.out/name.txt && echo '{{}}' > {name}.json",
                "deps": [before, "code"],
                "params": [f"group.{name}"],
                "outs": [f"{name}.out"],
                "metrics": [f"{name}.json"],
            }
    root = _repository(folder, stages)
    (root / "params.yaml").write_text(
        json.dumps({"group": {name: {"x": 1} for name in stages}}), encoding="utf-8"
    )
    for place, count in (("source", FILES), ("code", FILES)):
        (root / place).mkdir()
        for number in range(count):
            (root / place / f"{number}.txt").write_text(
                f"{place} {number} " * (BYTES // 10), encoding="utf-8"
            )
    run([*DVC, "repro", "--quiet"], root)
    return root


def nothing_to_do(folder: Path, repeats: int) -> bool:
    """Print the medians of looking and finding nothing to do; whether the rebuild is within its limit."""
    root = _made(folder)
    commands = {
        "dvc status": [*DVC, "status", "--quiet"],
        "nightjar plan": [*NIGHTJAR, "plan"],
        "nightjar rebuild": [*NIGHTJAR, "rebuild"],
    }
    took: dict[str, list[Took]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, command in commands.items():
            took[name].append(run(command, root))
    clock = {name: statistics.median(it.clock for it in found) for name, found in took.items()}
    print(f"nothing to do, {CHAINS * LENGTH} stages, median of {repeats}:")
    for name, found in took.items():
        processor = statistics.median(it.processor for it in found)
        print(f"  {name:17} {clock[name]:6.2f} s by the clock, {processor:5.2f} s of processor")
    # Of each turn the difference: what else the machine does weighs on both alike.
    pairs = zip(took["dvc status"], took["nightjar rebuild"], strict=True)
    record(
        "rebuild with nothing to do", "dvc status", "clock", [dvc.clock / mine.clock for dvc, mine in pairs]
    )
    more = statistics.median(
        mine.clock - dvc.clock for mine, dvc in zip(took["nightjar rebuild"], took["dvc status"], strict=True)
    )
    return _verdict(
        "nightjar rebuild", f"{more:+.2f} s beside dvc status", f"{NOTHING:+.2f} s", more <= NOTHING
    )


def a_stage(folder: Path, stages: int) -> bool:
    """Print what a stage takes beyond its command; whether the Prefect driver is within its limit."""
    chain: dict[str, object] = {}
    for number in range(stages):
        chain[f"s{number}"] = {
            "cmd": f"sleep 1; date +%s.%N > s{number}.out",
            "deps": [f"s{number - 1}.out"] if number else [],
            "outs": [f"s{number}.out"],
        }
    mine, plain = _repository(folder / "nightjar", chain), _repository(folder / "dvc", chain)
    run([*NIGHTJAR, "ui", "--background", "--port", "4321"], mine)
    try:
        rebuilt = run([*NIGHTJAR, "rebuild", "--jobs", "1"], mine)
    finally:
        run([*NIGHTJAR, "ui", "--stop"], mine)
    repro = run([*DVC, "repro", "--quiet"], plain)
    print(f"a stage beyond its command, {stages} in a chain:")
    each = {}
    for name, root, took in (("nightjar rebuild", mine, rebuilt), ("dvc repro", plain, repro)):
        # From the end of the first command to the end of the last: all that happens between two commands.
        ends = [float((root / f"s{number}.out").read_text()) for number in (0, stages - 1)]
        each[name] = (ends[1] - ends[0]) / (stages - 1) - 1
        print(
            f"  {name:17} {each[name]:6.2f} s each; with the start and end {took.clock - stages:.2f} s in all, "
            f"{took.processor:.2f} s of processor"
        )
    seconds = {name: f"{value:.2f} s beyond the command" for name, value in each.items()}
    ratio = (1 + each["dvc repro"]) / (1 + each["nightjar rebuild"])
    record("a stage of one second", "dvc repro", "clock", ratio, seconds["nightjar rebuild"])
    return _verdict(
        "a stage", f"{each['nightjar rebuild']:.2f} s", f"{STAGE:.2f} s", each["nightjar rebuild"] <= STAGE
    )


def the_sample(folder: Path, jobs: int | None) -> bool:
    """Print how long the whole graph takes by either driver; whether the Prefect driver is within its limit."""
    took = {}
    for name, command in {
        "dvc repro": [*DVC, "repro", "--quiet"],
        "nightjar rebuild": [*NIGHTJAR, "rebuild", *(["--jobs", str(jobs)] if jobs else [])],
    }.items():
        clone = folder / f"sample-{name.partition(' ')[0]}"
        run(["git", "clone", "--quiet", str(ROOT), str(clone)], folder)
        took[name] = run(command, clone, code=clone).clock
        print(f"the sample by {name}: {took[name]:.0f} s", flush=True)
        shutil.rmtree(clone)
    ratio = took["nightjar rebuild"] / took["dvc repro"]
    return _verdict("the sample", f"{ratio:.3f} times dvc repro", f"{SAMPLE:.2f} times", ratio <= SAMPLE)


def a_change(root: Path, key: str, values: Sequence[str]) -> bool:
    """Print the processor seconds of a change by either driver; whether the Prefect driver is within its limit."""
    took: dict[str, list[float]] = {"nightjar rebuild": [], "dvc repro": []}
    run([*NIGHTJAR, "ui", "--background", "--port", "4322"], root)
    try:
        server = psutil.Process(json.loads((root / paths.SERVER).read_text())["pid"])
        params = root / PARAMS_FILE
        for turn, value in enumerate(values):
            params.write_text(edited(params.read_text(encoding="utf-8"), {key: int(value)}), encoding="utf-8")
            name = list(took)[turn % 2]
            before = sum(server.cpu_times()[:2])
            found = run([*NIGHTJAR, "rebuild"] if turn % 2 == 0 else [*DVC, "repro", "--quiet"], root)
            took[name].append(found.processor + sum(server.cpu_times()[:2]) - before)
            print(
                f"  {key} = {value}: {name} {took[name][-1]:.1f} s of processor, {found.clock:.1f} s",
                flush=True,
            )
    finally:
        run([*NIGHTJAR, "ui", "--stop"], root)
    ratios = [mine / dvc for mine, dvc in zip(*took.values(), strict=True)]
    record("a change", "dvc repro", "processor", [1 / ratio for ratio in ratios])
    ratio = statistics.median(ratios)
    return _verdict("a change", f"{ratio:.2f} times dvc repro", f"{CHANGE:.2f} times", ratio <= CHANGE)


def _verdict(what: str, found: str, limit: str, met: bool) -> bool:
    print(f"  {what}: {found}, at most {limit}: {'met' if met else 'NOT met'}", flush=True)
    return met


def main() -> None:
    about, _, usage = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=usage, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--stages", type=int, default=10, help="length of the chain of sleeping stages")
    parser.add_argument("--sample", action="store_true", help="the whole sample graph as well")
    parser.add_argument(
        "--jobs", type=int, help="stages at once in the sample, in place of the project's setting"
    )
    parser.add_argument("--change", nargs=3, metavar=("FOLDER", "KEY", "VALUES"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        met = [
            nothing_to_do(Path(folder, "made"), arguments.repeats),
            a_stage(Path(folder), arguments.stages),
        ]
        if arguments.change:
            root, key, values = arguments.change
            met.append(a_change(Path(root).resolve(), key, values.split(",")))
        if arguments.sample:
            met.append(the_sample(Path(folder), arguments.jobs))
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    main()
