"""Names of days and months, and the first date that a text names."""

from __future__ import annotations

import re
from datetime import date

# Written out, as names from the system would follow its locale.
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)

_MONTH = "|".join(MONTHS)
_DAY = r"(?<![0-9])([0-9]{1,2})(?:st|nd|rd|th)?"
_DATE = re.compile(
    rf"\b({_MONTH})\s+{_DAY},?\s+([0-9]{{4}})(?![0-9])"  # March 13, 2026, with or without a weekday before it
    rf"|{_DAY}\s+({_MONTH}),?\s+([0-9]{{4}})(?![0-9])"  # 13 March 2026
    r"|(?<![0-9\-])([0-9]{4})-([0-9]{2})-([0-9]{2})(?![0-9\-])",  # 2026-03-13
    re.IGNORECASE,
)


def find_date(text: str) -> date | None:
    """The first date named in `text` that exists, or None.

    Read are "March 13, 2026", "13 March 2026" (ordinals such as 13th too) and "2026-03-13". A weekday
    before it is not checked, and a date without its year is none.
    """
    for match in _DATE.finditer(text):
        groups = match.groups()
        if groups[0]:
            month, day, year = MONTHS.index(groups[0].capitalize()) + 1, groups[1], groups[2]
        elif groups[4]:
            day, month, year = groups[3], MONTHS.index(groups[4].capitalize()) + 1, groups[5]
        else:
            year, month, day = groups[6], int(groups[7]), groups[8]
        try:
            return date(int(year), month, int(day))
        except ValueError:  # the 30th of February; a later date may do
            continue
    return None
