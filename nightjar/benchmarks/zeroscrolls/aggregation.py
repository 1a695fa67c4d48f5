"""The examples of SpaceDigest and BookSumSort, which are made of tables by the published recipes, seeded.

The tables have the columns hotel, rating, review, and book, chapter, summary; SpaceDigest reads SPACE's own files too.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from nightjar.benchmarks.question import Refused
from nightjar.benchmarks.source_rows import InvalidRow, SourceRow, need, objects_of
from nightjar.benchmarks.zeroscrolls.sources import SEED, Draft
from nightjar.core.json_text import is_text, quote_short

T = TypeVar("T")
# Reviews of a document of SpaceDigest; orders of a book of BookSumSort, and how many summaries a book has.
REVIEWS, ORDERS, SUMMARIES = 50, 4, range(3, 87)


def space_digest(rows: Sequence[SourceRow], file: str) -> Iterator[Draft | Refused]:
    """An example for each hotel with at least REVIEWS reviews that are positive (5, 4) or negative (2, 1).

    REVIEWS of them are drawn, those with a rating of 3 not among them. The reference is the percentage of positive
    ones. Every example has the number of the hotel's ratings, those of 3 included. Rows are reviews, or hotels as SPACE
    has them.
    """
    hotels: dict[str, list[tuple[str, bool]]] = {}
    ratings: Counter[str] = Counter()
    for _, review in _read(list(_reviews(rows)), _review, file):
        if isinstance(review, Refused):
            yield review
        else:
            hotel, rating, text = review
            hotels.setdefault(hotel, [])
            ratings[hotel] += 1
            if rating != 3:
                hotels[hotel].append((text, rating > 3))
    for hotel, reviews in hotels.items():
        if len(reviews) < REVIEWS:
            reason = f"the hotel has {len(reviews)} reviews with 1, 2, 4 or 5 points, not {REVIEWS}"
            yield Refused(file, reason, hotel, hotel)
            continue
        chosen = random.Random(f"{SEED}\x1f{hotel}").sample(reviews, REVIEWS)
        document = "\n\n".join(f"Review {n}:\n{text}" for n, (text, _) in enumerate(chosen, start=1))
        share = 100 * sum(positive for _, positive in chosen) / REVIEWS
        yield Draft(hotel, document, [f"{share:g}%"], ratings=ratings[hotel])


def book_sum_sort(rows: Sequence[SourceRow], file: str) -> Iterator[Draft | Refused]:
    """ORDERS examples for each book of 3 to 86 summaries: the summaries in a random order, numbered from 1.

    Chapters are in the order of their numbers, or of the table if one is not a number. The reference lists the numbers
    of the summaries in that order.
    """
    books: dict[str, dict[str, str]] = {}
    for row, summary in _read(rows, _summary, file):
        if isinstance(summary, Refused):
            yield summary
            continue
        book, chapter, text = summary
        if chapter in books.setdefault(book, {}):
            yield Refused(
                file, f"the chapter {quote_short(chapter)} of {quote_short(book)} occurs twice", row.raw
            )
        else:
            books[book][chapter] = text
    for book, chapters in books.items():
        if len(chapters) not in SUMMARIES:
            yield Refused(file, f"the book has {len(chapters)} summaries, not 3 to 86", book, book)
        else:
            yield from _orders(book, _in_order(chapters))


def _orders(book: str, summaries: Sequence[str]) -> Iterator[Draft]:
    source = random.Random(f"{SEED}\x1f{book}")
    orders: dict[tuple[int, ...], None] = {}
    while len(orders) < ORDERS:
        orders[tuple(source.sample(range(len(summaries)), len(summaries)))] = None
    for number, order in enumerate(orders):
        document = "\n\n".join(f"Summary {n}:\n{summaries[place]}" for n, place in enumerate(order, start=1))
        gold = ", ".join(str(order.index(place) + 1) for place in range(len(order)))
        yield Draft(f"{book}-{number}", document, [gold], n=len(order))


def _in_order(chapters: Mapping[str, str]) -> list[str]:
    try:
        return [chapters[name] for name in sorted(chapters, key=float)]
    except ValueError:
        return list(chapters.values())


def _read(
    rows: Sequence[SourceRow], read: Callable[[Mapping[str, Any]], T], file: str
) -> Iterator[tuple[SourceRow, T | Refused]]:
    """Each row with what `read` makes of it, or refused."""
    for row in rows:
        try:
            if row.fault:
                raise InvalidRow(row.fault)
            yield row, read(row.value)
        except InvalidRow as error:
            yield row, Refused(file, str(error), row.raw)


def _cell(row: Mapping[str, Any], key: str) -> str:
    value = need(row, key)
    text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if not is_text(text) or not text.strip():
        raise InvalidRow(f"{key} is blank or not a text")
    return text.strip()


def _reviews(rows: Sequence[SourceRow]) -> Iterator[SourceRow]:
    """The rows of a table of reviews; of a hotel of SPACE (`entity_id`, `reviews`) one for each of its reviews."""
    for row in rows:
        if row.fault or "reviews" not in row.value:
            yield row
            continue
        try:
            reviews = objects_of(row.value["reviews"], "reviews")
        except InvalidRow as error:
            yield replace(row, fault=str(error))
            continue
        for review in reviews:
            value = {"hotel": row.value.get("entity_id"), "rating": review.get("rating")}
            sentences = review.get("sentences")
            if isinstance(sentences, list) and all(map(is_text, sentences)):
                yield SourceRow(row.number, value | {"review": " ".join(map(str.strip, sentences))})
            else:
                yield SourceRow(row.number, value, fault="sentences are no texts")


def _review(row: Mapping[str, Any]) -> tuple[str, int, str]:
    rating = _cell(row, "rating")
    try:
        points = float(rating)
    except ValueError:
        points = 0.0
    if points not in (1, 2, 3, 4, 5):
        raise InvalidRow(f"the rating is {quote_short(rating)}, not 1 to 5")
    return _cell(row, "hotel"), int(points), _cell(row, "review")


def _summary(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return _cell(row, "book"), _cell(row, "chapter"), _cell(row, "summary")


TABLES = {"space_digest": space_digest, "book_sum_sort": book_sum_sort}
