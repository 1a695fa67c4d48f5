"""Stages that do not need one another, side by side: how near to the ideal a rebuild comes, and whether locks hold.

    python -m bench.siblings [--stages 10] [--seconds 6] [--jobs 4] [--repeats 1]

A made repository, a Prefect server that runs already, and `nightjar rebuild --jobs JOBS` in which every stage has to
run, measured from its start to its end. The ideal is what the sleeping alone takes in so many jobs; at most 1.45 times
that is allowed. After every run the graph has to be up to date, by DVC's own comparison, and no log may speak of a
lock. `--stages 5 --seconds 0.2 --repeats 50` asks for many meetings at DVC's locks instead of a long sleep.
"""

from __future__ import annotations

import math
import re
import shutil
import statistics
import tempfile
from pathlib import Path

from bench.harness import NIGHTJAR, Repository, options, report
from pipelines.graph import repository as graphs

LIMIT = 1.45
# What DVC says when a lock is not to be had, or a path is in another's use.
TROUBLE = re.compile(r"unable to acquire lock|is busy|rwlock", re.IGNORECASE)


def rebuild(repository: Repository, jobs: int, turn: int) -> tuple[float, list[str]]:
    """One rebuild of everything: seconds by the clock, and what went wrong."""
    (repository.root / "source.txt").write_text(f"{turn}\n")
    done = repository.run(*NIGHTJAR, "rebuild", "--jobs", str(jobs))
    faults = [] if not done.result.returncode else [f"exit status: {done.result.stderr.strip()}"]
    for log in sorted((repository.root / ".nightjar/logs").rglob("*.log")):
        faults += [f"{log.name}: {line}" for line in log.read_text().splitlines() if TROUBLE.search(line)]
    shutil.rmtree(repository.root / ".nightjar/logs", ignore_errors=True)
    faults += [f"{name} is not up to date" for name in graphs.read(repository.root).changed()]
    for output in sorted(repository.root.glob("*.out")):
        if output.read_text() != f"{turn}\n{output.stem}\n":
            faults.append(f"{output.name} is not that of this run")
    return done.clock, faults


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--stages", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=1)
    arguments = parser.parse_args()
    ideal = math.ceil(arguments.stages / arguments.jobs) * arguments.seconds
    took, faulty = [], 0
    command = f"sleep {arguments.seconds}; cp source.txt ${{item}}.out; echo ${{item}} >> ${{item}}.out"
    stage_template = {"cmd": command, "deps": ["source.txt"], "outs": ["${item}.out"]}
    with tempfile.TemporaryDirectory() as folder:
        repository = Repository(
            Path(folder), {"sibling": {"foreach": list(range(arguments.stages)), "do": stage_template}}
        )
        with repository.server(4323):
            for turn in range(arguments.repeats):
                seconds, faults = rebuild(repository, arguments.jobs, turn)
                took.append(seconds)
                faulty += bool(faults)
                print(f"run {turn + 1}: {seconds:.1f} s", *faults, sep="\n  ", flush=True)
    median = statistics.median(took)
    beside = f"{faulty} runs with an error; {median / ideal:.2f} times the ideal {ideal:g} s, allowed {LIMIT}"
    report(f"{arguments.stages} stages side by side", "the ideal", "clock", ideal / median, beside)
    raise SystemExit(1 if faulty else 0)


if __name__ == "__main__":
    main()
