"""The stand-in tokenizer of the golden vectors: a run of non-blanks with the blanks after it, or leading blanks."""

from __future__ import annotations

import re


class Words:
    def __init__(self) -> None:
        self.texts: list[str] = []
        self.numbers: dict[str, int] = {}

    def encode(self, text: str) -> list[int]:
        ids = []
        for token in re.findall(r"\S+\s*|\s+", text):
            if token not in self.numbers:
                self.numbers[token] = len(self.texts)
                self.texts.append(token)
            ids.append(self.numbers[token])
        return ids

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        return self.encode(text), [found.span() for found in re.finditer(r"\S+\s*|\s+", text)]

    def decode(self, ids: list[int]) -> str:
        return "".join(self.texts[id] for id in ids)
