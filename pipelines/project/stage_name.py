"""The name of a stage as DVC writes it: `split`, `train@tk_instruct`, `sub/dvc.yaml:train@tk_instruct`."""

from __future__ import annotations

from dataclasses import dataclass

GRAPH = "dvc.yaml"


@dataclass(frozen=True)
class StageName:
    """`file` is where the stage is defined, `item` its item of a `foreach`: empty for a stage of its own."""

    stage: str
    item: str = ""
    file: str = GRAPH

    @classmethod
    def of(cls, name: str) -> StageName:
        """The parts of a name."""
        group, _, item = name.partition("@")
        file, _, stage = group.rpartition(":")
        return cls(stage, item, file or GRAPH)

    @classmethod
    def predict(cls, benchmark: str, system: str) -> StageName:
        """The stage that lets a system answer a benchmark."""
        return cls("predict", f"{benchmark}-{system}")

    @property
    def group(self) -> str:
        """The name without the item: that of all items together."""
        return self.stage if self.file == GRAPH else f"{self.file}:{self.stage}"

    def __str__(self) -> str:
        return f"{self.group}@{self.item}" if self.item else self.group
