"""The ten tasks: their prompts, the lengths reserved for their answers, and how they are scored (tables 5, 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NAME = "zeroscrolls"
Kind = Literal["rouge", "f1", "accuracy", "exponential_similarity", "concordance"]


@dataclass(frozen=True)
class LongTask:
    """A task. `instruction` may have {n}, the number of summaries. Headers end in a colon.

    `omitted` is what the omission message says is omitted. `reserved`: tokens that the published runs leave for the
    answer.
    """

    title: str
    kind: Kind
    instruction: str
    document: str
    response: str
    omitted: str
    reserved: int
    query: str = ""

    @property
    def separator(self) -> str:
        """The omission message, which comes where a document was cut."""
        return f"... [The rest of the {self.omitted} omitted]\n\n"

    @property
    def summary(self) -> bool:
        """True for a task whose answer is a summary, for which no format is requested."""
        return self.kind == "rouge"

    @property
    def tag(self) -> str:
        """The name of the tag in which Claude highlights its answer, such as summary_ids_in_correct_order."""
        return self.response.removesuffix(":").lower().replace(" ", "_")


TASKS = {
    "gov_report": LongTask(
        "GovReport",
        "rouge",
        "You are given a report by a government agency. Write a one-page summary of the report.",
        "Report:",
        "Summary:",
        "report is",
        1024,
    ),
    "summ_screen_fd": LongTask(
        "SummScreenFD",
        "rouge",
        "You are given a script of a TV episode. Summarize the episode in a paragraph.",
        "Episode Script:",
        "Summary:",
        "episode script is",
        512,
    ),
    "qmsum": LongTask(
        "QMSum",
        "rouge",
        "You are given a meeting transcript and a query containing a question or instruction. Answer the query in one "
        "or more sentences.",
        "Transcript:",
        "Answer:",
        "transcript is",
        512,
        "Query:",
    ),
    "squality": LongTask(
        "SQuALITY",
        "rouge",
        "You are given a story and a question. Answer the question in a paragraph.",
        "Story:",
        "Answer:",
        "story is",
        512,
        "Question:",
    ),
    "qasper": LongTask(
        "Qasper",
        "f1",
        "You are given a scientific article and a question. Answer the question as concisely as you can, using a "
        "single phrase or sentence if possible. If the question cannot be answered based on the information in the "
        'article, write "unanswerable". If the question is a yes/no question, answer "yes", "no", or "unanswerable".',
        "Article:",
        "Answer:",
        "article is",
        128,
        "Question:",
    ),
    "narrative_qa": LongTask(
        "NarrativeQA",
        "f1",
        "You are given a story, which can be either a novel or a movie script, and a question. Answer the question as "
        "concisely as you can, using a single phrase if possible.",
        "Story:",
        "Answer:",
        "story is",
        64,
        "Question:",
    ),
    "quality": LongTask(
        "QuALITY",
        "accuracy",
        "You are provided a story and a multiple-choice question with 4 possible answers (marked by A, B, C, D). "
        "Choose the best answer by writing its corresponding letter (either A, B, C, or D).",
        "Story:",
        "Answer:",
        "story is",
        10,
        "Question and Possible Answers:",
    ),
    "musique": LongTask(
        "MuSiQue",
        "f1",
        "You are given several paragraphs from Wikipedia and a question. Answer the question as concisely as you can, "
        "using a single phrase if possible. If the question cannot be answered based on the information in the "
        'paragraphs, write "unanswerable".',
        "Paragraphs:",
        "Answer:",
        "paragraphs are",
        32,
        "Question:",
    ),
    "space_digest": LongTask(
        "SpaceDigest",
        "exponential_similarity",
        "You are given a list of reviews about a specific hotel. Each review is either positive or negative. What is "
        "the percentage of positive reviews (e.g. 60%, 34%, etc.)?",
        "Reviews:",
        "Percentage of Positive Reviews:",
        "reviews are",
        36,
    ),
    "book_sum_sort": LongTask(
        "BookSumSort",
        "concordance",
        "You are given {n} summaries of chapters or parts of a novel, in a shuffled order, where each summary is "
        "denoted by a numerical ID (e.g. Summary 1, Summary 3, etc.). Reorder the summaries according to the original "
        "order of chapters/parts in the novel by writing a list of length {n} of the summary IDs (e.g. if you were "
        'given 5 summaries, one possible answer could be "5, 1, 3, 4, 2").',
        "Summaries:",
        "Summary IDs in Correct Order:",
        "summaries are",
        256,
    ),
}
