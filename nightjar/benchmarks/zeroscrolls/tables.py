"""SpaceDigest and BookSumSort, made of tables by the published recipes (Shaham et al. 2023), seeded.

The tables have the columns hotel, rating, review, and book, chapter, summary.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from nightjar.benchmarks.zeroscrolls.examples import Unfit
from nightjar.benchmarks.zeroscrolls.rows import Row, need
from nightjar.benchmarks.zeroscrolls.sources import EXAMPLES, SEED, Made, most_rated
from nightjar.core.json_text import is_text, shown

REVIEWS = 50
ORDERS = 4
SUMMARIES = range(3, 87)

T = TypeVar("T")
# A row that cannot be used, or the name of a hotel or book, and the reason.
Fault = tuple[Row | str, str]


def space_digest(rows: Sequence[Row]) -> Iterator[Made | Fault]:
    """An example for each hotel with at least REVIEWS reviews that are positive (5, 4) or negative (2, 1).

    REVIEWS of them are drawn, those with a rating of 3 not among them. The reference is the percentage of positive
    ones. Every example has the number of the hotel's ratings, those of 3 included.
    """
    hotels: dict[str, list[tuple[str, bool]]] = {}
    ratings: Counter[str] = Counter()
    for row, found in _read(rows, _review):
        if isinstance(found, str):
            yield row, found
        else:
            hotel, rating, text = found
            hotels.setdefault(hotel, [])
            ratings[hotel] += 1
            if rating != 3:
                hotels[hotel].append((text, rating > 3))
    for hotel, reviews in hotels.items():
        if len(reviews) < REVIEWS:
            yield hotel, f"the hotel has {len(reviews)} reviews with 1, 2, 4 or 5 points, not {REVIEWS}"
    enough = [hotel for hotel, reviews in hotels.items() if len(reviews) >= REVIEWS]
    # No more than a task has, so that the documents of other hotels need no memory.
    for hotel in most_rated(enough, EXAMPLES, lambda name: (ratings[name], name)):
        chosen = random.Random(f"{SEED}\x1f{hotel}").sample(hotels[hotel], REVIEWS)
        document = "\n\n".join(f"Review {n}:\n{text}" for n, (text, _) in enumerate(chosen, start=1))
        share = 100 * sum(positive for _, positive in chosen) / REVIEWS
        yield Made(hotel, document, [f"{share:g}%"], ratings=ratings[hotel])


def book_sum_sort(rows: Sequence[Row]) -> Iterator[Made | Fault]:
    """ORDERS examples for each book of 3 to 86 summaries: the summaries in a random order, numbered from 1.

    Chapters are in the order of their numbers, or of the table if one is not a number. The reference lists the numbers
    of the summaries in that order.
    """
    books: dict[str, dict[str, str]] = {}
    for row, found in _read(rows, _summary):
        if isinstance(found, str):
            yield row, found
            continue
        book, chapter, text = found
        if chapter in books.setdefault(book, {}):
            yield row, f"the chapter {shown(chapter)} of {shown(book)} occurs twice"
        else:
            books[book][chapter] = text
    for book, chapters in books.items():
        if len(chapters) not in SUMMARIES:
            yield book, f"the book has {len(chapters)} summaries, not 3 to 86"
    fit = [book for book, chapters in books.items() if len(chapters) in SUMMARIES]
    for book in fit:
        yield from _orders(book, _in_order(books[book]))


def _orders(book: str, summaries: Sequence[str]) -> Iterator[Made]:
    source = random.Random(f"{SEED}\x1f{book}")
    orders: dict[tuple[int, ...], None] = {}
    while len(orders) < ORDERS:
        orders[tuple(source.sample(range(len(summaries)), len(summaries)))] = None
    for number, order in enumerate(orders):
        document = "\n\n".join(f"Summary {n}:\n{summaries[place]}" for n, place in enumerate(order, start=1))
        gold = ", ".join(str(order.index(place) + 1) for place in range(len(order)))
        yield Made(f"{book}-{number}", document, [gold], n=len(order))


def _in_order(chapters: Mapping[str, str]) -> list[str]:
    try:
        return [chapters[name] for name in sorted(chapters, key=float)]
    except ValueError:
        return list(chapters.values())


def _read(rows: Sequence[Row], read: Callable[[Mapping[str, Any]], T]) -> Iterator[tuple[Row, T | str]]:
    """Each row with what `read` makes of it, or the reason why it cannot be used."""
    for row in rows:
        try:
            yield row, read(row.value) if row.value is not None else row.fault
        except Unfit as error:
            yield row, str(error)


def _cell(row: Mapping[str, Any], key: str) -> str:
    value = need(row, key)
    text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if not is_text(text) or not text.strip():
        raise Unfit(f"{key} is blank or not a text")
    return text.strip()


def _review(row: Mapping[str, Any]) -> tuple[str, int, str]:
    rating = _cell(row, "rating")
    try:
        points = float(rating)
    except ValueError:
        points = 0.0
    if points not in (1, 2, 3, 4, 5):
        raise Unfit(f"the rating is {shown(rating)}, not 1 to 5")
    return _cell(row, "hotel"), int(points), _cell(row, "review")


def _summary(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return _cell(row, "book"), _cell(row, "chapter"), _cell(row, "summary")


MAKERS = {"space_digest": space_digest, "book_sum_sort": book_sum_sort}
