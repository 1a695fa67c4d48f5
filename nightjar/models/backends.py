"""Models by the source that names them.

A source is a directory of weights, or `KIND:ARGUMENT` for what answers from elsewhere: `server:URL#MODEL`, or
`entry:NAME` and `entry:NAME#ARGUMENT` for the class of another package, by the entry point group `nightjar.models`:

    [project.entry-points."nightjar.models"]
    mine = "my_package:MyModel"
"""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from nightjar.core import paths, plugins
from nightjar.core.errors import NightjarError
from nightjar.models.chat_template import ChatTemplate, TemplatedModel
from nightjar.models.directory.weights import weight_files
from nightjar.models.interface import Model
from nightjar.models.source import ModelSource
from nightjar.models.tokenizer import is_encoder_decoder
from nightjar.params.chat import Chat
from nightjar.params.predict import PredictBenchmark

GROUP = "nightjar.models"
# The class of each kind of source that names no files.
BUILT_IN = {
    "server": "nightjar.models.servers.completion_server:CompletionServer",
    "chat": "nightjar.models.servers.chat_server:ChatServer",
}


def backend(source: str, base: Path = paths.LANGUAGE_MODEL) -> type[Model]:
    """The class of the model that a source names; nothing is loaded. `base` is the folder of the language model, which
    decides for weights.
    """
    parsed = ModelSource.parse(source)
    if not parsed.remote:
        from nightjar.models.local import CausalModel, EncoderDecoderModel

        weight_files(base)
        return EncoderDecoderModel if is_encoder_decoder(base) else CausalModel
    if parsed.kind == "entry":
        point = plugins.named(GROUP, parsed.name, source)
    else:
        point = EntryPoint(parsed.kind, BUILT_IN[parsed.kind], GROUP)
    loaded_class: Any = plugins.load(point)
    if Model not in getattr(loaded_class, "__mro__", ()) or not isinstance(
        getattr(loaded_class, "can", None), frozenset
    ):
        what = "it is no model: it is not a subclass, or its `can` is no frozenset"
        raise NightjarError(what, plugins.place(point), "name a subclass of nightjar.models.Model")
    model_class: type[Model] = loaded_class
    return model_class


def open_model(
    source: str,
    base: Path,
    settings: PredictBenchmark,
    window: int,
    seed: int,
    threads: int,
    chat: Chat | None = None,
) -> Model:
    """The model of a source, for the block of a `with`.

    Of weights, `base` is the folder of the language model, and `source` that of an adapter or of a trained model, or
    again the language model. `window`: as of `LocalModel`. With `chat`, weights are asked through their chat template.
    """
    kind: Any = backend(source, base)
    parsed = ModelSource.parse(source)
    if parsed.remote:
        with plugins.calling(source, "this model cannot be made"):
            remote: Model = kind(parsed.argument)
        if chat and "chat" in remote.can:
            remote.chat = chat
        return remote
    from nightjar.models.engine.loading import load, prepare

    prepare(seed, threads)
    adapter = None if Path(source) in (base, paths.LANGUAGE_MODEL) else source
    lm = load(base, settings.precision, adapter)
    local: Model = kind(lm, settings.batch_size, settings.batch_tokens, window)
    if chat is None:
        return local
    return TemplatedModel(local, ChatTemplate(base, chat.date, chat.template_name))
