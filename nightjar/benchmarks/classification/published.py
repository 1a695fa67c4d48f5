"""The results of the paper (Guo et al. 2023): its tables 2 and 8, FEVER, label consistency, and its studies."""

from __future__ import annotations

from nightjar.benchmarks.papers import PublishedCurve, PublishedTable, published_rows

_PAPER = "Guo et al. 2023"
# The columns of table 2.
EIGHT = ("sst2", "sst5", "cola", "trec", "cr", "mr", "mpqa", "subj")
_TABLE_2: dict[str, tuple[float, ...]] = {
    "in-context learning, OPT-13b": (93.0, 46.0, 1.8, 26.8, 73.2, 61.7, 71.6, 51.1),
    "k-NN, T5-base": (59.2, 22.8, 1.0, 28.0, 51.8, 55.1, 52.6, 72.1),
    "LM-BFF, T5-base": (86.0, 45.5, 5.5, 76.2, 90.0, 83.1, 82.3, 90.2),
    "T5-base": (91.3, 56.7, 30.4, 80.4, 89.8, 89.4, 89.2, 96.0),
    "RAG, T5-base": (93.0, 57.5, 58.5, 80.4, 87.2, 90.2, 89.5, 96.5),
    "FiD, T5-base": (92.2, 56.6, 56.9, 80.8, 91.3, 90.1, 89.8, 96.6),
    "PGRA, T5-base": (93.9, 56.9, 57.0, 80.8, 91.7, 91.1, 90.3, 97.0),
    "k-NN, T5-large": (64.5, 23.6, 2.1, 28.8, 56.8, 58.2, 53.7, 72.4),
    "LM-BFF, T5-large": (90.8, 49.0, 6.9, 70.6, 91.1, 83.5, 89.5, 88.4),
    "T5-large": (95.2, 59.2, 60.7, 80.8, 92.1, 91.5, 90.7, 97.3),
    "RAG, T5-large": (95.2, 57.2, 60.1, 80.2, 91.2, 92.1, 90.6, 96.4),
    "FiD, T5-large": (94.8, 59.5, 60.2, 80.8, 92.4, 92.5, 90.6, 97.5),
    "PGRA, T5-large": (95.7, 59.8, 61.1, 80.9, 92.6, 92.4, 90.6, 97.5),
}
# Table 8: three runs of PGRA.
_RUNS = {
    "PGRA, T5-base": (
        (94.4, 57.0, 57.7, 81.0, 92.5, 90.8, 90.3, 97.0),
        (93.5, 56.5, 57.6, 80.8, 90.6, 91.3, 90.1, 97.0),
        (93.9, 57.1, 57.5, 80.6, 91.9, 91.2, 90.4, 97.0),
    ),
    "PGRA, T5-large": (
        (96.0, 59.4, 64.0, 81.2, 92.8, 93.0, 90.8, 97.6),
        (95.4, 60.1, 60.1, 81.0, 92.0, 92.3, 90.5, 97.3),
        (95.8, 60.0, 59.1, 80.6, 92.9, 91.9, 90.5, 97.6),
    ),
}


def _mean(runs: tuple[tuple[float, ...], ...]) -> list[float]:
    return [round(sum(column) / len(runs), 1) for column in zip(*runs, strict=True)]


PUBLISHED = (
    *published_rows(_TABLE_2, EIGHT, f"{_PAPER}, table 2"),
    *published_rows(
        {f"{system}, mean of {len(runs)} runs": _mean(runs) for system, runs in _RUNS.items()},
        EIGHT,
        f"{_PAPER}, table 8",
    ),
    *published_rows({"FiD, T5-base": (73.8,), "PGRA, T5-base": (77.7,)}, ("fever",), _PAPER),
)
# How many of the first passages after reranking have the label of their question, by the size of the reranker.
_CONSISTENT: dict[str, tuple[float, ...]] = {
    "OPT-350m": (63.4, 28.8, 69.0, 60.3, 56.6),
    "OPT-1.3b": (68.3, 32.2, 69.3, 55.6, 53.6),
    "OPT-2.7b": (68.9, 32.5, 69.0, 65.8, 55.2),
    "OPT-6.7b": (70.1, 32.0, 69.1, 69.3, 54.2),
    "OPT-13b": (75.2, 30.2, 69.1, 70.5, 57.3),
}
CONSISTENCY = published_rows(
    {f"reranked by {model}": values for model, values in _CONSISTENT.items()},
    ("sst2", "sst5", "cola", "mr", "mpqa"),
    _PAPER,
)
# Studies of the paper. It gives the averages of the eight tasks alone; with FiD at 48 passages too.
_AVERAGES: tuple[tuple[str, str, dict[str, float]], ...] = (
    ("candidates", "PGRA, T5-base", {"16": 81.9, "50": 82.2, "100": 82.2, "150": 82.6}),
    ("passages", "PGRA, T5-base", {"4": 82.3, "8": 82.3, "16": 82.6, "24": 82.6}),
    ("passages", "FiD, T5-base", {"8": 81.8, "48": 82.0}),
    (
        "reranker",
        "PGRA, T5-base",
        {"OPT-350m": 81.8, "OPT-1.3b": 82.1, "OPT-2.7b": 82.1, "OPT-6.7b": 82.3, "OPT-13b": 82.6},
    ),
    ("retriever", "PGRA, T5-base", {"bm25": 82.1, "dense": 82.6, "SimCSE": 82.3}),
    ("retriever", "FiD, T5-base", {"bm25": 81.5, "dense": 81.8, "SimCSE": 81.9}),
)
CURVES = tuple(
    PublishedCurve(
        study, system, _PAPER, {at: {"average of the eight tasks": value} for at, value in averages.items()}
    )
    for study, system, averages in _AVERAGES
)
TABLES = (
    PublishedTable(
        "Table 2: eight classification tasks",
        EIGHT,
        "CoLA is Matthews correlation, the others are accuracy. Published: the averages of the eight are 53.2 for "
        "in-context learning; 42.9, 69.9, 77.9, 81.6, 81.8 and 82.3 for k-NN, LM-BFF, T5, RAG, FiD and PGRA with "
        "T5-base; 45.0, 71.2, 83.4, 82.9, 83.5 and 83.8 with T5-large; 81.8, 82.1, 82.1, 82.3 and 82.6 for PGRA with "
        "T5-base and OPT of 350m, 1.3b, 2.7b, 6.7b and 13b parameters as reranker; 81.9, 82.2, 82.2 and 82.6 with 16, "
        "50, 100 and 150 candidates; 82.3, 82.3, 82.6 and 82.6 with 4, 8, 16 and 24 passages read; 81.8 and 82.0 for "
        "FiD with 8 and 48. With BM25, BERT and SimCSE as retriever FiD has 81.5, 81.8 and 81.9, PGRA 82.1, 82.6 and "
        "82.3. The averages that vary PGRA are of the first run of table 8. For CoLA with T5-base table 2 has "
        "57.0, where the runs of table 8 have a mean of 57.6. The test sides of the paper are those of LM-BFF.",
    ),
    PublishedTable(
        "FEVER", ("fever",), "The paper draws 5,000 training and 1,000 test claims; it does not name them."
    ),
)
