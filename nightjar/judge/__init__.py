"""Blind comparison of two sets of answers by people: pages, verdicts, agreement.

`export_page` writes a page that shows pairs of answers without saying whose they are, and its key; `score_answers`
scores the files that the judges save with it.
"""

from typing import TYPE_CHECKING

from nightjar.core.startup import lazy

if TYPE_CHECKING:
    from nightjar.judge.comparison_page import export as export_page
    from nightjar.judge.judged_credit import score as score_answers
    from nightjar.judge.sets import Texts

__all__ = ["Texts", "export_page", "score_answers"]

__getattr__, __dir__ = lazy(__name__)
