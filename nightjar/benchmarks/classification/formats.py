"""The file formats of the data sets: which files they have, and how a line becomes a label and a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Literal

from nightjar.benchmarks.classification.splits import Sentence, Sizes, Split, divide, with_dev
from nightjar.benchmarks.classification.tasks import LABELS, PAIR, of_code
from nightjar.benchmarks.question import Record, Refused
from nightjar.benchmarks.source_rows import InvalidRow, json_row, need, read_bytes
from nightjar.core.errors import NightjarError
from nightjar.core.json_text import is_text, quote_short

# Blanks around a sentence. Not str.strip(): in Latin-1 files a dash or a dot of Windows is a control character.
_BLANKS = " \t\r"


@dataclass(frozen=True)
class DatasetFile:
    """A file of a format: its split (None: the set has no published splits), and the label of all its sentences."""

    file: str
    split: Split | None = None
    label: str | None = None


@dataclass(frozen=True)
class Format:
    """One published format of a task's data set.

    `read` makes (label code, sentence) of a line, and the id if the line has one; `header` is a first line that is
    skipped. `encoding`: "utf-8", or "latin-1" for files in that encoding, which are read as UTF-8 if all of their
    bytes are. `sizes`: those of the splits where none are published; test splits of 2,000 are LM-BFF's. `more` are
    files that a set may lack.
    """

    task: str
    parts: tuple[DatasetFile, ...]
    read: Callable[[str], tuple[str, str] | tuple[str, str, str]]
    encoding: Literal["utf-8", "latin-1"] = "utf-8"
    header: tuple[str, ...] = ()
    sizes: Sizes = field(default_factory=lambda: Sizes(2000))
    more: tuple[str, ...] = ()

    @property
    def required(self) -> tuple[str, ...]:
        """The files without which the set is not complete: all but the dev split and `more`."""
        return tuple(part.file for part in self.parts if part.split != "dev" and part.file not in self.more)


def _label_first(line: str) -> tuple[str, str]:
    """LABEL text."""
    label, _, text = line.strip(_BLANKS).partition(" ")
    return label, text


def _coarse_first(line: str) -> tuple[str, str]:
    """COARSE:fine text; the fine label is not read."""
    label, text = _label_first(line)
    coarse, colon, _ = label.partition(":")
    if not colon:
        raise InvalidRow("no label COARSE:fine before the sentence")
    return coarse, text


def _sentence_only(line: str) -> tuple[str, str]:
    return "", line


def _tabs(line: str) -> tuple[str, str]:
    """Sentence TAB label, or the four columns of CoLA: source, label, the author's mark, sentence."""
    cells = line.split("\t")
    if len(cells) not in (2, 4):
        raise InvalidRow(f"{len(cells)} columns instead of 2 or 4")
    return (cells[1], cells[3]) if len(cells) == 4 else (cells[1], cells[0])


def _pair(line: str) -> tuple[str, str]:
    """Index, two sentences and label, or MRPC's label, two ids and two sentences, with tabs between (GLUE)."""
    cells = [cell.strip(_BLANKS) for cell in line.split("\t")]
    if len(cells) not in (4, 5):
        raise InvalidRow(f"{len(cells)} columns instead of 4 or 5")
    label, first, second = (cells[0], *cells[3:]) if len(cells) == 5 else (cells[3], *cells[1:3])
    if not (first and second):
        raise InvalidRow("a sentence of the pair is blank")
    return label, first + PAIR + second


def _comma(line: str) -> tuple[str, str]:
    """label,text: as published split at the first comma. A text in quotes, as pandas writes it, loses them."""
    label, comma, text = line.strip(_BLANKS).partition(",")
    if not comma:
        raise InvalidRow("no comma after the label")
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].replace('""', '"')
    return label, text


def _claim(line: str) -> tuple[str, str, str]:
    """A JSON object with id, label and claim."""
    row = json_row(1, line.encode())
    if row.fault:
        raise InvalidRow(row.fault)
    id = row.value.get("id")
    if isinstance(id, bool) or not (isinstance(id, int) or (is_text(id) and id)):
        raise InvalidRow("id is not a number or a text" if "id" in row.value else "no id")
    label, claim = (need(row.value, key) for key in ("label", "claim"))
    for name, value in (("label", label), ("claim", claim)):
        if not is_text(value):
            raise InvalidRow(f"{name} is not a text")
    return label, claim, str(id)


def _splits(pattern: str, *splits: Split) -> tuple[DatasetFile, ...]:
    return tuple(DatasetFile(pattern.format(split), split) for split in splits)


def _tested_by_dev(folder: str) -> tuple[DatasetFile, ...]:
    """The files of GLUE, whose test labels are not published: the published dev split tests."""
    return DatasetFile(f"{folder}/train.tsv", "train"), DatasetFile(f"{folder}/dev.tsv", "test")


def _two(negative: str, positive: str, first: str, second: str) -> tuple[DatasetFile, ...]:
    return DatasetFile(negative, label=first), DatasetFile(positive, label=second)


_ALL: tuple[Split, ...] = ("train", "dev", "test")
_GLUE = partial(Format, read=_pair)
_CSV = partial(Format, read=_comma, header=("label,text", "label,sentence"))
FORMATS = (
    Format("sst2", _splits("stsa.binary.{}", *_ALL), _label_first),
    Format("sst2", _tested_by_dev("SST-2"), _tabs, header=("sentence\tlabel",)),
    Format("sst5", _splits("stsa.fine.{}", *_ALL), _label_first),
    _CSV("sst5", _splits("sst-5/{}.csv", *_ALL)),
    Format("cola", (DatasetFile("cola.train.tsv", "train"), DatasetFile("cola.dev.tsv", "test")), _tabs),
    Format("cola", _tested_by_dev("CoLA"), _tabs),
    Format("trec", _splits("TREC.{}", "train", "test"), _coarse_first, "latin-1"),
    _CSV("trec", _splits("trec/{}.csv", *_ALL)),
    Format("cr", _two("custrev.neg", "custrev.pos", "negative", "positive"), _sentence_only, "latin-1"),
    _CSV("cr", _splits("cr/{}.csv", *_ALL)),
    Format(
        "mr", _two("rt-polarity.neg", "rt-polarity.pos", "negative", "positive"), _sentence_only, "latin-1"
    ),
    _CSV("mr", _splits("mr/{}.csv", *_ALL)),
    Format("mpqa", _two("mpqa.neg", "mpqa.pos", "negative", "positive"), _sentence_only, "latin-1"),
    _CSV("mpqa", _splits("mpqa/{}.csv", *_ALL)),
    Format(
        "subj",
        _two("subj.subjective", "subj.objective", "subjective", "objective"),
        _sentence_only,
        "latin-1",
    ),
    _CSV("subj", _splits("subj/{}.csv", *_ALL)),
    # The sizes of Guo et al. 2023. Without its own training file, the set is divided.
    Format(
        "fever",
        (DatasetFile("fever.train.jsonl", "train"), DatasetFile("fever.paper_dev.jsonl")),
        _claim,
        sizes=Sizes(1000, 5000),
        more=("fever.train.jsonl",),
    ),
    _GLUE("rte", _tested_by_dev("RTE"), header=("index\tsentence1\tsentence2\tlabel",)),
    _GLUE("qnli", _tested_by_dev("QNLI"), header=("index\tquestion\tsentence\tlabel",)),
    _GLUE("mrpc", _tested_by_dev("MRPC"), header=("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String",)),
)


def load(folder: Path, encodings: Mapping[str, str] | None = None) -> Iterator[Record | Refused]:
    """The rows of the data sets whose files are in `folder`, task by task; a missing set is skipped.

    A record's parts are `text` and `side`, its split (train, dev, test, rest). Its reference is its label's name.
    `encodings`: pattern of a file's path in `folder`, such as "*.pos", to its encoding. Raises NightjarError if no set
    is there, one is not complete or there in two formats, a pattern matches no file, or a file cannot be read.
    """
    encodings = encodings or {}
    present = [format for task in LABELS if (format := _format(folder, task))]
    if not present:
        file_names = ", ".join(format.required[-1] for format in FORMATS)
        raise NightjarError("no data set of classification", folder, f"put one in it, such as {file_names}")
    files = [part.file for format in present for part in format.parts]
    for pattern in encodings:
        if not any(fnmatchcase(file, pattern) for file in files):
            what = f"ingest.classification.encodings has {quote_short(pattern)}, which matches no file"
            raise NightjarError(what, folder, f"files are {', '.join(files)}")
    for format in present:
        yield from _records(folder, format, encodings)


def _format(folder: Path, task: str) -> Format | None:
    """The format of the task's set; None if it is missing."""
    formats = [format for format in FORMATS if format.task == task]
    present = [format for format in formats if any((folder / part.file).exists() for part in format.parts)]
    if len(present) > 1:
        files = " and ".join(format.required[0] for format in present)
        raise NightjarError(f"{task} has two formats, {files}", folder, "remove one of them")
    for name in present[0].required if present else ():
        if not (folder / name).exists():
            have = next(part.file for part in present[0].parts if (folder / part.file).exists())
            raise NightjarError(f"{have} is there without {name}", folder, f"add {name}, or remove {have}")
    return present[0] if present else None


def _records(folder: Path, format: Format, encodings: Mapping[str, str]) -> Iterator[Record | Refused]:
    published: dict[Split | None, list[Sentence]] = {}
    for part in format.parts:
        if (folder / part.file).exists():
            accepted = published.setdefault(part.split, [])
            for row in sentences(folder, format, part, encodings):
                if isinstance(row, Refused):
                    yield row
                else:
                    accepted.append(row)
    for split, split_sentences in _split(format, published).items():
        for sentence in split_sentences:
            yield Record(
                format.task,
                sentence.id,
                sentence.file,
                {"text": sentence.text, "side": split},
                (sentence.label,),
            )


def _split(format: Format, published: Mapping[Split | None, list[Sentence]]) -> dict[Split, list[Sentence]]:
    if None in published:
        return divide(published[None], format.sizes, published.get("train"))
    splits: dict[Split, list[Sentence]] = {split: rows for split, rows in published.items() if split}
    return splits if "dev" in splits else splits | with_dev(splits["train"])


def sentences(
    folder: Path, format: Format, part: DatasetFile, encodings: Mapping[str, str]
) -> Iterator[Sentence | Refused]:
    """Every line of a file as a sentence, or refused with the reason; a header is neither.

    `encodings`: pattern of a file's path in `folder` to its encoding, before the default.
    """
    content = read_bytes(folder / part.file)
    encoding = _encoding(format, part.file, content, encodings)
    for number, raw in enumerate(content.removesuffix(b"\n").split(b"\n") if content else [], start=1):
        try:
            line = raw.decode(encoding)
        except UnicodeDecodeError as error:
            byte = f"byte {error.start + 1} of the line, 0x{raw[error.start]:02x}"
            fix = f"set ingest.classification.encodings to {{{json.dumps(part.file)}: latin-1}}, or to its encoding"
            raise NightjarError(f"not {encoding} ({byte})", f"{folder / part.file}:{number}", fix) from None
        line = line.removeprefix("\ufeff") if number == 1 else line
        if number == 1 and line.strip(_BLANKS) in format.header:
            continue
        try:
            yield _sentence(format, part, number, line)
        except InvalidRow as error:
            yield Refused(part.file, str(error), line, f"{part.file}:{number}")


def _sentence(format: Format, part: DatasetFile, number: int, line: str) -> Sentence:
    if not line.strip():
        raise InvalidRow("a blank line")
    code, text, *id = format.read(line)
    text = text.strip(_BLANKS)
    if not text.strip():
        raise InvalidRow("the sentence is blank")
    label = part.label
    if label is None:
        coded_label = of_code(format.task, code.strip(_BLANKS))
        if coded_label is None:
            codes = ", ".join(code for one in LABELS[format.task] for code in one.codes)
            raise InvalidRow(f"the label is none of {codes}")
        label = coded_label.name
    return Sentence(part.file, number, text, label, *(id or [f"{part.file}:{number}"]))


def _encoding(format: Format, file: str, content: bytes, encodings: Mapping[str, str]) -> str:
    for pattern, encoding in encodings.items():
        if fnmatchcase(file, pattern):
            return encoding
    if format.encoding == "latin-1":
        try:
            content.decode("utf-8")
        except UnicodeDecodeError:
            return "latin-1"
    return "utf-8"
