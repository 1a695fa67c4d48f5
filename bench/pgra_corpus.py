"""A corpus of public texts for a real run of PGRA: paragraphs of WikiText-2 and inputs of tasks.

    python -m bench.pgra_corpus --input PATH --output DIR [--paragraphs 600] [--inputs 40] [--sentences 0] [--seed 42]

PATH has the folders natural-instructions and corpora/wikitext-2 as docs/results.md names them. Writes
DIR/documents.jsonl: at most `--paragraphs` paragraphs of WikiText-2, and at most `--inputs` inputs of each English
task of Super-NaturalInstructions. Both are drawn by the seed; none is longer than 90 words. With `--sentences` also at
most so many training sentences of each task of data/ingest/classification, without their labels.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from bench.harness import options
from bench.toolformer_texts import drawn
from nightjar.benchmarks import records
from nightjar.benchmarks.classification.tasks import NAME
from nightjar.core import paths


def documents(
    source: Path, paragraphs: int, inputs: int, sentences: int, seed: int
) -> Iterator[tuple[str, str]]:
    """Source and text of each document."""
    files = sorted((source / "corpora/wikitext-2").glob("*.txt"))
    lines = (line.strip() for file in files for line in file.read_text("utf-8").splitlines())
    for text in drawn(
        seed, (line for line in lines if "<unk>" not in line and not line.startswith("=")), paragraphs
    ):
        yield "wikitext", text
    for path in sorted((source / "natural-instructions/tasks").glob("*.json")):
        task = json.loads(path.read_text("utf-8"))
        if task["Input_language"] == ["English"]:
            for text in drawn(seed, (it["input"].strip() for it in task["Instances"]), inputs):
                yield path.stem, text
    by_task: dict[str, list[str]] = {}
    for sentence in records.questions(NAME, paths.INGESTED / NAME) if sentences else ():
        if sentence.parts["side"] == "train":
            by_task.setdefault(sentence.task_id, []).append(str(sentence.parts["text"]))
    for name, texts in by_task.items():
        for text in drawn(seed, texts, sentences):
            yield name, text


def main() -> None:
    """Write the corpus; a folder that is there is an error."""
    parser = options(__doc__)
    parser.add_argument("--input", type=Path, required=True, metavar="PATH")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--paragraphs", type=int, default=600)
    parser.add_argument("--inputs", type=int, default=40)
    parser.add_argument("--sentences", type=int, default=0)
    parser.add_argument("--seed", type=int, default=42)
    arguments = parser.parse_args()
    if arguments.output.exists():
        parser.error(f"{arguments.output} exists: give a new folder")
    arguments.output.mkdir(parents=True)
    with (arguments.output / "documents.jsonl").open("w", encoding="utf-8") as file:
        texts = documents(
            arguments.input, arguments.paragraphs, arguments.inputs, arguments.sentences, arguments.seed
        )
        for number, (name, text) in enumerate(texts):
            row = {"id": f"{name}-{number:05d}", "title": "", "text": text}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
