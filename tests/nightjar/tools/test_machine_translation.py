"""Translation: which input is translated, by which engine, and what an engine that fails costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nightjar.core.errors import NightjarError
from nightjar.tools import Call, Text, Toolbox, ToolRequest, make, translators
from nightjar.tools.machine_translation import LONGEST, QUOTED, MachineTranslation
from nightjar.tools.translators import NLLB, Few, TranslationModel


class Fixed:
    """Translates some languages by naming itself."""

    def __init__(self, identity: str, *languages: str) -> None:
        self.identity, self.languages = identity, languages

    def knows(self, language: str) -> bool:
        return language in self.languages

    def translate(self, texts: Sequence[tuple[str, str]]) -> list[str | None]:
        return [f"{self.identity}: {language}: {text}" for language, text in texts]


def test_the_engine_translates_the_languages_that_it_knows() -> None:
    tool = MachineTranslation(Fixed("engine", "es", "de"))
    asked = [SPANISH, ENGLISH, GERMAN, "12 + 3", "hola", SPANISH + " x" * LONGEST, "", f"{SPANISH}\n"]
    assert tool.run([ToolRequest(text) for text in asked]) == [
        f"engine: es: {SPANISH}",
        None,  # English
        f"engine: de: {GERMAN}",
        None,
        "engine: de: hola",
        None,
        None,
        f"engine: es: {SPANISH}",
    ]
    why = [tool.why(ToolRequest(text)) for text in (ENGLISH, "12 + 3", asked[5], "O homem suprimido")]
    for reason, told in zip(why, ("it is English", "no letter", "too long", "does not know"), strict=True):
        assert told in reason


@pytest.mark.parametrize("text", ["tortuga", "Hund", "chat noir", "casa", "南京", "O homem suprimido"])
def test_a_word_or_two_is_translated(text: str) -> None:
    """The confidence of 0.8 is for the choice of documents; the first is an example of the paper."""
    (result,) = MachineTranslation(Fixed("all", "es", "de", "fr", "it", "zh", "pt")).run([ToolRequest(text)])
    assert result is not None and result.endswith(f": {text}")
    certain = {"chat noir": "fr", "casa": "it", "南京": "zh", "O homem suprimido": "pt"}.get(text)
    assert certain is None or result == f"all: {certain}: {text}"
    assert MachineTranslation(Fixed("none")).run([ToolRequest(text)]) == [None]


def test_a_certain_language_is_read_as_no_other() -> None:
    assert MachineTranslation(Fixed("one", "es")).run([ToolRequest("O homem suprimido")]) == [None]
    # English with confidences of 0.73 and 0.76.
    tool = MachineTranslation(Fixed("all", "es", "de", "fr", "it"))
    for text in ("the turtle", "house"):
        assert tool.run([ToolRequest(text)]) == [None] and tool.why(ToolRequest(text)) == "it is English"


def test_documents() -> None:
    tool = MachineTranslation(Fixed("none"))
    quoted = f"They wrote on the wall: {SPANISH}. That is not what we wanted to read."
    assert tool.suits(Text(quoted), 0.5) == QUOTED
    assert tool.suits(Text(f"{ENGLISH}.\n{quoted}\n{ENGLISH}."), 0.5)
    assert not tool.suits(Text(quoted.replace(": ", "\n").replace(". ", "\n")), 0.5)
    assert not tool.suits(Text(ENGLISH), 0.5)
    # The context of a target and the target are read as one text.
    assert tool.suits(Text("That is what they wanted.", f"They wrote on the wall:\n{SPANISH}"), 0.5)


class TestSettings:
    def test_a_model_is_needed(self) -> None:
        with pytest.raises(NightjarError, match="needs a translation model"):
            make("machine_translation", None, {"engine": "model"})
        with pytest.raises(NightjarError, match="no such model directory"):
            make("machine_translation", None, {"engine": "model", "model": "nowhere"})

    def test_the_engine_is_a_model_or_a_language_model(self, tiny_model: Path, tiny_t5: Path) -> None:
        sources = {"language_model": str(tiny_model), "model": str(tiny_t5)}
        for settings, kind in (
            ({}, Few),
            ({"engine": "language_model"}, Few),
            ({"engine": "model"}, TranslationModel),
        ):
            tool = make("machine_translation", None, sources | settings)
            assert isinstance(tool, MachineTranslation) and type(tool.translator) is kind
        with pytest.raises(NightjarError, match="'model' or 'language_model'"):
            make("machine_translation", None, {"engine": "auto"})


def test_a_translation_model_without_codes_reads_any_language(
    tiny_t5: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translators, "TOKENS", 8)
    tool = make("machine_translation", None, {"engine": "model", "model": str(tiny_t5)})
    results = tool.run([ToolRequest(SPANISH), ToolRequest(GERMAN), ToolRequest(ENGLISH)])
    assert results[0] and results[1] and results[2] is None


def test_a_model_that_does_not_translate_costs_its_call_only(tiny_model: Path) -> None:
    tool = make("machine_translation", None, {"engine": "model", "model": str(tiny_model)})
    toolbox = Toolbox([tool])
    assert toolbox.run([Call("MT", SPANISH), Call("MT", ENGLISH)]) == [None, None]
    assert toolbox.problems == {"MT: failed": 1}


def test_the_language_model_gets_the_name_of_the_language(
    tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts: list[str] = []

    def remember(self: Any, given: Sequence[str], most: int) -> list[str]:
        prompts.extend(given)
        return ["A line."] * len(given)

    monkeypatch.setattr("nightjar.tools.reader.Reader.lines", remember)
    settings = {"engine": "language_model", "language_model": str(tiny_model)}
    tool = make("machine_translation", None, settings)
    assert tool.run([ToolRequest(SPANISH), ToolRequest(ENGLISH), ToolRequest(GERMAN)]) == [
        "A line.",
        None,
        "A line.",
    ]
    assert prompts == [f"Spanish: {SPANISH}\nEnglish:", f"German: {GERMAN}\nEnglish:"]
    few = translators.Few(str(tiny_model))
    assert few.knows("sh") and few.knows("als") and not few.knows("xx")


SPANISH = "El panadero de la esquina vende pan y bollos cada mañana"
GERMAN = "Der Bäcker an der Ecke verkauft jeden Morgen Brot"
ENGLISH = "The baker on the corner sells bread and rolls every morning to the whole street"


@pytest.fixture(scope="module")
def tiny_nllb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random model with the tokenizer and the language codes of NLLB."""
    import torch
    from transformers import M2M100Config, M2M100ForConditionalGeneration, NllbTokenizer

    folder = tmp_path_factory.mktemp("tiny_nllb")
    letters = [chr(code) for code in range(33, 256)]
    vocabulary = {token: id for id, token in enumerate(["<s>", "<pad>", "</s>", "<unk>", "▁", *letters])}
    tokenizer: Any = NllbTokenizer(vocab=vocabulary, merges=[], src_lang="eng_Latn", tgt_lang="eng_Latn")
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"d_model": 16, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "max_position_embeddings": 1024}
    heads = {
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_layers": 1,
        "decoder_layers": 1,
    }
    config = M2M100Config(vocab_size=len(tokenizer), decoder_start_token_id=2, **sizes, **heads)
    M2M100ForConditionalGeneration(config).save_pretrained(folder)
    return folder


def test_a_translation_model_with_codes_of_languages(
    tiny_nllb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translators, "TOKENS", 8)
    model = TranslationModel(str(tiny_nllb))
    network, tokenizer = translators._load(model.folder)
    assert {language: model._code(language) for language in ("es", "zh", "ar", "no", "sr", "gn", "xx")} == {
        "es": "spa_Latn",
        "zh": "zho_Hans",
        "ar": "arb_Arab",
        "no": "nob_Latn",
        "sr": "srp_Cyrl",
        "gn": "grn_Latn",
        "xx": None,
    }
    assert set(NLLB.values()) <= set(tokenizer.get_vocab())
    asked = []
    generate = network.generate

    def recorded(**given: Any) -> Any:
        asked.append((given["input_ids"][0].tolist(), given["forced_bos_token_id"]))
        return generate(**given)

    monkeypatch.setattr(network, "generate", recorded)
    first, second, unknown = model.translate([("es", "hola"), ("de", "hola"), ("xx", "hola")])
    ids = {
        token: tokenizer.convert_tokens_to_ids(token)
        for token in ("spa_Latn", "deu_Latn", "eng_Latn", "</s>")
    }
    # NLLB reads [language] text </s>, and its answer begins with the target language.
    assert [row[0] for row, _ in asked] == [ids["spa_Latn"], ids["deu_Latn"]]
    assert all(row[-1] == ids["</s>"] and forced == ids["eng_Latn"] for row, forced in asked)
    assert first and "eng_Latn" not in first and unknown is None
    # Alone or with others, the result is the same.
    assert model.translate([("de", "hola")]) == [second]
