"""Logs of inspect_ai: `.eval`, a zip archive, or `.json`. Samples are paired by `id` and `epoch`.

Of an archive only `header.json` and `summaries.json` are read: ids, inputs, targets and scores. A summary has the first
5,120 characters of each text, so inputs are compared up to there. Scores are numbers as inspect_ai makes them: C is 1,
P 0.5, I and N 0, yes and true 1, no and false 0. A sample without a score, or with NaN, is not scored.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from nightjar.core.errors import NightjarError, explain, from_os_error
from nightjar.core.files import check_input
from nightjar.core.json_text import NotJson, parse, quote_short
from nightjar.harness.samples import (
    MIB,
    NO_FILTER,
    SHOWN_TEXT,
    HarnessRun,
    Sample,
    Subject,
    bounded_bytes,
    check_count,
    content_digest,
    is_number,
    json_object,
    tail_text,
)

NAME = "inspect_ai"
FORM = "give a finished log of inspect_ai, .eval or .json"
LARGEST_HEADER, LARGEST_SUMMARIES = 64 * MIB, 512 * MIB
# The compression of a member of a zip archive that the standard library of Python 3.14 reads first.
ZSTANDARD = 93
COMPARED_TEXT = 5120
SCORE_WORDS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
TRUTH_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


class InspectLog(NamedTuple):
    """One log: the task of its specification, and its samples."""

    file: Path
    specification: Mapping[str, Any]
    samples: Sequence[Any]

    @property
    def task(self) -> str:
        """The name of the task, without that of its package."""
        return str(self.specification.get("task") or "task").rpartition("/")[2]

    @property
    def created(self) -> str:
        """The time at which the log was begun."""
        return str(self.specification.get("created") or "")

    @property
    def model(self) -> str:
        """The name of the model."""
        return str(self.specification.get("model") or "")


def log_files(folder: Path) -> list[Path]:
    """Return the logs in a folder; of a JSON file the beginning tells."""
    files = sorted(folder.glob("*.eval"))
    return files + [file for file in sorted(folder.glob("*.json")) if _is_log(file)]


def _is_log(file: Path) -> bool:
    with file.open("rb") as stream:
        beginning = stream.read(200)
    return b'"version"' in beginning and b'"status"' in beginning


def read(path: Path) -> HarnessRun:
    """Read a log, or the latest log of each task in a folder."""
    latest: dict[str, InspectLog] = {}
    for log in sorted(map(read_log, log_files(path) if path.is_dir() else [path]), key=lambda it: it.created):
        latest[log.task] = log
    models = sorted({log.model for log in latest.values()})
    if len(models) > 1:
        what = f"it has logs of {len(models)} models ({', '.join(models[:5])})"
        raise NightjarError(what, path, "name one log, or a folder of one model's")
    left_out: dict[str, str] = {}
    samples = {Subject(task, NO_FILTER): _samples(log, left_out) for task, log in sorted(latest.items())}
    if not any(samples.values()):
        raise NightjarError("no sample", path, FORM)
    check_count(sum(map(len, samples.values())), path)
    versions = {
        task: str(version)
        for task, log in latest.items()
        if (version := log.specification.get("task_version")) is not None
    }
    return HarnessRun(path, NAME, models[0] or path.stem, samples, {}, left_out, versions)


def read_log(file: Path) -> InspectLog:
    """Read one log, as far as it is compared."""
    check_input(file)
    if file.suffix == ".eval":
        header, summaries = _archive_parts(file)
        record, samples = json_object(header, f"{file}, header.json", FORM), _array(summaries, file)
    else:
        record = json_object(bounded_bytes(file), file, FORM)
        samples = record.get("samples")
    specification = record.get("eval")
    if not isinstance(specification, dict):
        raise NightjarError("no key eval", file, FORM)
    if not isinstance(samples, list):
        raise NightjarError("the log has no samples", file, FORM)
    return InspectLog(file, specification, samples)


def _array(text: bytes, file: Path) -> Any:
    try:
        return parse(text, constants=True)
    except NotJson as error:
        raise NightjarError(str(error), f"{file}, summaries.json", FORM) from None


def _archive_parts(file: Path) -> tuple[bytes, bytes]:
    """Return the bytes of header.json and summaries.json."""
    try:
        with file.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            members = {member.filename: member for member in archive.infolist()}
            for name in ("header.json", "summaries.json"):
                if name not in members:
                    raise NightjarError(f"no {name}: the run has not ended", file, FORM)
            return (
                _member(archive, stream, members["header.json"], LARGEST_HEADER),
                _member(archive, stream, members["summaries.json"], LARGEST_SUMMARIES),
            )
    except OSError as error:
        raise (from_os_error(error, file) or _damaged(error, file)) from None
    # All that zipfile raises of a damaged archive, or of one that is packed or encrypted in a way it does not know.
    except (zipfile.BadZipFile, RuntimeError, ValueError, EOFError, zlib.error, struct.error) as error:
        raise _damaged(error, file) from None


def _damaged(error: Exception, file: Path) -> NightjarError:
    return NightjarError(f"not an archive that can be read ({explain(error)})", file, FORM)


def _member(archive: zipfile.ZipFile, stream: BinaryIO, member: zipfile.ZipInfo, limit: int) -> bytes:
    """Return the bytes of a member, of which no more than `limit` are ever unpacked."""
    if member.compress_type == ZSTANDARD:
        unpacked = _zstandard(stream, member, limit)
    else:
        with archive.open(member) as file:
            unpacked = file.read(limit + 1)
    if len(unpacked) > limit:
        raise NightjarError(f"more than {limit // MIB} MiB", member.filename, FORM)
    if zlib.crc32(unpacked) != member.CRC:
        raise zipfile.BadZipFile(f"the checksum of {member.filename} differs")
    return unpacked


def _zstandard(stream: BinaryIO, member: zipfile.ZipInfo, limit: int) -> bytes:
    """Unpack a member with Arrow's zstd; its local header says where its bytes begin."""
    import pyarrow as pa

    stream.seek(member.header_offset)
    header = stream.read(30)
    name_length, extra_length = struct.unpack("<HH", header[26:30])
    stream.seek(member.header_offset + 30 + name_length + extra_length)
    packed = stream.read(min(member.compress_size, limit))
    pieces, size = [], 0
    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as unpacking:
        while size <= limit and (piece := unpacking.read(min(MIB, limit + 1 - size))):
            pieces.append(piece)
            size += len(piece)
    return b"".join(pieces)


def _samples(log: InspectLog, left_out: dict[str, str]) -> list[Sample]:
    """Return the samples of a log; scores that are no numbers go to `left_out`."""
    samples, seen = [], set[tuple[str, int]]()
    for number, row in enumerate(log.samples, start=1):
        where = f"{log.file}, sample {number}"
        if not isinstance(row, dict) or not isinstance(row.get("id"), int | str):
            raise NightjarError("no id", where, FORM)
        epoch = row.get("epoch", 1)
        if not isinstance(epoch, int):
            raise NightjarError("the epoch is no number", where, FORM)
        key = (str(row["id"]), epoch)
        if key in seen:
            what = f"the sample {quote_short(key[0], quoted=False)} occurs twice in epoch {epoch}"
            raise NightjarError(what, where, FORM)
        seen.add(key)
        scores = row.get("scores") or {}
        if not isinstance(scores, dict):
            raise NightjarError("scores is no object", where, FORM)
        prompt, target = _text(row.get("input")), _target(row.get("target"))
        values, answer = _values(scores, where, log.task, left_out)
        content = content_digest(prompt[:COMPARED_TEXT], target[:COMPARED_TEXT])
        texts = tail_text(prompt[:COMPARED_TEXT]), target[:SHOWN_TEXT], answer[:SHOWN_TEXT]
        samples.append(Sample(*key, content, values, *texts))
    return samples


def _values(
    scores: Mapping[str, Any], where: str, task: str, left_out: dict[str, str]
) -> tuple[dict[str, float], str]:
    """Return the numbers of each scorer, SCORER/NAME for one that gives several, and the first answer."""
    values: dict[str, float] = {}
    answer = ""
    for scorer, score in scores.items():
        if not isinstance(score, dict) or "value" not in score:
            raise NightjarError(f"the score of {quote_short(scorer, quoted=False)} has no value", where, FORM)
        answer = answer or str(score.get("answer") or "")
        value = score["value"]
        entries = {f"{scorer}/{name}": it for name, it in value.items()} if isinstance(value, dict) else {}
        for name, entry in (entries or {scorer: value}).items():
            number = number_of(entry)
            if number is not None:
                values[name] = number
            elif entry is not None and entry == entry:  # neither missing nor NaN
                left_out[f"{task}, {name}"] = "its values are no numbers"
    return values, answer


def number_of(value: object) -> float | None:
    """Return the number of a score's value; None for what is no number, and for NaN."""
    if isinstance(value, str):
        if value in SCORE_WORDS or value.lower() in TRUTH_WORDS:
            return SCORE_WORDS.get(value, TRUTH_WORDS.get(value.lower()))
        try:
            value = float(value)
        except ValueError:
            return None
    return float(value) if isinstance(value, int | float) and is_number(value) else None


def _text(value: object) -> str:
    """Return the text of an input: a text, or the messages of a chat."""
    if isinstance(value, str):
        return value[:COMPARED_TEXT]
    texts = []
    for message in value if isinstance(value, list) else ():
        content = message.get("content") if isinstance(message, dict) else None
        pieces = content if isinstance(content, list) else [{"text": content}]
        texts += [str(it["text"])[:COMPARED_TEXT] for it in pieces if isinstance(it, dict) and it.get("text")]
    return "\n".join(texts)


def _target(value: object) -> str:
    return " | ".join(map(str, value)) if isinstance(value, list) else str(value if value is not None else "")
