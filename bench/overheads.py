"""Cost of the Prefect driver beside plain DVC, and whether it is within its limits.

    python -m bench.overheads [--repeats 5] [--stages 10]

`nothing to do`: `dvc status`, `nightjar plan` and `nightjar rebuild` in turn, in a made repository of 40 stages (eight
chains of five, each output ten files of 20 kB) that are all up to date; medians by the clock, and processor seconds.
`a stage`: a chain of stages that each sleep for one second, one after the other, with the server running: what a stage
takes from the end of one command to the end of the next, beyond that second, by `nightjar rebuild` and `dvc repro`.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.harness import DVC, NIGHTJAR, Repository, Timed, options, report

CHAINS, LENGTH, FILES, BYTES = 8, 5, 10, 20_000
# What is allowed: seconds more than `dvc status`, seconds more than the command.
NOTHING, STAGE = 2.0, 0.8


def _chains(folder: Path) -> Repository:
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
    repository = Repository(folder, stages)
    group = {"group": {name: {"x": 1} for name in stages}}
    (folder / "params.yaml").write_text(json.dumps(group), encoding="utf-8")
    for place in ("source", "code"):
        (folder / place).mkdir()
        for number in range(FILES):
            text = f"{place} {number} " * (BYTES // 10)
            (folder / place / f"{number}.txt").write_text(text, encoding="utf-8")
    repository.call(*DVC, "repro", "--quiet")
    return repository


def nothing_to_do(folder: Path, repeats: int) -> bool:
    """Print the medians of looking and finding nothing to do; whether the rebuild is within its limit."""
    repository = _chains(folder)
    commands = {
        "dvc status": (*DVC, "status", "--quiet"),
        "nightjar plan": (*NIGHTJAR, "plan"),
        "nightjar rebuild": (*NIGHTJAR, "rebuild"),
    }
    took: dict[str, list[Timed[object]]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, command in commands.items():
            took[name].append(repository.call(*command))  # type: ignore[arg-type]
    print(f"nothing to do, {CHAINS * LENGTH} stages, median of {repeats}:")
    for name, timings in took.items():
        clock, processor = (
            statistics.median(getattr(it, one) for it in timings) for one in ("clock", "processor")
        )
        print(f"  {name:17} {clock:6.2f} s by the clock, {processor:5.2f} s of processor")
    # Of each turn the difference: what else the machine does weighs on both alike.
    turns = list(zip(took["dvc status"], took["nightjar rebuild"], strict=True))
    ratios = [dvc.clock / mine.clock for dvc, mine in turns]
    report("rebuild with nothing to do", "dvc status", "clock", ratios)
    return _within("seconds beside dvc status", [mine.clock - dvc.clock for dvc, mine in turns], NOTHING)


def a_stage(folder: Path, stages: int) -> bool:
    """Print what a stage takes beyond its command; whether the Prefect driver is within its limit."""
    chain: dict[str, object] = {}
    for number in range(stages):
        chain[f"s{number}"] = {
            "cmd": f"sleep 1; date +%s.%N > s{number}.out",
            "deps": [f"s{number - 1}.out"] if number else [],
            "outs": [f"s{number}.out"],
        }
    mine, plain = Repository(folder / "nightjar", chain), Repository(folder / "dvc", chain)
    with mine.server(4321):
        rebuilt = mine.call(*NIGHTJAR, "rebuild", "--jobs", "1")
    repro = plain.call(*DVC, "repro", "--quiet")
    print(f"a stage beyond its command, {stages} in a chain:")
    seconds_each = []
    for repository, took in ((mine, rebuilt), (plain, repro)):
        # From the end of the first command to the end of the last: all that happens between two commands.
        ends = [float((repository.root / f"s{number}.out").read_text()) for number in (0, stages - 1)]
        seconds_each.append((ends[1] - ends[0]) / (stages - 1) - 1)
        more = f"{took.clock - stages:.2f} s in all, {took.processor:.2f} s of processor"
        print(f"  {repository.root.name:9} {seconds_each[-1]:6.2f} s each; with the start and end {more}")
    ratio, beside = (
        (1 + seconds_each[1]) / (1 + seconds_each[0]),
        f"{seconds_each[0]:.2f} s beyond the command",
    )
    report("a stage of one second", "dvc repro", "clock", ratio, beside)
    return _within("seconds beyond the command", seconds_each[:1], STAGE)


def _within(what: str, values: Sequence[float], limit: float) -> bool:
    value = statistics.median(values)
    print(f"  {value:+.2f} {what}, allowed {limit:.2f}: {'met' if value <= limit else 'NOT met'}", flush=True)
    return value <= limit


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--stages", type=int, default=10, help="length of the chain of sleeping stages")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        met = [nothing_to_do(folder / "made", arguments.repeats), a_stage(folder, arguments.stages)]
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    main()
