"""How far the predictions of one model depend on the processor: the same stage under older instruction sets.

    python -m bench.processors [--system untuned] [--train] [--precisions bfloat16,float32] [--sets native,avx2]

`avx2` limits PyTorch, oneDNN and MKL to the instructions of a processor without AVX-512. Every run is the stage
predict@supernatinst-SYSTEM in a folder of its own, with the parameters of the project but for the precision; with
--train, the stage train@SYSTEM comes before it, in the same precision. Printed: seconds by the clock and of the
processor, ROUGE-L and exact match over the English track, and for each precision how many predictions are the same text
under both sets. Needs a rebuilt project.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nightjar.benchmarks.text.metrics import score
from nightjar.core import contracts, tables
from pipelines.run.profiles import edited

ROOT = Path(__file__).parents[1]
SETS = {
    "native": {},
    "avx2": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_CBWR": "AVX2"},
}
READ = ("models/base", "data/ingest", "data/split", "data/retrieve", "data/encode", "profiles")


def predict(
    system: str, train: bool, precision: str, instructions: str
) -> tuple[dict[str, str], float, float]:
    """The answers by instance id, and the seconds by the clock and of the processor."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "data/predict").mkdir(parents=True)
        (folder / "models").mkdir()
        for path in READ if train else (*READ, "models/train"):
            (folder / path).symlink_to(ROOT / path)
        text = (ROOT / "params.yaml").read_text(encoding="utf-8")
        settings = {"predict.supernatinst.precision": precision}
        if train:
            settings[f"train.{system}.precision"] = precision
        (folder / "params.yaml").write_text(edited(text, settings), encoding="utf-8")
        environment = {**os.environ, **SETS[instructions], "PYTHONPATH": str(ROOT), "NIGHTJAR_TIMED": "1"}
        stages = [("stages.train", system)] if train else []
        began, used = time.monotonic(), processor()
        for stage, item in [*stages, ("stages.predict", f"supernatinst-{system}")]:
            command = [sys.executable, "-m", stage, item]
            subprocess.run(command, cwd=folder, env=environment, check=True, stderr=subprocess.DEVNULL)
        seconds = time.monotonic() - began, processor() - used
        output = folder / "data/predict/supernatinst" / system
        rows = tables.read_rows(output, contracts.PREDICTIONS)
        answers = {row["id"]: row["answers"][0] for row in rows}
    return answers, *seconds


def processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description="How far predictions depend on the processor.")
    parser.add_argument("--system", default="untuned")
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--precisions", default="bfloat16,float32")
    parser.add_argument("--sets", default="native,avx2")
    asked = parser.parse_args()
    instances = [
        row for row in tables.read_rows(ROOT / "data/split", contracts.TEST) if row["track"] == "default"
    ]
    references = [row["outputs"] for row in instances]
    for precision in asked.precisions.split(","):
        answers: dict[str, list[str]] = {}
        for name in asked.sets.split(","):
            found, clock, used = predict(asked.system, asked.train, precision, name)
            answers[name] = [found[row["id"]] for row in instances]
            scored = score(answers[name], references)
            means = {metric: 100 * float(values.mean()) for metric, values in vars(scored).items()}
            told = ", ".join(f"{metric} {value:.2f}" for metric, value in means.items())
            print(f"{precision} {name}: {clock:.0f} s ({used:.0f} of the processor), {told}", flush=True)
        first, *others = answers
        for other in others:
            same = sum(a == b for a, b in zip(answers[first], answers[other], strict=True))
            print(f"{precision}: {same} of {len(instances)} answers are the same under {first} and {other}")


if __name__ == "__main__":
    main()
