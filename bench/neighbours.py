"""Two threads of a model, alone and beside a busy program: how they wait for each other against OpenMP's default.

    python -m bench.neighbours [--model models/base/language_model] [--passes 15] [--rounds 2]

A process reads 8 tokens at once in bfloat16, as a step of decoding does; its median is compared. By default threads of
GNU's OpenMP spin 300,000 times before they sleep. Nightjar's spin less (nightjar.core.startup.wait_asleep).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from bench.harness import MODEL, options, report

DEFAULT = {"GOMP_SPINCOUNT": "300000"}
CHILD = """
import statistics, sys, time
from pathlib import Path
from nightjar.models.engine.loading import load, prepare
import torch
prepare(0, 2)
model = load(Path(sys.argv[1]), "bfloat16").model
ids, seconds = torch.arange(1000, 1008)[None], []
for _ in range(int(sys.argv[2]) + 1):
    began = time.perf_counter()
    with torch.inference_mode():
        model(ids)
    seconds.append(time.perf_counter() - began)
print(statistics.median(seconds[1:]))
"""


def seconds(model: Path, passes: int, more: dict[str, str]) -> float:
    """The median of the passes of a process, by the clock."""
    words = [sys.executable, "-c", CHILD, str(model), str(passes)]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("GOMP_", "OMP_"))
    }
    done = subprocess.run(words, env=environment | more, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--model", type=Path, default=MODEL)
    parser.add_argument("--passes", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    ratios = defaultdict(list)
    for _ in range(arguments.rounds):
        for beside in ("alone", "beside a busy program"):
            busy = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if beside != "alone" else None
            try:
                ours, theirs = (seconds(arguments.model, arguments.passes, more) for more in ({}, DEFAULT))
            finally:
                if busy:
                    busy.kill()
                    busy.wait()
            print(f"{beside}: {ours * 1000:.0f} ms, {theirs * 1000:.0f} ms by default", flush=True)
            ratios[beside].append(theirs / ours)
    for beside, values in ratios.items():
        report(f"a pass with two threads, {beside}", "OpenMP's default", "clock", values)


if __name__ == "__main__":
    main()
