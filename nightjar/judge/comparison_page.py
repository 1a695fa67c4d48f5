"""Export of a blind pairwise comparison: one HTML page for the judges, and the key that resolves it.

The paper asks people which of two answers they prefer, ties allowed (section 6.2). The page shows the answers left
and right without telling whose they are; which side a set is on is drawn for every item and is in the key alone.
Everything on the page is text to its script, never markup, and its content security policy allows the page's own
style and script by their digests and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from nightjar.benchmarks.aggregate import category_name
from nightjar.core.arguments import AnyPath
from nightjar.core.errors import NightjarError
from nightjar.core.files import FILE, check_output, kind, write_output
from nightjar.judge.judge_files import ANSWERS_FORMAT, Item, PageKey, Place
from nightjar.judge.sets import REFERENCES, Instance, JudgedTask, Key, Texts, match, read_set

TASKS_BY_DEFAULT = 10
_HERE = Path(__file__).parent


@dataclass(frozen=True)
class AnswerPair:
    """One item: an instance and its two answers, stripped of outer blanks, which would tell a model apart."""

    instance: Instance
    a: str
    b: str


def export(
    a: str,
    b: str,
    output: AnyPath,
    texts: Texts,
    tasks: int | None = None,
    instances: int = 5,
    seed: int = 0,
    equal_are_ties: bool = False,
) -> dict[str, Any]:
    """Write the page `output`, such as page.html, and its key page.key.json; returns what was written.

    `tasks` tasks (10, or as many as there are, if None) are drawn by `seed`, and `instances` instances of each. With
    `equal_are_ties` items whose two answers are the same text are not shown: the key counts them as ties. The same
    arguments give the same bytes.
    """
    output = Path(output)
    key_path = _key_path(output)
    inputs = [*(Path(name) for name in (a, b) if name != REFERENCES), texts.where]
    check_output(output, inputs)
    check_output(key_path, inputs)
    if (key_kind := kind(key_path)) not in ("", FILE):
        raise NightjarError(key_kind, key_path, "the key needs this name: choose another --output")
    if a == b:
        raise NightjarError("a set is compared with itself", a, "name two different sets")
    sets = (read_set(a), read_set(b))
    first, second = match(sets, texts)
    chosen = choose(sorted(first or second or ()), tasks, instances, seed)
    pairs = [
        AnswerPair(
            instance,
            (first[instance.task_id, instance.id] if first is not None else instance.gold).strip(),
            (second[instance.task_id, instance.id] if second is not None else instance.gold).strip(),
        )
        for instance in texts.instances(chosen)
    ]
    equal = [pair for pair in pairs if equal_are_ties and pair.a == pair.b]
    shown_pairs = [pair for pair in pairs if not (equal_are_ties and pair.a == pair.b)]
    if not shown_pairs:
        raise NightjarError(
            "all answers are the same in both sets", f"{a} and {b}", "there is nothing to judge"
        )
    names = {
        (pair.instance.task_id, pair.instance.id): _digest(seed, "item", pair)[:16] for pair in shown_pairs
    }
    left_items = sides(list(names.values()), seed)
    data = page_data(shown_pairs, texts.tasks(pair.instance for pair in shown_pairs), names, left_items)
    digest = hashlib.sha256(data.encode()).hexdigest()
    key = PageKey(
        format="nightjar-judge-key/1",
        page=digest,
        a=a,
        b=b,
        seed=seed,
        items=[
            Item(item=name, left="a" if name in left_items else "b", **_place(pair))
            for name, pair in zip(names.values(), shown_pairs, strict=True)
        ],
        equal=[Place(**_place(pair)) for pair in equal],
    )
    _check_key(key_path, key)
    write_output(key_path, key.to_json(), inputs)
    write_output(output, render(data, digest), inputs)
    return {
        "page": str(output),
        "key": str(key_path),
        "digest": digest,
        "a": a,
        "b": b,
        "tasks": len({pair.instance.task_id for pair in pairs}),
        "items": len(shown_pairs),
        "equal": len(equal),
        "left_is_a": len(left_items),
    }


def _place(pair: AnswerPair) -> dict[str, str]:
    instance = pair.instance
    return {
        "task_id": instance.task_id,
        "id": instance.id,
        "category": category_name(instance.category),
    }


def choose(keys: Collection[Key], tasks: int | None, instances: int, seed: int) -> list[Key]:
    """`instances` instances of each of `tasks` tasks, drawn by `seed` from tasks that have so many.

    Tasks come in random order, and so do the instances of each; those of a task stay together, for a judge reads
    its definition once. A draw depends on the names alone, not on what else there is.
    """
    by_task: dict[str, list[Key]] = {}
    for key in keys:
        by_task.setdefault(key[0], []).append(key)
    large = [task for task, members in by_task.items() if len(members) >= instances]
    count = min(TASKS_BY_DEFAULT, len(large)) if tasks is None else tasks
    if not large or len(large) < count:
        what = (
            f"{len(large)} of {len(by_task)} tasks have {instances} instances, and {max(count, 1)} are wanted"
        )
        raise NightjarError(what, "--tasks and --instances", "ask for fewer")
    drawn = sorted(large, key=lambda task: _digest(seed, "task", task))[:count]
    return [
        key
        for task in drawn
        for key in sorted(by_task[task], key=lambda key: _digest(seed, "instance", *key))[:instances]
    ]


def sides(items: Collection[str], seed: int) -> set[str]:
    """The items on which set A is on the left: a random half, so that a liking for one side cancels out."""
    order = sorted(items, key=lambda item: _digest(seed, "side", item))
    half, odd = divmod(len(order), 2)
    more = odd if _digest(seed, "odd", *order) < "8" else 0
    return set(order[: half + more])


def _digest(seed: int, *of: str | AnswerPair) -> str:
    names = [f"{it.instance.task_id}\x1f{it.instance.id}" if isinstance(it, AnswerPair) else it for it in of]
    return hashlib.sha256("\x1f".join(["judge", str(seed), *names]).encode()).hexdigest()


def page_data(
    pairs: list[AnswerPair], tasks: dict[str, JudgedTask], names: dict[Key, str], left_items: set[str]
) -> str:
    """The data of the page's script, as JSON in ASCII that is safe inside a script element.

    Neither "<" nor "&" occurs in it, so that no text can end the element or begin a comment; control characters
    are escaped as JSON asks.
    """
    order = {
        name: number for number, name in enumerate(dict.fromkeys(pair.instance.task_id for pair in pairs))
    }
    items = []
    for pair in pairs:
        name = names[pair.instance.task_id, pair.instance.id]
        answers = (pair.a, pair.b) if name in left_items else (pair.b, pair.a)
        items.append(
            {
                "item": name,
                "task": order[pair.instance.task_id],
                "input": pair.instance.input,
                "left": answers[0],
                "right": answers[1],
            }
        )
    task_texts = [
        {
            "definition": tasks[name].definition,
            "positive": tasks[name].positive,
            "negative": tasks[name].negative,
        }
        for name in order
    ]
    text = json.dumps({"tasks": task_texts, "items": items}, ensure_ascii=True, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def render(data: str, digest: str) -> str:
    """The page as HTML; `digest` names it in the browser's storage and in the answers."""
    # The final newline is the template's own; the digests are of exactly what is between the tags.
    style = (_HERE / "judge.css").read_text(encoding="utf-8").strip()
    script = (_HERE / "judge.js").read_text(encoding="utf-8").strip()
    environment = Environment(loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined)
    return environment.get_template("judge.html.j2").render(
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        style_hash=_source(style),
        script_hash=_source(script),
        data=Markup(data),  # noqa: S704 - page_data leaves no markup in it
        digest=digest,
        answers_format=ANSWERS_FORMAT,
    )


def _source(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _key_path(output: Path) -> Path:
    if output.suffix.lower() not in (".html", ".htm"):
        raise NightjarError("the page's name does not end in .html", output, "name it page.html")
    return output.with_suffix(".key.json")


def _check_key(path: Path, key: PageKey) -> None:
    """Only the key of the same page is replaced."""
    if kind(path) == FILE and f'"page": "{key.page}"' not in path.read_text("utf-8", "replace"):
        fix = "choose another --output, or remove it if no answers are awaited"
        raise NightjarError("the key of another page, without which its answers are lost", path, fix)
