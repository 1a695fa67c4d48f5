"""The source of a model, as people write it in params.yaml and on the command line. Nothing is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["directory", "package", "hub", "server", "chat", "entry"]


@dataclass(frozen=True)
class ModelSource:
    """A directory, `package:NAME`, `hub:NAME@REVISION`, `server:URL#MODEL`, `chat:URL#MODEL` or `entry:NAME#ARGUMENT`.

    `name` is the path of a directory, or the name of a package, of a repository of the hub or of an entry point.
    `argument` is the revision of a repository, the address of a server, or what the class of an entry point gets.
    """

    text: str
    kind: Kind
    name: str
    argument: str = ""

    @classmethod
    def parse(cls, text: str) -> ModelSource:
        """Parse a source. A text without a kind is the path of a directory."""
        kind, colon, named = text.partition(":")
        match kind if colon else "":
            case "package":
                return cls(text, "package", named)
            case "hub":
                repository, _, revision = named.partition("@")
                return cls(text, "hub", repository, revision)
            case "server" | "chat" as server:
                return cls(text, server, server, named)
            case "entry":
                name, _, argument = named.partition("#")
                return cls(text, "entry", name, argument)
            case _:
                return cls(text, "directory", text)

    @property
    def remote(self) -> bool:
        """True for a model without weights on this machine: it answers from elsewhere."""
        return self.kind in ("server", "chat", "entry")

    @property
    def installed(self) -> bool:
        """True for weights that a package or the hub brings, in a folder that the source does not name."""
        return self.kind in ("package", "hub")

    @property
    def short_name(self) -> str:
        """The last part of the name: that of a repository without its owner, or of a directory."""
        return Path(self.name).name
