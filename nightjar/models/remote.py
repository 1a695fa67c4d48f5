"""Sources of models that name no files: what kind of source a text is (`backends` makes the models)."""

from __future__ import annotations

ENTRY, SERVER, CHAT = KINDS = ("entry", "server", "chat")


def is_remote(source: str) -> bool:
    """Return True if a source names no files, but a model that answers from elsewhere."""
    kind, colon, _ = source.partition(":")
    return bool(colon) and (kind in KINDS)


def split(source: str) -> tuple[str, str]:
    """Kind and argument of a source that names no files; the kind of an entry point is its name."""
    kind, _, argument = source.partition(":")
    if kind == ENTRY:
        kind, _, argument = argument.partition("#")
    return kind, argument
