"""Import of the judges' answers: the credit of set A with its interval, and how far the judges agree.

The credit is the share of items on which A was rated at least as good as B (paper, section 6.2: B is the gold
answer). With several judges an item's credit is the mean over those who rated it, and the interval is a bootstrap
over items, not over ratings, for two judges of one item are not two items.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nightjar.core.arguments import AnyPath, check_list
from nightjar.core.errors import NightjarError
from nightjar.judge.judge_files import AnswersFile, PageKey, read_answers, read_key
from nightjar.statistics.agreement import nominal_alpha, raw_agreement
from nightjar.statistics.bootstrap import Bootstrap, percent


@dataclass(frozen=True)
class Judge:
    """One judge: the ratings by item ("a" or "b" was better, or "tie"), and how often each side was chosen."""

    name: str
    ratings: dict[str, str]
    sides: Counter[str]


def score(key_file: AnyPath, answer_files: Sequence[AnyPath]) -> dict[str, Any]:
    """Scores of the answers in `answer_files` to the page whose key is `key_file`.

    Returns {"a", "b", "page", "items", "rated", "equal", "judges", "credit", "ratings", "left_chosen",
    "by_category", "agreement"}. `credit` and every entry of `by_category` hold n items, and value, low and high in
    percent with 4 decimals (95% interval; low and high are None below MINIMUM items). `ratings` counts wins, ties and
    losses of A over all judges; items of equal answers that were not shown are ties, one rating each. `left_chosen` is
    the share of ratings for one side that were for the left, in percent: far from 50, a judge prefers a side.
    `agreement` is over the shown items with two ratings or more (None without): raw (percent) and Krippendorff's
    nominal alpha (None if undefined).
    """
    check_list(answer_files, "answer_files")
    key, files = read_key(Path(key_file)), list(map(Path, answer_files))
    judges = [resolve(key, read_answers(path, key), path) for path in files]
    names = Counter(judge.name for judge in judges)
    if names and max(names.values()) > 1:
        name = names.most_common(1)[0][0]
        fix = "give one file for each judge"
        raise NightjarError(f"two files are of the judge {name!r}", _names(files), fix)
    if not any(judge.ratings for judge in judges):
        raise NightjarError("no item is answered", _names(files), "ask the judges to begin")
    ratings: dict[str, list[str]] = {}
    for judge in judges:
        for item, rating in judge.ratings.items():
            ratings.setdefault(item, []).append(rating)
    # Items in the key's order, so that nothing depends on the order of files or answers.
    shown_items = [(item.category, sorted(ratings[item.item])) for item in key.items if item.item in ratings]
    rated = shown_items + [(place.category, ["tie"]) for place in key.equal]
    chosen: Counter[str] = sum((judge.sides for judge in judges), Counter())
    decided = chosen["left"] + chosen["right"]
    return {
        "a": key.a,
        "b": key.b,
        "page": key.page,
        "items": len(key.items) + len(key.equal),
        "rated": len(rated),
        "equal": len(key.equal),
        "judges": [
            {"judge": judge.name, "answered": len(judge.ratings), "open": len(key.items) - len(judge.ratings)}
            for judge in judges
        ],
        "credit": _credit(labels for _, labels in rated),
        "ratings": _counts(labels for _, labels in rated),
        "left_chosen": round(100 * chosen["left"] / decided, 4) if decided else None,
        "by_category": {
            name: {
                **_credit(labels for one, labels in rated if one == name),
                **_counts(labels for one, labels in rated if one == name),
            }
            for name in sorted({category for category, _ in rated})
        },
        "agreement": _agreement([labels for _, labels in shown_items]),
    }


def _names(paths: Sequence[Path]) -> str:
    return ", ".join(map(str, paths))


def resolve(key: PageKey, file: AnswersFile, path: Path) -> Judge:
    """A judge's answers by set instead of by side; a judge without a name is called after the file."""
    left_sets: Mapping[str, str] = {item.item: item.left_set for item in key.items}
    ratings = {}
    for answer in file.answers:
        if answer.answer == "tie":
            ratings[answer.item] = "tie"
        else:
            a_chosen = (answer.answer == "left") == (left_sets[answer.item] == "a")
            ratings[answer.item] = "a" if a_chosen else "b"
    sides = Counter(str(answer.answer) for answer in file.answers)
    return Judge(file.judge.strip() or path.stem, ratings, sides)


def _credit(items: Iterable[Sequence[str]]) -> dict[str, Any]:
    values = np.array([sum(label != "b" for label in labels) / len(labels) for labels in items])
    low, high = Bootstrap().percent_interval(values)
    return {"n": len(values), "value": percent(values), "low": low, "high": high}


def _counts(items: Iterable[Sequence[str]]) -> dict[str, int]:
    counts = Counter(label for labels in items for label in labels)
    return {"wins": counts["a"], "ties": counts["tie"], "losses": counts["b"]}


def _agreement(items: Sequence[Sequence[str]]) -> dict[str, Any] | None:
    raw = raw_agreement(items)
    if raw is None:
        return None
    alpha = nominal_alpha(items)
    return {
        "n": sum(len(labels) > 1 for labels in items),
        "raw": round(100 * raw, 4),
        "alpha": None if alpha is None else round(alpha, 4),
    }
