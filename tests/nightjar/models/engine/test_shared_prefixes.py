"""What rows begin with alike, against every pair of rows."""

from __future__ import annotations

from itertools import groupby, pairwise

from hypothesis import given
from hypothesis import strategies as st

from nightjar.models.engine.shared_prefixes import common_length, shared_lengths

BEGINNINGS = [[], [1, 2, 3], [1, 2, 3, 4, 4, 4], [5] * 9, [5] * 4]
ROWS = st.lists(
    st.tuples(st.sampled_from(BEGINNINGS), st.lists(st.integers(0, 3), max_size=4)).map(
        lambda parts: [*parts[0], *parts[1]] or [1]
    ),
    max_size=14,
)


@given(rows=ROWS, least=st.integers(1, 4), data=st.data())
def test_rows_that_begin_alike_are_neighbours_and_share_what_all_of_them_have(
    rows: list[list[int]], least: int, data: st.DataObject
) -> None:
    order, shared = shared_lengths(rows, least)
    assert sorted(order) == list(range(len(rows)))
    assert all(length == 0 or least <= length <= len(row) for row, length in zip(rows, shared, strict=True))
    # Two groups may have one beginning, if a group that shares more is between them.
    for beginning, members in groupby(order, lambda row: rows[row][: shared[row]]):
        assert not beginning or len(list(members)) > 1
    # A row that shares nothing begins as no neighbour does, or as one that shares more than twice as much with another.
    for place, (left, right) in enumerate(pairwise(order)):
        if not shared[left] and not shared[right]:
            common = common_length([rows[left], rows[right]])
            after = order[place + 2 : place + 3]
            assert common < least or (after and common_length([rows[right], rows[after[0]]]) > 2 * common)
    # In whichever order they are given.
    places = data.draw(st.permutations(range(len(rows))))
    again = shared_lengths([rows[place] for place in places], least)[1]
    assert again == [shared[place] for place in places]


def test_a_document_with_one_question_does_not_keep_the_others_from_sharing_theirs() -> None:
    head = [9] * 30
    rows = [[*head, body, *[body] * 500, question] for body in (1, 2, 2, 3, 4, 4, 4) for question in (5,)]
    for number, row in enumerate(rows):
        row.append(number)
    shared = shared_lengths(rows)[1]
    assert shared[1:3] == [532, 532]
    assert shared[4:] == [532, 532, 532]
    assert shared[0] == 0
