"""The file formats of tool_use's data sets, each in a folder of its own, and `load`, which reads those that are there.

The paper names no part of the open questions. The parts that are read are those that question answering systems report.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from nightjar.benchmarks.question import Record, Refused
from nightjar.benchmarks.source_rows import (
    FIX,
    InvalidRow,
    JsonObject,
    SourceRow,
    distinct,
    files_of,
    items,
    json_lines,
    json_list,
    json_value,
    objects,
    objects_of,
    read_text,
    records,
    text,
)
from nightjar.benchmarks.tool_use.running_text import load_held_out, load_wikitext
from nightjar.benchmarks.tool_use.tasks import (
    ASDIV,
    GOOGLE_RE,
    LANGUAGES,
    MAWPS,
    NATURAL_QUESTIONS,
    SQUAD,
    SVAMP,
    TEMPLAMA,
    TREX,
    TRIVIA_QA,
    WEB_QUESTIONS,
)
from nightjar.core.errors import NightjarError

Rows = Iterator[Record | Refused]
LAMA_MASK, TEMPLAMA_MASK = "[MASK]", "_X_"
# Task: the folder of its files in lama/, and the key of the ids.
_LAMA_PARTS = {SQUAD: ("Squad", "id"), GOOGLE_RE: ("Google_RE", "uuid"), TREX: ("TREx", "uuid")}
# Elements of ASDiv.xml within one another; the published file has four.
_MAX_DEPTH = 20


def load(folder: Path) -> Rows:
    """The rows of the data sets whose folders are in `folder`, one after another; a missing one is skipped.

    Raises NightjarError if all of them are missing, one has none of its files, or a file cannot be read.
    """
    present = [name for name in LOADERS if (folder / name).is_dir()]
    if not present:
        fix = f"put at least one of {', '.join(LOADERS)} in it"
        raise NightjarError("no data set of tool_use", folder, fix)
    for name in present:
        yield from LOADERS[name](folder)


def load_lama(folder: Path) -> Rows:
    """LAMA (Petroni et al. 2019): the files *.jsonl in lama/Squad, Google_RE and TREx; a missing folder is skipped.

    A statement whose mask is not the final token is refused (Schick et al. 2023, section 4.2). Signs may follow the
    mask, such as a full stop. What the paper does not say, and is chosen here:
    - The statements are the masked sentences of the files, not the templates of relations.jsonl, because the paper
      leaves out single examples. A row of SQuAD and Google-RE has one or more sentences of one text, which are joined.
      A row of T-REx is one fact, with sentences of several texts: the first that ends in its mask is taken.
    - The reference is `obj_label`; aliases are not read.
    """
    paths = {
        task: sorted((folder / "lama" / name).glob("*.jsonl")) for task, (name, _) in _LAMA_PARTS.items()
    }
    if not any(paths.values()):
        names = ", ".join(name for name, _ in _LAMA_PARTS.values())
        raise NightjarError("no files *.jsonl of LAMA", folder / "lama", f"put at least one of {names} in it")
    for task, files in paths.items():
        ids: set[str] = set()
        for path in files:
            file = path.relative_to(folder).as_posix()
            yield from records(file, json_lines(path), _LAMA_PARTS[task][1], partial(_lama, task, file), ids)


def _lama(task: str, file: str, row: JsonObject, id: str) -> Record:
    if task == TREX:
        statement = _first_complete(items(row.get("evidences"), "evidences", _evidence))
    else:
        sentences = items(row.get("masked_sentences"), "masked_sentences", lambda it: text(it, "a sentence"))
        statement = before_mask(" ".join(sentences), LAMA_MASK)
    return Record(task, id, file, {"text": statement}, (text(row.get("obj_label"), "obj_label"),))


def _first_complete(sentences: list[str]) -> str:
    """The first sentence that ends in its mask. Raises InvalidRow with the fault of the first if there is none."""
    reasons = []
    for sentence in sentences:
        try:
            return before_mask(sentence, LAMA_MASK)
        except InvalidRow as reason:
            reasons.append(reason)
    raise reasons[0]


def _evidence(evidence: object) -> str:
    if not isinstance(evidence, dict):
        raise InvalidRow("an evidence is not an object")
    return text(evidence.get("masked_sentence"), "masked_sentence")


def before_mask(statement: str, mask: str) -> str:
    """The statement before its mask, which only signs follow. Raises InvalidRow for another place or number of masks.

    A model that reads from left to right can complete no other statement (Schick et al. 2023, section 4.2).
    """
    before, *after = statement.split(mask)
    if len(after) != 1:
        raise InvalidRow(f"{mask} occurs {len(after)} times")
    if any(sign.isalnum() for sign in after[0]):
        raise InvalidRow(f"{mask} is not the final token")
    if not before.strip():
        raise InvalidRow(f"nothing stands before {mask}")
    return before.strip()


def load_asdiv(folder: Path) -> Rows:
    """ASDiv (Miao et al. 2020): asdiv/ASDiv.xml, 2,305 word problems of school grades 1 to 6, all of which are read.

    The elements Problem have an ID and one Body, Question and Answer each. The reference is the text of Answer as
    published: "9 (apples)", "5 (years old); 15 (years old)", "3:4", "Yes". Raises NightjarError if the file is not XML
    in UTF-8, or declares a document type: only there can entities be declared, which may expand without end or name
    files of this machine.
    """
    file = "asdiv/ASDiv.xml"

    def record(problem: ET.Element, id: str) -> Record:
        parts = {name.lower(): _field(problem, name) for name in ("Body", "Question")}
        return Record(ASDIV, id, file, parts, (_field(problem, "Answer"),))

    problems = (
        SourceRow(number, problem, ET.tostring(problem, encoding="unicode").strip())
        for number, problem in enumerate(_problems(folder / file), start=1)
    )
    return records(file, problems, lambda problem: text(problem.get("ID"), "ID"), record)


def _problems(path: Path) -> Iterator[ET.Element]:
    content = read_text(path)
    if "<!DOCTYPE" in content:
        raise NightjarError("a document type (<!DOCTYPE) is declared", path, FIX)
    depth = 0
    try:
        for event, element in _events(content):
            depth += 1 if event == "start" else -1
            if depth > _MAX_DEPTH:
                raise NightjarError("elements are nested too deeply", path, FIX)
            if event == "end" and element.tag == "Problem":
                yield element
    except ET.ParseError as error:
        raise NightjarError(f"not XML ({error})", f"{path}:{error.position[0]}", FIX) from None


def _events(content: str) -> Iterator[tuple[str, ET.Element]]:
    parser: Any = ET.XMLPullParser(("start", "end"))
    parser.feed(content)
    # Before `close`, which gives the wrong line of an error that `feed` has met.
    yield from parser.read_events()
    parser.close()
    yield from parser.read_events()


def _field(problem: ET.Element, name: str) -> str:
    elements = problem.findall(name)
    if len(elements) > 1:
        raise InvalidRow(f"{name} occurs twice")
    return text("".join(elements[0].itertext()) if elements else None, name)


def load_svamp(folder: Path) -> Rows:
    """SVAMP (Patel et al. 2021): svamp/SVAMP.json, a list of {ID, Body, Question, Answer}, 1,000 word problems.

    The reference is the number in Answer, without a decimal point if it is whole.
    """
    file = "svamp/SVAMP.json"

    def record(row: JsonObject, id: str) -> Record:
        parts = {name.lower(): text(row.get(name), name) for name in ("Body", "Question")}
        return Record(SVAMP, id, file, parts, (number(row.get("Answer"), "Answer"),))

    return records(file, json_list(folder / file), "ID", record)


def number(value: object, name: str) -> str:
    """A number of a JSON file, without a decimal point if it is whole. Raises InvalidRow if it is none, or infinite."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, float) or not math.isfinite(value):
        raise InvalidRow(f"{name} is not a number" if value is not None else f"no {name}")
    return str(int(value)) if value == int(value) else f"{Decimal(repr(value)):f}"


def load_mawps(folder: Path) -> Rows:
    """MAWPS (Koncel-Kedziorski et al. 2016): mawps/*.json, such as AddSub.json: [{iIndex, sQuestion, lSolutions}].

    An id is FILE-INDEX, such as AddSub-12. The reference is the solution; of several, all are in one text, of which
    the first counts. `lEquations`, where given, become a part of the record.
    """
    for path in files_of(folder, MAWPS, ("*.json",), " of MAWPS", ", such as AddSub.json"):
        file = path.relative_to(folder).as_posix()
        yield from records(file, json_list(path), partial(_mawps_id, path.stem), partial(_mawps, file))


def _mawps_id(stem: str, row: JsonObject) -> str:
    index = row.get("iIndex")
    return f"{stem}-{(text if isinstance(index, str) else number)(index, 'iIndex')}"


def _mawps(file: str, row: JsonObject, id: str) -> Record:
    parts: JsonObject = {"question": text(row.get("sQuestion"), "sQuestion")}
    solutions = items(row.get("lSolutions"), "lSolutions", lambda it: number(it, "solution"), "number")
    if (equations := row.get("lEquations")) is not None:
        if not isinstance(equations, list):
            raise InvalidRow("lEquations is not a list")
        parts["equations"] = [text(one, "an equation") for one in equations]
    return Record(MAWPS, id, file, parts, ("; ".join(solutions),))


def load_web_questions(folder: Path) -> Rows:
    """WebQuestions (Berant et al. 2013): webquestions/test.json, a list of {qId, qText, answers}, 2,032 questions."""
    file = "webquestions/test.json"
    return records(
        file, json_list(folder / file), "qId", partial(_open, WEB_QUESTIONS, file, "qText", "answers")
    )


def load_natural_questions(folder: Path) -> Rows:
    """Natural Questions, open (Kwiatkowski et al. 2019, Lee et al. 2019): nq-open/NQ-open.dev.jsonl, 3,610 questions.

    Lines are {question, answer}; an id is the number of the line.
    """
    file = "nq-open/NQ-open.dev.jsonl"
    return records(
        file, json_lines(folder / file), None, partial(_open, NATURAL_QUESTIONS, file, "question", "answer")
    )


def _open(task: str, file: str, question: str, answers: str, row: JsonObject, id: str) -> Record:
    parts = {"question": text(row.get(question), question)}
    answer_texts = items(row.get(answers), answers, lambda it: text(it, "an answer"), "answer")
    return Record(task, id, file, parts, distinct(answer_texts))


def load_trivia_qa(folder: Path) -> Rows:
    """TriviaQA (Joshi et al. 2017), unfiltered, which has one row a question: triviaqa/unfiltered-web-dev.json.

    The file is {"Data": [{QuestionId, Question, Answer}]}. References are the Value of the Answer, its Aliases and its
    NormalizedAliases, each once.
    """
    file = "triviaqa/unfiltered-web-dev.json"
    content = json_value(folder / file)
    if not isinstance(content, dict) or not isinstance(content.get("Data"), list):
        raise NightjarError("not a JSON object with a list Data", folder / file, FIX)
    return records(file, objects(content["Data"]), "QuestionId", partial(_trivia_qa, file))


def _trivia_qa(file: str, row: JsonObject, id: str) -> Record:
    answer = row.get("Answer")
    if not isinstance(answer, dict):
        raise InvalidRow("Answer is not an object" if answer is not None else "no Answer")
    references = [text(answer.get("Value"), "Value")]
    for name in ("Aliases", "NormalizedAliases"):
        aliases = answer.get(name, [])
        if not isinstance(aliases, list):
            raise InvalidRow(f"{name} is not a list")
        references += [text(one, "an alias") for one in aliases]
    parts = {"question": text(row.get("Question"), "Question")}
    return Record(TRIVIA_QA, id, file, parts, distinct(references))


def load_mlqa(folder: Path) -> Rows:
    """MLQA (Lewis et al. 2020): mlqa/test-context-en-question-LANGUAGE.json, a task each; a missing one is skipped.

    The files have the form of SQuAD: {"data": [{"paragraphs": [{"context", "qas": [{"id", "question", "answers"}]}]}]}.
    References are the texts of the answers, which are English as the paragraphs are. Raises NightjarError if no file is
    there, or one has another form.
    """
    files = {code: f"mlqa/test-context-en-question-{code}.json" for code in LANGUAGES}
    present = {code: file for code, file in files.items() if (folder / file).exists()}
    if not present:
        fix = f"put at least one of them in it, such as {Path(files['es']).name}"
        raise NightjarError("no files of MLQA", folder / "mlqa", fix)
    for code, file in present.items():
        question_rows = objects(_squad(folder / file))
        yield from records(file, question_rows, "id", partial(_mlqa, f"mlqa_{code}", file))


def _squad(path: Path) -> Iterator[Any]:
    """Every question with its paragraph under the key "context". Raises NightjarError for another form."""
    for article in _squad_list(json_value(path), "data", path):
        for paragraph in _squad_list(article, "paragraphs", path):
            for question in _squad_list(paragraph, "qas", path):
                context = {"context": paragraph.get("context")}
                yield {**question, **context} if isinstance(question, dict) else question


def _squad_list(value: Any, key: str, path: Path) -> list[Any]:
    values = value.get(key) if isinstance(value, dict) else None
    if not isinstance(values, list):
        raise NightjarError(f"not in the form of SQuAD: no list {key}", path, FIX)
    return values


def _mlqa(task: str, file: str, row: JsonObject, id: str) -> Record:
    answers = objects_of(row.get("answers"), "answers", least=1)
    parts = {name: text(row.get(name), name) for name in ("context", "question")}
    return Record(task, id, file, parts, distinct(text(one.get("text"), "text") for one in answers))


def load_templama(folder: Path) -> Rows:
    """TempLAMA (Dhingra et al. 2022): templama/test.jsonl, lines {id, query, answer, date} of 2010 to 2020.

    References are the names of the answers. Chosen here, as the paper does not say: as with LAMA, a statement whose
    mask is not the final token is refused; and the calendar gives the first of July of the statement's year.
    """
    file = "templama/test.jsonl"

    def record(row: JsonObject, id: str) -> Record:
        answers = objects_of(row.get("answer"), "answer", least=1)
        references = distinct(text(one.get("name"), "name") for one in answers)
        statement = before_mask(text(row.get("query"), "query"), TEMPLAMA_MASK)
        return Record(TEMPLAMA, id, file, {"text": statement}, references, day=_day(row.get("date")))

    return records(file, json_lines(folder / file), "id", record)


def _day(value: object) -> date:
    year = text(value, "date")
    if not (year.isascii() and year.isdigit() and len(year) == 4 and int(year)):
        raise InvalidRow("date is not a year of four digits")
    return date(int(year), 7, 1)


# The folder of each data set, and what reads it from the folder above.
LOADERS: dict[str, Callable[[Path], Rows]] = {
    "lama": load_lama,
    "asdiv": load_asdiv,
    "svamp": load_svamp,
    "mawps": load_mawps,
    "webquestions": load_web_questions,
    "nq-open": load_natural_questions,
    "triviaqa": load_trivia_qa,
    "mlqa": load_mlqa,
    "templama": load_templama,
    "wikitext": load_wikitext,
    "held_out": load_held_out,
}
