"""The tasks of tool_use and their groups, in the order of the paper's tables 3 to 8, and how they are answered."""

from __future__ import annotations

from nightjar.benchmarks.question_set import Task

NAME = "tool_use"
FACTS, MATH, OPEN, MULTILINGUAL, TEMPORAL, TEXT = (
    "facts",
    "math",
    "question answering",
    "multilingual question answering",
    "temporal",
    "language modelling",
)
LAMA = SQUAD, GOOGLE_RE, TREX = "lama_squad", "lama_google_re", "lama_trex"
MATHS = ASDIV, SVAMP, MAWPS = "asdiv", "svamp", "mawps"
OPENS = WEB_QUESTIONS, NATURAL_QUESTIONS, TRIVIA_QA = "web_questions", "natural_questions", "trivia_qa"
LANGUAGES = {
    "en": "English",
    "es": "Spanish",
    "de": "German",
    "hi": "Hindi",
    "vi": "Vietnamese",
    "zh": "Chinese",
    "ar": "Arabic",
}
MLQA = {f"mlqa_{code}": title for code, title in LANGUAGES.items()}
TEMPORALS = TEMPLAMA, DATESET = "templama", "dateset"
TEXTS = WIKITEXT, HELD_OUT = "wikitext", "held_out"
GROUPS = {
    **dict.fromkeys(LAMA, FACTS),
    **dict.fromkeys(MATHS, MATH),
    **dict.fromkeys(OPENS, OPEN),
    **dict.fromkeys(MLQA, MULTILINGUAL),
    **dict.fromkeys(TEMPORALS, TEMPORAL),
    **dict.fromkeys(TEXTS, TEXT),
}
_SEARCH, _READ = frozenset({"WikiSearch"}), frozenset({"QA"})
# Tools are forbidden as in section 4.2. Tokens are enough for what is read of an answer: 5, 10 or 20 words, or a
# number. What follows a line of math is no answer to it. The prompts of questions do not end within a sentence, so that
# an answer to them may begin with an empty line, and ends where the model writes the next prompt itself.
_NEXT = ("\nAnswer the following", "\nYour task is to", "\nDefinition:")
TASKS = {
    SQUAD: Task("LAMA, SQuAD", max_new_tokens=24, forbidden_tools=_SEARCH),
    GOOGLE_RE: Task("LAMA, Google-RE", max_new_tokens=24, forbidden_tools=_SEARCH),
    TREX: Task("LAMA, T-REx", max_new_tokens=24, forbidden_tools=_SEARCH),
    ASDIV: Task("ASDiv", max_new_tokens=32, stop=("\n",)),
    SVAMP: Task("SVAMP", max_new_tokens=32, stop=("\n",)),
    MAWPS: Task("MAWPS", max_new_tokens=32, stop=("\n",)),
    WEB_QUESTIONS: Task("WebQuestions", max_new_tokens=64, stop=_NEXT, forbidden_tools=_READ),
    NATURAL_QUESTIONS: Task("Natural Questions", max_new_tokens=64, stop=_NEXT, forbidden_tools=_READ),
    TRIVIA_QA: Task("TriviaQA", max_new_tokens=64, stop=_NEXT, forbidden_tools=_READ),
    **{task: Task(f"MLQA, {title}", max_new_tokens=48, stop=_NEXT) for task, title in MLQA.items()},
    TEMPLAMA: Task("TempLAMA", max_new_tokens=24),
    DATESET: Task("Dateset", max_new_tokens=24, stop=_NEXT),
    WIKITEXT: Task("WikiText", kind="perplexity"),
    HELD_OUT: Task("held-out text", kind="perplexity"),
}
