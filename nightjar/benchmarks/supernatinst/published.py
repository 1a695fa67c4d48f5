"""The results of the paper (Wang et al. 2022): its tables 2 and 3, and the correlation of appendix E."""

from __future__ import annotations

from nightjar.benchmarks.papers import Collection, Figure, Papers, Published, published_rows

TRACKS = {"default": "English track", "xlingual": "cross-lingual track"}
# Paper, table 3: English track, cross-lingual track.
_TABLE_3 = {
    "Copying instance input": (14.2, 5.4),
    "Copying demo output": (28.5, 50.3),
    "T5-LM 11B": (30.2, None),
    "T0 11B": (32.3, None),
    "GPT-3 175B": (45.0, 51.3),
    "InstructGPT 175B": (52.1, 52.8),
    "mTk-Instruct 13B": (57.1, 66.1),
    "Tk-Instruct 11B": (62.0, None),
    "Supervised upper bound": (74.3, 94.0),
}
# Paper, table 2.
_TABLE_2 = (
    Figure("tasks", "tasks", 1616),
    Figure("task_types", "task types", 76),
    Figure("languages", "languages", 55),
    Figure("domains", "domains", 33),
    Figure("domains_in_full", "domains and their subdomains", None),
    Figure("non_english_tasks", "non-English tasks", 576),
    Figure("definition_words", "words of a definition, mean", 56.6, 1),
    Figure("positive_examples", "positive examples of a task, mean", 2.8, 1),
    Figure("negative_examples", "negative examples of a task, mean", 2.4, 1),
    Figure("instances_per_task", "instances of a task, mean", 3106.0, 1),
)
# Over the categories whose answers are labels (Wang et al. 2022).
CORRELATION = 0.970

PUBLISHED = (
    *published_rows(_TABLE_3, tuple(TRACKS), "Wang et al. 2022, table 3"),
    Published("Tk-Instruct 3B", {"default": 54.33}, "README of Tk-Instruct, on resampled test instances"),
)
COLLECTION = Collection(
    "Wang et al. 2022, table 2",
    _TABLE_2,
    "A task is English if its input and output languages are English alone. A task of several languages, "
    "types or domains counts for each. A domain is the part before the first arrow: "
    '"Natural Science -> School Science Textbooks" is Natural Science. The paper does not say how it '
    "counts domains. Words are separated by white space. Instances are those that ingest accepts.",
)
PAPERS = Papers(PUBLISHED, collection=COLLECTION)
