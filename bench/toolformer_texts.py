"""Texts of public data sets for a real run of Toolformer: documents to annotate, passages for the tools, evaluations.

    python -m bench.toolformer_texts --input PATH --output DIR [--seed 42]

PATH has the folders natural-instructions, tool-benchmarks and corpora/wikitext-2 as docs/results.md names them. Writes

    DIR/documents   texts to annotate and to train on: word problems of MAWPS and AI2 (tasks 745, 866, 867 and 868 of
                    Super-NaturalInstructions), statements of T-REx, questions of WebQuestions' training part,
                    paragraphs of WikiText-2's validation part, inputs of other tasks, and parts of news of August
                    1996 (task 610, CoNLL-2003) that name a time, with their date for the tool Calendar
    DIR/passages    what the tools search: the other sentences of T-REx and the snippets of Google-RE
    DIR/reading     train.json, dev.json and test.json: questions with passages in SQuAD's form that train a reader for
                    the tool QA, of T-REx and three reading tasks; see bench/reading_pairs.py
    DIR/evaluation  the evaluations, without the subjects of T-REx that are in DIR/documents

No text of an evaluation is a document. A sentence of T-REx that is a statement, in a document or in the evaluation, is
in no passage. A snippet of Google-RE has the sentence that is asked for: it is an article of the person, as in the
paper's Wikipedia.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from bench import dated_texts, reading_pairs
from bench.harness import options
from bench.public_sets import google_re, tasks, trained, trex, words
from nightjar.benchmarks.tool_use.formats import load_asdiv, load_svamp

WORD_PROBLEMS = ("task745_", "task866_", "task867_", "task868_")
# Documents of each kind, and words of the longest.
PROBLEMS, STATEMENTS, QUESTIONS, PARAGRAPHS, INPUTS, WORDS = 1000, 2500, 300, 300, 300, 90
ARTICLES = 12  # of WikiText-2's test part: their perplexity is measured
OWN = ("asdiv", "svamp", "webquestions", "nq-open")  # evaluations that are used as they are


def word_problems(source: Path) -> Iterator[str]:
    """Word problems with their answers; those that ASDiv or SVAMP has too are left out."""
    evaluated = set()
    for load in (load_asdiv, load_svamp):
        for record in load(source / "tool-benchmarks"):
            if parts := getattr(record, "parts", None):
                evaluated.add(words(f"{parts['body']} {parts['question']}"))
    for problem, answer in tasks(source / "natural-instructions/tasks", WORD_PROBLEMS):
        problem = re.sub(r"\s+([.,?!])", r"\1", problem)
        if re.fullmatch(r"-?\d+(\.\d+)?", answer) and words(problem) not in evaluated:
            evaluated.add(words(problem))
            yield f"{problem} The answer is {float(answer):g}."


def drawn(seed: int, texts: Iterable[str], limit: int) -> list[str]:
    """At most `limit` of the distinct texts of fitting length, in random order."""
    distinct = sorted({text for text in texts if 5 <= len(text.split()) <= WORDS})
    return random.Random(seed).sample(distinct, min(limit, len(distinct)))


def documents(source: Path, seed: int) -> Iterator[tuple[str, str]]:
    """Kind and text of each document."""
    benchmarks = source / "tool-benchmarks"
    for text in drawn(seed, word_problems(source), PROBLEMS):
        yield "word_problem", text
    statements = (
        statement for *_, row, _, statement in trex(source) if statement and trained(row["sub_uri"])
    )
    for text in drawn(seed, statements, STATEMENTS):
        yield "statement", text
    rows = json.loads((benchmarks / "webquestions/trainmodel.json").read_text("utf-8"))
    question_texts = (f"Answer the following question: {row['qText']} {row['answers'][0]}." for row in rows)
    for text in drawn(seed, question_texts, QUESTIONS):
        yield "question", text
    wikitext = (source / "corpora/wikitext-2/valid.txt").read_text("utf-8").splitlines()
    paragraphs = (line.strip() for line in wikitext if "<unk>" not in line and not line.startswith(" ="))
    for text in drawn(seed, paragraphs, PARAGRAPHS):
        yield "wikitext", text
    names = (source / "natural-instructions/splits/default/train_tasks.txt").read_text("utf-8").split()
    others = [name for name in names if not name.startswith(WORD_PROBLEMS) and "question_answer" not in name]
    inputs = (text for text, _ in tasks(source / "natural-instructions/tasks", others))
    for text in drawn(seed, (text for text in inputs if "\n" not in text), INPUTS):
        yield "input", text


def passages(source: Path) -> Iterator[tuple[str, str]]:
    """Title and text of each passage: sentences on a subject of T-REx, and on a person of Google-RE."""
    statements: set[str] = set()
    subjects: dict[str, dict[str, None]] = {}
    for *_, row, sentences, statement in trex(source):
        statements.update([words(statement)] if statement else [])
        subjects.setdefault(row["sub_label"], {}).update(dict.fromkeys(sentences))
    for subject, subject_sentences in subjects.items():
        for text in subject_sentences:
            if words(text) not in statements:
                yield subject, text
    for row in google_re(source):
        yield from ((row["sub_label"], evidence["snippet"]) for evidence in row["evidences"])


def evaluation(source: Path, output: Path) -> None:
    """The folders of the evaluations: links, but for T-REx and WikiText, which are cut."""
    for name in OWN:
        (output / name).symlink_to((source / "tool-benchmarks" / name).resolve())
    for name in ("Squad", "Google_RE"):
        (output / "lama" / name).symlink_to((source / "tool-benchmarks/lama" / name).resolve())
    for path, line, row, _, statement in trex(source):
        if statement and not trained(row["sub_uri"]):
            with (output / "lama/TREx" / path.name).open("a", encoding="utf-8") as file:
                file.write(line + "\n")
    text = (source / "corpora/wikitext-2/test.txt").read_text("utf-8")
    articles = re.split(r"(?m)^(?= = [^=])", text)
    (output / "wikitext/test.txt").write_text("".join(articles[: ARTICLES + 1]), "utf-8")


def main() -> None:
    """Write the four folders; a folder that is there is an error."""
    parser = options(__doc__)
    parser.add_argument("--input", type=Path, required=True, metavar="PATH")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--seed", type=int, default=42)
    arguments = parser.parse_args()
    if arguments.output.exists():
        parser.error(f"{arguments.output} exists: give a new folder")
    for name in ("documents", "passages", "reading", "evaluation/lama/TREx", "evaluation/wikitext"):
        (arguments.output / name).mkdir(parents=True)
    with (arguments.output / "documents/documents.jsonl").open("w", encoding="utf-8") as file:
        undated = [(kind, text, None) for kind, text in documents(arguments.input, arguments.seed)]
        dated = [("dated", text, day) for day, text in dated_texts.drawn(arguments.input, arguments.seed)]
        for number, (kind, text, day) in enumerate((*undated, *dated)):
            row = {"id": f"{kind}-{number:05d}", "title": "", "text": text}
            if day is not None:
                row["url"] = f"https://example.com/{day:%Y/%m/%d}/{row['id']}"
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    with (arguments.output / "passages/passages.jsonl").open("w", encoding="utf-8") as file:
        for number, (title, text) in enumerate(dict.fromkeys(passages(arguments.input))):
            row = {"id": f"passage-{number:06d}", "title": title, "text": text}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    reading_pairs.write(arguments.input, arguments.output / "reading", arguments.seed)
    evaluation(arguments.input, arguments.output / "evaluation")


if __name__ == "__main__":
    main()
