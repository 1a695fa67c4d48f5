"""The published forms of the data sets: which files they have, and how a line becomes a label and a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, Literal

from nightjar.benchmarks.classification.labels import LABELS, PAIR, of_code
from nightjar.benchmarks.classification.sides import Sentence, Side, Sizes
from nightjar.benchmarks.question import Refused
from nightjar.core.errors import NightjarError, from_os_error
from nightjar.core.files import check_input
from nightjar.core.json_text import NotJson, doubled_key, exact, is_text, shown

# Blanks around a sentence. Not str.strip(): in Latin-1 files a dash or a dot of Windows is a control character.
_BLANKS = " \t\r"


class Unfit(ValueError):
    """A line that cannot be used; the message is the reason."""


@dataclass(frozen=True)
class Part:
    """A file of a form: its side (None: the set has no published split), and the label of all its sentences."""

    file: str
    side: Side | None = None
    label: str | None = None


@dataclass(frozen=True)
class Form:
    """One published form of a task's data set.

    `read` makes (label code, sentence) of a line, and the id if the line has one; `header` is a first line that is
    skipped. `encoding`: "utf-8", or "latin-1" for files in that encoding, which are read as UTF-8 if all of their
    bytes are. `sizes`: those of the sides where no split is published; test sides of 2,000 are LM-BFF's. `more` are
    files that a set may lack.
    """

    task: str
    parts: tuple[Part, ...]
    read: Callable[[str], tuple[str, str] | tuple[str, str, str]]
    encoding: Literal["utf-8", "latin-1"] = "utf-8"
    header: tuple[str, ...] = ()
    sizes: Sizes = field(default_factory=lambda: Sizes(2000))
    more: tuple[str, ...] = ()

    @property
    def required(self) -> tuple[str, ...]:
        """The files without which the set is not complete: all but the dev side and `more`."""
        return tuple(part.file for part in self.parts if part.side != "dev" and part.file not in self.more)


def _label_first(line: str) -> tuple[str, str]:
    """LABEL text."""
    label, _, text = line.strip(_BLANKS).partition(" ")
    return label, text


def _coarse_first(line: str) -> tuple[str, str]:
    """COARSE:fine text; the fine label is not read."""
    label, text = _label_first(line)
    coarse, colon, _ = label.partition(":")
    if not colon:
        raise Unfit("no label COARSE:fine before the sentence")
    return coarse, text


def _sentence_only(line: str) -> tuple[str, str]:
    return "", line


def _tabs(line: str) -> tuple[str, str]:
    """Sentence TAB label, or the four columns of CoLA: source, label, the author's mark, sentence."""
    cells = line.split("\t")
    if len(cells) not in (2, 4):
        raise Unfit(f"{len(cells)} columns instead of 2 or 4")
    return (cells[1], cells[3]) if len(cells) == 4 else (cells[1], cells[0])


def _pair(line: str) -> tuple[str, str]:
    """Index, two sentences and label, or MRPC's label, two ids and two sentences, with tabs between (GLUE)."""
    cells = [cell.strip(_BLANKS) for cell in line.split("\t")]
    if len(cells) not in (4, 5):
        raise Unfit(f"{len(cells)} columns instead of 4 or 5")
    label, first, second = (cells[0], *cells[3:]) if len(cells) == 5 else (cells[3], *cells[1:3])
    if not (first and second):
        raise Unfit("a sentence of the pair is blank")
    return label, first + PAIR + second


def _comma(line: str) -> tuple[str, str]:
    """label,text: as published split at the first comma. A text in quotes, as pandas writes it, loses them."""
    label, comma, text = line.strip(_BLANKS).partition(",")
    if not comma:
        raise Unfit("no comma after the label")
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].replace('""', '"')
    return label, text


def _claim(line: str) -> tuple[str, str, str]:
    """A JSON object with id, label and claim."""
    try:
        row = exact(line.encode())
    except NotJson as error:
        raise Unfit(str(error)) from None
    if not isinstance(row, dict):
        raise Unfit("not an object")
    if (key := doubled_key(row)) is not None:
        raise Unfit(f"the key {shown(key)} occurs twice")
    return _text(row, "label"), _text(row, "claim"), str(_id(row))


def _text(row: Mapping[str, Any], key: str) -> str:
    if not is_text(row.get(key)):
        raise Unfit(f"{key} is not a text" if key in row else f"no {key}")
    return str(row[key])


def _id(row: Mapping[str, Any]) -> int | str:
    id = row.get("id")
    if isinstance(id, bool) or not (isinstance(id, int) or (is_text(id) and id)):
        raise Unfit("id is not a number or a text" if "id" in row else "no id")
    return id


def _sides(pattern: str, *sides: Side) -> tuple[Part, ...]:
    return tuple(Part(pattern.format(side), side) for side in sides)


def _tested_by_dev(folder: str) -> tuple[Part, ...]:
    """Of GLUE, where the labels of the test side are not published: the published dev side tests."""
    return Part(f"{folder}/train.tsv", "train"), Part(f"{folder}/dev.tsv", "test")


def _two(negative: str, positive: str, first: str, second: str) -> tuple[Part, ...]:
    return Part(negative, label=first), Part(positive, label=second)


_ALL: tuple[Side, ...] = ("train", "dev", "test")
_GLUE = partial(Form, read=_pair)
_CSV = partial(Form, read=_comma, header=("label,text", "label,sentence"))
FORMS = (
    Form("sst2", _sides("stsa.binary.{}", *_ALL), _label_first),
    Form("sst2", _tested_by_dev("SST-2"), _tabs, header=("sentence\tlabel",)),
    Form("sst5", _sides("stsa.fine.{}", *_ALL), _label_first),
    _CSV("sst5", _sides("sst-5/{}.csv", *_ALL)),
    Form("cola", (Part("cola.train.tsv", "train"), Part("cola.dev.tsv", "test")), _tabs),
    Form("cola", _tested_by_dev("CoLA"), _tabs),
    Form("trec", _sides("TREC.{}", "train", "test"), _coarse_first, "latin-1"),
    _CSV("trec", _sides("trec/{}.csv", *_ALL)),
    Form("cr", _two("custrev.neg", "custrev.pos", "negative", "positive"), _sentence_only, "latin-1"),
    _CSV("cr", _sides("cr/{}.csv", *_ALL)),
    Form("mr", _two("rt-polarity.neg", "rt-polarity.pos", "negative", "positive"), _sentence_only, "latin-1"),
    _CSV("mr", _sides("mr/{}.csv", *_ALL)),
    Form("mpqa", _two("mpqa.neg", "mpqa.pos", "negative", "positive"), _sentence_only, "latin-1"),
    _CSV("mpqa", _sides("mpqa/{}.csv", *_ALL)),
    Form(
        "subj",
        _two("subj.subjective", "subj.objective", "subjective", "objective"),
        _sentence_only,
        "latin-1",
    ),
    _CSV("subj", _sides("subj/{}.csv", *_ALL)),
    # The sizes of Guo et al. 2023. Without its own training file, the set is divided.
    Form(
        "fever",
        (Part("fever.train.jsonl", "train"), Part("fever.paper_dev.jsonl")),
        _claim,
        sizes=Sizes(1000, 5000),
        more=("fever.train.jsonl",),
    ),
    _GLUE("rte", _tested_by_dev("RTE"), header=("index\tsentence1\tsentence2\tlabel",)),
    _GLUE("qnli", _tested_by_dev("QNLI"), header=("index\tquestion\tsentence\tlabel",)),
    _GLUE("mrpc", _tested_by_dev("MRPC"), header=("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String",)),
)


def sentences(
    folder: Path, form: Form, part: Part, encodings: Mapping[str, str]
) -> Iterator[Sentence | Refused]:
    """Every line of a file as a sentence, or refused with the reason; a header is neither.

    `encodings`: pattern of a file's path in `folder` to its encoding, before the default. Raises NightjarError if the
    file cannot be read or is not in its encoding.
    """
    content = _read(folder / part.file)
    encoding = _encoding(form, part.file, content, encodings)
    for number, raw in enumerate(content.removesuffix(b"\n").split(b"\n") if content else [], start=1):
        try:
            line = raw.decode(encoding)
        except UnicodeDecodeError as error:
            byte = f"byte {error.start + 1} of the line, 0x{raw[error.start]:02x}"
            fix = f"set ingest.classification.encodings to {{{json.dumps(part.file)}: latin-1}}, or to its encoding"
            raise NightjarError(f"not {encoding} ({byte})", f"{folder / part.file}:{number}", fix) from None
        line = line.removeprefix("\ufeff") if number == 1 else line
        if number == 1 and line.strip(_BLANKS) in form.header:
            continue
        try:
            yield _sentence(form, part, number, line)
        except Unfit as error:
            yield Refused(part.file, str(error), line, f"{part.file}:{number}")


def _sentence(form: Form, part: Part, number: int, line: str) -> Sentence:
    if not line.strip():
        raise Unfit("a blank line")
    code, text, *id = form.read(line)
    text = text.strip(_BLANKS)
    if not text.strip():
        raise Unfit("the sentence is blank")
    label = part.label
    if label is None:
        found = of_code(form.task, code.strip(_BLANKS))
        if found is None:
            known = ", ".join(code for one in LABELS[form.task] for code in one.codes)
            raise Unfit(f"the label is none of {known}")
        label = found.name
    return Sentence(part.file, number, text, label, *(id or [f"{part.file}:{number}"]))


def _encoding(form: Form, file: str, content: bytes, encodings: Mapping[str, str]) -> str:
    for pattern, encoding in encodings.items():
        if fnmatchcase(file, pattern):
            return encoding
    if form.encoding == "latin-1":
        try:
            content.decode("utf-8")
        except UnicodeDecodeError:
            return "latin-1"
    return "utf-8"


def _read(path: Path) -> bytes:
    check_input(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise from_os_error(error, path) or error from None
