"""The group predict of params.yaml: the systems that answer, and how each benchmark's questions are answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from nightjar.core import paths
from nightjar.core.config import Count, Item, Name, Positive, StrictModel
from nightjar.params.chat import Chat as Chat
from nightjar.params.groups import ALL_TOOLS, Artifact, Defaults

EncodingName = Literal[
    "input_only",
    "task_name",
    "def",
    "pos1",
    "pos2",
    "pos4",
    "def_pos1",
    "def_pos2",
    "def_pos4",
    "def_pos2_neg2",
    "def_pos2_neg2_expl",
    "tk_instruct",
]


class PredictBenchmark(StrictModel):
    """`batch_tokens` bounds the tokens of all rows in memory: prompts and longest answers. `encoding` names another
    encoding than the training's (null: the same). `task_limits`: whether an answer also ends at the tokens that the
    card gives its task. `neighbours`: how many training questions vote in k-NN.

    For tasks that are answered by a ranked list: `samples` of each question are drawn, and the first `keep` answers of
    the list remain. `require_full_stop`: a sample without a full stop is an empty answer, which is listed; otherwise it
    is kept as it is, and no empty answer is listed.
    """

    encoding: EncodingName | None
    max_new_tokens: Positive
    task_limits: bool
    batch_size: Positive
    batch_tokens: Positive
    temperature: Annotated[float, Field(ge=0, le=100)]
    top_p: Annotated[float, Field(gt=0, le=1)]
    cut_at_full_stop: bool
    precision: Literal["float32", "bfloat16"]
    stop: list[Annotated[str, Field(min_length=1)]]
    call_top_k: Count
    max_calls: Count
    neighbours: Positive
    samples: Positive
    keep: Positive
    require_full_stop: bool

    @model_validator(mode="after")
    def _of_full_stops(self) -> PredictBenchmark:
        if self.require_full_stop and not self.cut_at_full_stop:
            raise ValueError("require_full_stop is for answers that are cut; set cut_at_full_stop to true")
        return self


# How a system without a chat template is asked, and what stands for the template of a chat server in facts.
PLAIN, SERVER = "no chat template", "server"


def prompting(facts: Mapping[str, Any]) -> str:
    """Describe how a system's prompts were given to its model, by the facts of the stage predict."""
    chat = facts.get("chat")
    if not isinstance(chat, Mapping):
        return PLAIN
    message = chat.get("system_message")
    parts = ["chat template of the server" if chat.get("template") == SERVER else "chat template"]
    parts[0] += f" {name}" if (name := chat.get("template_name")) else ""
    parts += [] if message is None else [f"system message {json.dumps(message, ensure_ascii=False)}"]
    parts += ["examples as turns"] if chat.get("examples_as_turns") else []
    parts += [f"date {chat['date']}"] if chat.get("date") else []
    return ", ".join(parts)


def _set_of_tools(value: Any) -> Any:
    """The name of a set of tools. Raises ValueError for a path, which stood there before systems had an index."""
    if isinstance(value, str) and "/" in value:
        name = "none" if value == paths.NONE.as_posix() else ALL_TOOLS
        raise ValueError(f"it is the index of these tools; write tools: {name} and index: {value}")
    return value


class System(StrictModel):
    """A system on a benchmark: how it answers, its weights, the artifact with its evidence, and its tools.

    `kind` is its predictor: `model` answers with a language model, `reader` with a reader for each task, `knn` with the
    labels of the nearest training questions by an encoder, `extractive` with what a language model extracts from
    passages, `span` with a span of the question's own passage, `file` with a file of predictions in the benchmark's own
    form. `nightjar evaluate` gives the weights of a model behind a server as server:URL. `tools` names the set of
    tools that it may call, in the group `tools`. `index` is what these search; for a reader, it has the passages of the
    evidence. `calls`: whether it may call tools ("on"), must not begin a call
    ("disabled"), or is not steered ("off"); None is "on" if its recipe trained with calls, else "off". `chat`: whether
    and how its prompts are messages of a chat.
    """

    kind: Literal["model", "reader", "knn", "extractive", "span", "file"]
    benchmark: Item
    system: Item
    weights: Name
    evidence: Artifact
    tools: Annotated[Item, BeforeValidator(_set_of_tools)]
    index: Artifact
    calls: Literal["on", "disabled", "off"] | None = None
    chat: Chat | None = None


class Predict(Defaults[PredictBenchmark], extra="allow"):
    """`systems` lists what is predicted, as BENCHMARK-SYSTEM. How a benchmark's questions are answered is `defaults`
    and the group of its name.
    """

    systems: dict[Name, System]

    def benchmark(self, name: str) -> PredictBenchmark:
        """The settings of a benchmark."""
        return self.settings("predict", name)

    def of(self, benchmark: str) -> list[str]:
        """The systems of a benchmark, in their order."""
        return [one.system for one in self.systems.values() if one.benchmark == benchmark]

    @model_validator(mode="after")
    def _named(self) -> Predict:
        for name, system in self.systems.items():
            if name != f"{system.benchmark}-{system.system}":
                raise ValueError(f"systems.{name} is {system.benchmark}-{system.system}; give it that name")
        return self
