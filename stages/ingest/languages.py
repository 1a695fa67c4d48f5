"""The names of languages after ISO 639, spelled as the contributors' checks want them (check 11)."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=1)
def language_names() -> frozenset[str]:
    """Every name of a language or group of languages in ISO 639-1 to 639-5, without the words
    "(individual language)" and "languages".

    Other and former names count too: tasks were named by the tables of 2016, in which today's Khmer was
    Central Khmer. So a few spellings pass that the published check, bound to those tables, refused.
    """
    from iso639 import iter_langs  # some 50 ms

    return frozenset(
        name.replace("(individual language)", "").replace(" languages", "").strip()
        for language in iter_langs()
        for name in (language.name, *language.other_names())
    )
