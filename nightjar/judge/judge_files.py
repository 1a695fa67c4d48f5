"""The two files of a comparison beside its page: the key, and the answers that a judge saves."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nightjar.core.errors import NightjarError
from nightjar.core.files import PIPE, check_input
from nightjar.core.json_text import quote_short, read_object

Side = Literal["left", "right", "tie"]
ANSWERS_FORMAT = "nightjar-judge-answers/1"


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Place(_File):
    """An instance that no judge sees, because its two answers are equal."""

    task_id: str
    id: str
    category: str


class Item(Place):
    """An instance on the page, under the name `item`; `left_set` is the set whose answer is on the left."""

    item: str
    left_set: Literal["a", "b"] = Field(alias="left")


class PageKey(_File):
    """The key that resolves the answers to the page with the digest `page`."""

    format: Literal["nightjar-judge-key/1"]
    page: str
    a: str
    b: str
    seed: int
    items: list[Item] = Field(min_length=1)
    equal: list[Place]

    def to_json(self) -> str:
        """The file's text; equal keys give equal texts."""
        return orjson.dumps(self.model_dump(by_alias=True), option=orjson.OPT_INDENT_2).decode() + "\n"


class Answer(_File):
    """A judge's verdict on one item: the side whose answer is better, or a tie."""

    item: str
    answer: Side


class AnswersFile(_File):
    """The file that the page saves. `items` is the number of items on the page, answered or not."""

    format: Literal["nightjar-judge-answers/1"]
    page: str
    judge: str
    items: int
    answers: list[Answer]


_F = TypeVar("_F", PageKey, AnswersFile)


def read_key(path: Path) -> PageKey:
    """The key at `path`."""
    key = _read(path, PageKey, "the key that `nightjar judge export` wrote beside the page")
    names = [item.item for item in key.items]
    if len(set(names)) < len(names):
        raise NightjarError("an item occurs twice", path, "export the page again")
    place_keys: set[tuple[str, str]] = set()
    for place in (*key.items, *key.equal):
        if (place.task_id, place.id) in place_keys:
            name = quote_short(f"{place.task_id}:{place.id}", quoted=False)
            raise NightjarError(f"the instance {name} occurs twice", path, "export the page again")
        place_keys.add((place.task_id, place.id))
    return key


def read_answers(path: Path, key: PageKey) -> AnswersFile:
    """The answers at `path` to the page of `key`."""
    file = _read(path, AnswersFile, "a file that the page's button Save answers wrote")
    if file.page != key.page:
        what = f"these are answers to the page {file.page[:12]}, and the key is of {key.page[:12]}"
        raise NightjarError(what, path, "give the key that was written with the judge's page")
    page_items = {item.item for item in key.items}
    answered: set[str] = set()
    for number, answer in enumerate(file.answers, start=1):
        if answer.item not in page_items:
            raise NightjarError(
                f"answer {number} is to the item {quote_short(answer.item)}, which the page does not have",
                path,
                "ask the judge to save the answers again",
            )
        if answer.item in answered:
            what = f"answer {number} is the second to the item {answer.item!r}"
            raise NightjarError(what, path, "keep the one that is meant")
        answered.add(answer.item)
    return file


def _read(path: Path, model: type[_F], description: str) -> _F:
    check_input(path, PIPE)
    try:
        return model.model_validate(read_object(path, f"give {description}"))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = quote_short(".".join(str(part) for part in first["loc"]), quoted=False)
        raise NightjarError(f"{place}: {first['msg']}", path, f"give {description}") from None
