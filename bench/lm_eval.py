"""`nightjar evaluate` against lm-evaluation-harness: the same prompts, weights, precision and threads, in one run.

    python -m bench.lm_eval [--questions 60] [--tasks choices problems mixed] [--venv .nightjar/lm-eval]

choices     which of two words follows a review, after 8 reviews with theirs (SST-2, --reviews FOLDER)
problems    a word problem, continued until a line break or 32 tokens (SVAMP, --problems FILE)
mixed       pieces of the sample corpus of 10 to 300 words, continued until a line break or 64 tokens

Both get the same JSON Lines, float32 and --threads. The folder --venv gets an environment with lm-evaluation-harness,
if it has none; it uses the torch and the transformers of this one. Start-up is a run of one question. Printed:
processor seconds of both with and without start-up, their most memory, and how many answers are equal. Choices whose
log-likelihoods are closer than 0.001 may differ: they count as ties. Without the published files, the sample's are
used. More questions than there are, are refused. There is no ratio without start-up where either program's seconds
without it are less than NOISE of its start-up: so much the seconds of two equal runs differ.
"""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.decode_speed import CORPUS
from bench.harness import MODEL, NIGHTJAR, ROOT, options, report

RELEASE = "lm_eval==0.4.13"
WORDS = {"0": "terrible", "1": "great"}
NEW = {"problems": 32, "mixed": 64}
TIE = 1e-3
# Questions of a task, if no number is named; seconds without start-up below this share of the start-up are noise.
MOST_QUESTIONS, NOISE = 200, 0.2

Row = Mapping[str, Any]


class ProcessCost(NamedTuple):
    """Processor seconds and most memory in MB of a process."""

    processor: float
    memory: int


def measured(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> ProcessCost:
    """Run a command to its end. Raises SystemExit with the end of its output if it fails."""
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
        _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command[0]} failed: {log.read_text(encoding='utf-8')[-800:]}")
    return ProcessCost(used.ru_utime + used.ru_stime, used.ru_maxrss // 1024)


def environment_of(folder: Path) -> Path:
    """The command of lm-evaluation-harness in an environment of its own."""
    command = folder / "bin/lm-eval"
    if not command.is_file():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        python = str(folder / "bin/python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", RELEASE], check=True)
        place = [python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"]
        packages = subprocess.run(place, check=True, capture_output=True, text=True).stdout.strip()
        # Behind its own packages: torch and transformers are those of this environment.
        (Path(packages) / "beside.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
    return command


def drawn(rows: Sequence[Any], count: int | None, place: Path, source: random.Random) -> list[Any]:
    """Return so many rows by chance. Raises SystemExit where there are fewer."""
    if count is not None and count > len(rows):
        raise SystemExit(f"{place}: it has {len(rows)} questions, not {count}; give --questions {len(rows)}")
    return source.sample(list(rows), min(MOST_QUESTIONS, len(rows)) if count is None else count)


def work_ratio(theirs: Mapping[str, ProcessCost], ours: Mapping[str, ProcessCost]) -> float | None:
    """Return the seconds without start-up of theirs divided by ours; None where either of them is noise."""
    seconds = [runs["whole"].processor - runs["start"].processor for runs in (theirs, ours)]
    if any(it < NOISE * runs["start"].processor for it, runs in zip(seconds, (theirs, ours), strict=True)):
        return None
    return seconds[0] / seconds[1]


def choices(folder: Path, count: int | None, source: random.Random) -> list[Row]:
    def read(name: str) -> list[tuple[str, str]]:
        lines = (folder / f"stsa.binary.{name}").read_text(encoding="utf-8").splitlines()
        return [(WORDS[line[0]], f"Review: {line[2:].strip()}\nIt was") for line in lines]

    demonstrations = "".join(f"{review} {word}\n\n" for word, review in source.sample(read("train"), 8))
    chosen = drawn(read("test"), count, folder / "stsa.binary.test", source)
    return [{"prompt": demonstrations + review, "answer": word} for word, review in chosen]


def problems(file: Path, count: int | None, source: random.Random) -> list[Row]:
    rows = json.loads(file.read_text(encoding="utf-8"))
    return [
        {
            "prompt": f"{row['Body'].rstrip('.')}. {row['Question']} The answer is",
            "answer": str(row["Answer"]),
        }
        for row in drawn(rows, count, file, source)
    ]


def mixed(count: int, source: random.Random) -> list[Row]:
    texts = (json.loads(line)["text"] for line in CORPUS.read_text(encoding="utf-8").splitlines())
    words = " ".join(texts).split()
    question_rows: list[Row] = []
    for _ in range(count):
        length = round(math.exp(source.uniform(math.log(10), math.log(300))))
        start = source.randrange(len(words) - length - 1)
        question_rows.append(
            {"prompt": " ".join(words[start : start + length]), "answer": words[start + length + 1]}
        )
    return question_rows


def write_task(folder: Path, name: str, rows: Sequence[Row]) -> None:
    """The questions, and the task file of either program. JSON is YAML."""
    numbered: list[Row] = [
        {"id": str(number), "label": list(WORDS.values()).index(row["answer"]) if name == "choices" else 0}
        | dict(row)
        for number, row in enumerate(rows)
    ]
    data = folder / f"{name}.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in numbered), encoding="utf-8")
    ours: dict[str, Any] = {"name": name, "data": data.name, "id": "{{ id }}", "prompt": "{{ prompt }}"}
    ours["references"] = ["{{ answer }}"]
    theirs: dict[str, Any] = {"task": name, "dataset_path": "json", "test_split": "test", "num_fewshot": 0}
    theirs |= {"dataset_kwargs": {"data_files": {"test": str(data)}}, "doc_to_text": "{{prompt}}"}
    if name == "choices":
        ours["choices"] = list(WORDS.values())
        theirs |= {"output_type": "multiple_choice", "doc_to_target": "label", "target_delimiter": " "}
        theirs |= {"doc_to_choice": list(WORDS.values()), "metric_list": [{"metric": "acc"}]}
    else:
        ours |= {"stop": ["\n"], "max_new_tokens": NEW[name]}
        generation_settings = {"until": ["\n"], "max_gen_toks": NEW[name], "do_sample": False}
        theirs |= {
            "output_type": "generate_until",
            "doc_to_target": "answer",
            "generation_kwargs": generation_settings,
        }
        theirs["metric_list"] = [{"metric": "exact_match"}]
    (folder / "ours").mkdir(exist_ok=True)
    data_beside = folder / "ours" / data.name
    data_beside.write_bytes(data.read_bytes())
    (folder / "ours" / f"{name}.yaml").write_text(json.dumps(ours), encoding="utf-8")
    (folder / "theirs").mkdir(exist_ok=True)
    (folder / "theirs" / f"{name}.yaml").write_text(json.dumps(theirs), encoding="utf-8")


def equal(name: str, ours: Path, theirs: Path) -> tuple[int, int, int]:
    """Return the number of equal answers, of ties among the others, and of all answers."""
    our_rows = {row["id"]: row for row in map(json.loads, ours.read_text(encoding="utf-8").splitlines())}
    (file,) = theirs.glob("*/samples_*.jsonl")
    same = ties = 0
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        answer = our_rows[row["doc"]["id"]]
        if name != "choices":
            same += answer["resps"][0][0] == row["resps"][0][0]
            continue
        values = [float(value[0]) for value in row["filtered_resps"]]
        likeliest = list(WORDS.values())[values.index(max(values))]
        if answer["filtered_resps"] == [likeliest]:
            same += 1
        else:
            ties += max(values) - min(values) < TIE
    return same, ties, len(rows)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--questions", type=int, help="Of each task; as many as there are, up to 200.")
    parser.add_argument("--tasks", nargs="+", choices=("choices", *NEW), default=["choices", *NEW])
    parser.add_argument("--model", type=Path, default=MODEL)
    parser.add_argument("--venv", type=Path, default=Path(".nightjar/lm-eval"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=64, help="Of Nightjar.")
    parser.add_argument(
        "--their-batch", default="16", help="Of lm-evaluation-harness, which has 1 by default."
    )
    parser.add_argument("--reviews", type=Path, default=ROOT / "data/sample/classification")
    parser.add_argument("--problems", type=Path, default=ROOT / "data/sample/tool_use/svamp/SVAMP.json")
    arguments = parser.parse_args()
    harness, source = environment_of(arguments.venv), random.Random(7)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        offline = dict.fromkeys(("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"), "1")
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(arguments.threads))
        environment = {**os.environ, **offline, **threads, "HF_HOME": str(folder / "hub")}
        model, question_makers = (
            str(arguments.model.resolve()),
            {
                "choices": lambda: choices(arguments.reviews, arguments.questions, source),
                "problems": lambda: problems(arguments.problems, arguments.questions, source),
                "mixed": lambda: mixed(arguments.questions or MOST_QUESTIONS, source),
            },
        )
        for task in arguments.tasks:
            write_task(folder, task, question_makers[task]())
            ours = [*NIGHTJAR, "evaluate", "--model", model, "--task", str(folder / f"ours/{task}.yaml")]
            ours += [
                "--precision",
                "float32",
                "--threads",
                str(arguments.threads),
                "--batch-size",
                str(arguments.batch),
            ]
            theirs = [
                str(harness),
                "run",
                "--model",
                "hf",
                "--model_args",
                f"pretrained={model},dtype=float32",
            ]
            theirs += ["--device", "cpu", "--tasks", task, "--include_path", str(folder / "theirs")]
            theirs += ["--batch_size", arguments.their_batch, "--log_samples"]
            runs = {}
            for who, words, place, limit in (
                ("ours", ours, "--output", "1"),
                ("theirs", theirs, "--output_path", "1"),
            ):
                for part, more in (("start", ["--limit", limit]), ("whole", [])):
                    output = folder / f"{task}-{who}-{part}"
                    runs[who, part] = measured(
                        [*words, place, str(output), *more], folder / "log", environment
                    )
            same, ties, count = equal(
                task, folder / f"{task}-ours-whole/samples_{task}.jsonl", folder / f"{task}-theirs-whole"
            )
            for (who, part), run in runs.items():
                print(f"{task}, {who}, {part}: {run.processor:.1f} processor seconds, {run.memory:,} MB")
            beside = f"{same} of {count} answers equal" + (f", {ties} ties" if ties else "")
            against = f"lm-eval, batches of {arguments.their_batch}"
            memory = f"{runs['ours', 'whole'].memory:,} MB against {runs['theirs', 'whole'].memory:,}"
            by_part = [{part: runs[who, part] for part in ("start", "whole")} for who in ("theirs", "ours")]
            ratio = work_ratio(*by_part)
            if ratio is None:
                print(f"{task}, without start-up: no ratio, too few questions to measure; {beside}")
            else:
                report(f"{task}, without start-up", against, "processor", ratio, beside)
            command_ratio = runs["theirs", "whole"].processor / runs["ours", "whole"].processor
            report(f"{task}, whole command", against, "processor", command_ratio, memory)
            start = runs["theirs", "start"].processor / runs["ours", "start"].processor
            report(f"{task}, start-up", against, "processor", start, "a run of one question")


if __name__ == "__main__":
    main()
