"""The results of the paper (Schick et al. 2023): its tables 3 to 9."""

from __future__ import annotations

from nightjar.benchmarks.papers import PublishedCalls, PublishedCurve, PublishedTable, published_rows
from nightjar.benchmarks.tool_use.tasks import LAMA, MATHS, MLQA, OPENS, TEMPORALS, TEXTS, TREX, WEB_QUESTIONS

_PAPER = "Schick et al. 2023"
# The paper has no column for English. "All English": paragraph and question in English, of the same questions.
_LANGUAGES = tuple(task for task in MLQA if task != "mlqa_en")
# A table's columns, and its rows by system.
_TABLES: dict[int, tuple[tuple[str, ...], dict[str, tuple[float, ...]]]] = {
    3: (LAMA, {
        "GPT-J": (17.8, 4.9, 31.9),
        "GPT-J + CC": (19.2, 5.6, 33.2),
        "Toolformer (disabled)": (22.1, 6.3, 34.9),
        "Toolformer": (33.8, 11.5, 53.5),
        "OPT (66B)": (21.6, 2.9, 30.1),
        "GPT-3 (175B)": (26.8, 7.0, 39.8),
    }),
    4: (MATHS, {
        "GPT-J": (7.5, 5.2, 9.9),
        "GPT-J + CC": (9.6, 5.0, 9.3),
        "Toolformer (disabled)": (14.8, 6.3, 15.0),
        "Toolformer": (40.4, 29.4, 44.0),
        "OPT (66B)": (6.0, 4.9, 7.9),
        "GPT-3 (175B)": (14.0, 10.0, 19.8),
    }),
    5: (OPENS, {
        "GPT-J": (18.5, 12.8, 43.9),
        "GPT-J + CC": (18.4, 12.2, 45.6),
        "Toolformer (disabled)": (18.9, 12.6, 46.7),
        "Toolformer": (26.3, 17.7, 48.8),
        "OPT (66B)": (18.6, 11.4, 45.7),
        "GPT-3 (175B)": (29.0, 22.6, 65.9),
    }),
    6: (_LANGUAGES, {
        "GPT-J": (15.2, 16.5, 1.3, 8.2, 18.2, 8.2),
        "GPT-J + CC": (15.7, 14.9, 0.5, 8.3, 13.7, 4.6),
        "Toolformer (disabled)": (19.8, 11.9, 1.2, 10.1, 15.0, 3.1),
        "Toolformer": (20.6, 13.5, 1.4, 10.6, 16.8, 3.7),
        "OPT (66B)": (0.3, 0.1, 1.1, 0.2, 0.7, 0.1),
        "GPT-3 (175B)": (3.4, 1.1, 0.1, 1.7, 17.7, 0.1),
        "GPT-J (all English)": (24.3, 27.0, 23.9, 23.3, 23.1, 23.6),
        "GPT-3 (all English)": (24.7, 27.2, 26.1, 24.9, 23.6, 24.0),
    }),
    7: (TEMPORALS, {
        "GPT-J": (13.7, 3.9),
        "GPT-J + CC": (12.9, 2.9),
        "Toolformer (disabled)": (12.7, 5.9),
        "Toolformer": (16.3, 27.3),
        "OPT (66B)": (14.5, 1.3),
        "GPT-3 (175B)": (15.5, 0.8),
    }),
    8: (TEXTS, {
        "GPT-J": (9.9, 10.6),
        "GPT-J + CC": (10.3, 10.5),
        "Toolformer (disabled)": (10.3, 10.5),
    }),
}  # fmt: skip
_TITLES = {
    3: "LAMA",
    4: "mathematical reasoning",
    5: "question answering",
    6: "multilingual question answering",
    7: "temporal questions",
    8: "perplexity",
}
_NOTES = {
    3: "Published: Toolformer calls QA for 98.1% of the inputs, another tool for 0.7% and none for 1.2%.",
    4: "Published: Toolformer calls the calculator for 97.9% of the inputs.",
    5: "Published: Toolformer calls WikiSearch for 99.3% of the inputs.",
    6: "Published: Toolformer calls MT for 63.8% to 94.9% of the inputs of a language, for Hindi for 7.3%.",
    7: "Published: Toolformer calls the calendar for 0.2% of the inputs of TempLAMA and for 54.8% of those of Dateset.",
    8: "Lower is better. Perplexities are comparable between models with the same tokenizer only. The second published "
    "column is of 10,000 documents of CCNet.",
}
# Table 9, by k: the calls start where their marker is among the k likeliest tokens.
_BY_K: dict[str, dict[int, tuple[float, float | None, float | None, float]]] = {
    TREX: {
        0: (34.9, None, 34.9, 0.0),
        1: (47.8, 53.0, 44.3, 40.3),
        3: (52.9, 58.0, 29.0, 82.8),
        10: (53.5, 54.0, 22.5, 98.1),
    },
    WEB_QUESTIONS: {
        0: (18.9, None, 18.9, 0.0),
        1: (19.3, 17.1, 19.9, 8.5),
        3: (26.3, 26.5, 6.6, 99.3),
        10: (26.3, 26.4, None, 100.0),
    },
}

PUBLISHED = tuple(
    row
    for number, (tracks, rows) in _TABLES.items()
    for row in published_rows(rows, tracks, f"{_PAPER}, table {number}")
)
# By how likely a marker must be to start a call. Figure 4, on sizes of models, is a plot without numbers.
CURVES = (
    PublishedCurve(
        "calls",
        "Toolformer",
        f"{_PAPER}, table 9",
        {str(k): {track: rows[k][0] for track, rows in _BY_K.items()} for k in (0, 1, 3, 10)},
    ),
)
TABLES = (
    *(
        PublishedTable(f"Table {number}: {_TITLES[number]}", tracks, _NOTES[number])
        for number, (tracks, _) in _TABLES.items()
    ),
    PublishedTable(
        "Table 9: by call",
        tuple(_BY_K),
        calls=tuple(
            PublishedCalls(track, f"Toolformer, k = {k}", *values)
            for track, rows in _BY_K.items()
            for k, values in rows.items()
        ),
    ),
)
