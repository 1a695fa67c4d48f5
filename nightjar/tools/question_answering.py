"""Question answering: BM25 finds passages, and a model reads them and answers in a few words.

The paper asks Atlas, a retrieval-augmented model fine-tuned on Natural Questions. Here any language model reads, by
default the project's own, or an extractive reader, which points at the answer (stage train_qa). The passages are those
of WikiSearch.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nightjar.core import paths
from nightjar.core.config import Positive, StrictModel
from nightjar.core.errors import NightjarError
from nightjar.models.directory.weights import is_extractive
from nightjar.prompts.tool_prompts import CALL_NAMES, head
from nightjar.tools.passage_store import PassageSearch, on_one_line
from nightjar.tools.reader import Extractor, Reader, model_folder
from nightjar.tools.tool import Tool, ToolRequest

# Words of a passage that the model reads, characters of a question, tokens of an answer.
PASSAGE_WORDS, LONGEST, TOKENS = 100, 500, 16

# Written for this project. The examples ask for several kinds of answers: after numbers alone, a small model answers
# with numbers whatever is asked.
HEAD = """\
Answer each question with a few words from its passages.

Passage: Maple Hall > Maple Hall is a concert hall in Norwood, made of pale oak. It was built in 1931 and has 840 seats.
Question: What is Maple Hall made of?
Answer: pale oak

Passage: Pelican (ferry) > The Pelican is a ferry with 60 seats that links Easton with the island of Skerry.
Question: How many seats does the Pelican have?
Answer: 60

Passage: Ada Brock > Ada Brock (born 1874) was a painter. Brock was born in Norwood and moved to Easton in 1902.
Question: Who was Ada Brock?
Answer: a painter

"""


class QuestionAnsweringSettings(StrictModel):
    """`model` reads the `passages` best passages: a directory, or hub:NAME@REVISION, of a language model or of a model
    for question answering. The latter declines where its best answer does not beat "no answer" by more than
    `threshold` logits.
    """

    model: str = paths.LANGUAGE_MODEL.as_posix()
    passages: Positive = 3
    threshold: float = 0.0


class QuestionAnswering(Tool):
    """Question answering as a tool. The paper names no rule for its documents: every text suits it."""

    name = CALL_NAMES["question_answering"]
    description = "Answers a question about facts in a few words."
    argument = "the question"
    instructions = head("question_answering")
    uses = frozenset({"text"})
    seconds = 600.0
    settings = QuestionAnsweringSettings

    def __init__(self, passages: PassageSearch, reader: Reader | Extractor, passages_read: int = 3) -> None:
        self.passages, self.reader, self.passages_read = passages, reader, passages_read
        self.version = f"1 {passages.version} {reader.sha256[:16]} {passages_read}"
        if isinstance(reader, Extractor) and reader.threshold:
            self.version += f" {reader.threshold!r}"

    @classmethod
    def make(cls, resource: Path | None, settings: QuestionAnsweringSettings) -> QuestionAnswering:
        passages, folder = PassageSearch.load(resource), model_folder(settings.model)
        if is_extractive(folder):
            return cls(passages, Extractor(folder, settings.threshold), settings.passages)
        if settings.threshold:
            fix = (
                "remove question_answering.threshold, or name a model for question answering (docs/reader.md)"
            )
            raise NightjarError("a language model has no threshold for its answers", folder, fix)
        return cls(passages, Reader(settings.model, HEAD), settings.passages)

    def run(self, requests: Sequence[ToolRequest]) -> list[str | None]:
        """The model's answer from the passages that the text of the call does not contain; None without passages."""
        questions = {}
        for place, request in enumerate(requests):
            if len(request.input) <= LONGEST and (
                passages := self.passages.find(request, self.passages_read)
            ):
                questions[place] = request.input, [(one.title, one.text) for one in passages]
        answers = dict(zip(questions, self._read(list(questions.values())), strict=True))
        return [answers.get(place) or None for place in range(len(requests))]

    def _read(self, questions: Sequence[tuple[str, Sequence[tuple[str, str]]]]) -> list[str]:
        if isinstance(self.reader, Extractor):
            return self.reader.answers(
                [(question, list(map(passage_line, passages))) for question, passages in questions]
            )
        return self.reader.lines([prompt(*one) for one in questions], TOKENS)

    def why(self, request: ToolRequest) -> str:
        if len(request.input) > LONGEST:
            return f"too long: {len(request.input)} characters, at most {LONGEST} are allowed"
        return "no passage has a word of it, or the model has no answer"


def prompt(question: str, passages: Sequence[tuple[str, str]]) -> str:
    """The text after HEAD: the passages, best last and so nearest to the question, and the question, a line each."""
    lines = "".join(f"Passage: {passage_line(passage)}\n" for passage in reversed(passages))
    return f"{lines}Question: {' '.join(question.split())}\nAnswer:"


def passage_line(passage: tuple[str, str]) -> str:
    """The title and the text of a passage on one line."""
    title, text = passage
    return " > ".join(filter(None, [" ".join(title.split()), on_one_line(text, PASSAGE_WORDS)]))
