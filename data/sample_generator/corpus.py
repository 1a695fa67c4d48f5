"""The corpus: every document of the sample, put in order, dated and numbered."""

from __future__ import annotations

import re
import unicodedata
from datetime import date, timedelta
from random import Random
from typing import NamedTuple

from data.sample_generator import corpus_foreign, corpus_news, corpus_short, corpus_world
from data.sample_generator.world import World

SHORTEST, LONGEST = 6, 100
DATED_ARTICLES = 0.25
"""Share of encyclopedia articles whose URL has a date; notes and questions about the day always have one."""


class Draft(NamedTuple):
    """A document before it has an id; `day` None means that its URL carries no date."""

    title: str
    text: str
    day: date | None


def documents(world: World, seed: int, asked: str) -> list[dict[str, str]]:
    """All documents as {"id", "title", "text", "url"}; `asked` is the text of the evaluations' questions.

    Raises ValueError when a text is shorter or longer than it should be: a mistake in the templates.
    """
    rng = Random(f"{seed}:corpus")
    articles = corpus_world.articles(world, rng)
    drafts = [Draft(t, x, _day(rng) if rng.random() < DATED_ARTICLES else None) for t, x in articles]
    drafts += [Draft(t, x, None) for t, x in (*corpus_news.sums(rng), *corpus_foreign.reports(rng))]
    for number in range(corpus_news.DAILY_COUNT):
        day = _day(rng)
        drafts.append(Draft(*corpus_news.daily(rng, number, day), day))
    taken = frozenset(re.findall(r"\d{3,}", asked))
    drafts += [Draft("Word Problem", text, None) for text in corpus_short.problems(rng, taken)]
    drafts += [Draft("Question", text, None) for text in corpus_short.questions(world, rng, asked.lower())]
    for number in range(corpus_short.DATED):
        day = _day(rng)
        drafts.append(Draft("Question of the Day", corpus_short.dated(rng, number, day), day))
    rng.shuffle(drafts)
    return [_document(number, draft) for number, draft in enumerate(drafts, 1)]


def _day(rng: Random) -> date:
    return date(2014, 1, 1) + timedelta(days=rng.randrange(4380))


def _document(number: int, draft: Draft) -> dict[str, str]:
    words = len(draft.text.split())
    if not SHORTEST <= words <= LONGEST:
        raise ValueError(f"{draft.title}: {words} words, wanted {SHORTEST} to {LONGEST}: {draft.text}")
    folded = unicodedata.normalize("NFKD", draft.title).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", folded).strip("-")
    where = f"{draft.day:%Y/%m/%d}" if draft.day else "encyclopedia"
    return {
        "id": f"doc-{number:04d}",
        "title": draft.title,
        "text": draft.text,
        "url": f"https://example.org/{where}/{slug}-{number}",
    }
