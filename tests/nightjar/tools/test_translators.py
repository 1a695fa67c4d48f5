"""Apertium, and translation models: what each is given, and what one that fails costs."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from nightjar.core.errors import NightjarError
from nightjar.tools import Call, Toolbox, translators
from nightjar.tools.machine_translation import MachineTranslation
from nightjar.tools.translators import NLLB, Apertium, TranslationModel

SPANISH = "El panadero de la esquina vende pan y bollos cada mañana"
GERMAN = "Der Bäcker an der Ecke verkauft jeden Morgen Brot"
ENGLISH = "The baker on the corner sells bread and rolls every morning to the whole street"


def program(folder: Path, code: str) -> None:
    """A program called apertium in `folder` that lists a pair, and runs `code` to translate."""
    file = folder / "apertium"
    file.write_text(
        f"#!{sys.executable}\nimport sys, time\n"
        "if sys.argv[1] == '-l': print('  spa-eng\\n  eng-spa\\n  eu-en')\n"
        "elif sys.argv[1] == '-V': print('Apertium 0.0')\n"
        f"else:\n    given = sys.stdin.buffer.read().decode()\n    {code}\n"
    )
    file.chmod(0o755)


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("print(sys.argv[1:], given.upper())", f"['-u', 'spa-eng'] {SPANISH.upper()}"),
        ("sys.exit(3)", None),
        ("time.sleep(60)", None),
        ("print('x' * 2_000_000)", None),
        ("pass", None),
        ("sys.stdout.buffer.write(bytes(range(128, 256)))", "�" * 128),
        ("print('[MT(x) -> y]\\n] [')", "[MT(x) -> y] ] ["),
    ],
)
def test_what_apertium_prints_costs_its_call_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str, result: str | None
) -> None:
    program(tmp_path, code)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(translators, "APERTIUM_SECONDS", 1.0)
    toolbox = Toolbox([MachineTranslation([Apertium()])])
    calls = [Call("MT", text) for text in (SPANISH, GERMAN, ENGLISH)]
    assert toolbox.run(calls) == [result, None, None]


def test_what_apertium_started_ends_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The program is a script that starts others; one that hangs keeps the pipe open."""
    note = tmp_path / "pid"
    child = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    program(tmp_path, f"import subprocess; subprocess.run([{sys.executable!r}, '-c', {child!r}])")
    monkeypatch.setenv("PATH", str(tmp_path))
    found = Apertium()
    monkeypatch.setattr(translators, "APERTIUM_SECONDS", 5.0)
    with pytest.raises(NightjarError, match="no result after 5 s"):
        found.translate([("es", SPANISH)])
    while running(int(note.read_text())):  # until pytest's own limit
        time.sleep(0.05)


def running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_pairs_of_apertium(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(tmp_path, "print(sys.argv[2])")
    monkeypatch.setenv("PATH", str(tmp_path))
    found = Apertium()
    assert found.translate([("es", "x"), ("eu", "x"), ("de", "x"), ("xx", "x")]) == [
        "spa-eng",
        "eu-en",
        None,
        None,
    ]
    assert found.identity == "Apertium 0.0 eng-spa eu-en spa-eng"
    assert not found.knows("en")


@pytest.mark.skipif(not shutil.which("apertium"), reason="apertium is not installed")
def test_apertium_translates() -> None:
    found = Apertium()
    if not found.knows("es"):
        pytest.skip("apertium-eng-spa is not installed")
    given = ["El perro duerme en la casa.", "[MT(x)] \\ ^a$ {b} / <c> @", "-- help"]
    results = found.translate([("es", text) for text in given])
    assert results[0] == "The dog sleeps in the house."
    # Its own signs come back as they were, and nothing is taken for an option.
    assert "[MT(x)] \\ ^" in str(results[1]) and results[2] == "-- help"
    (boxed,) = Toolbox([MachineTranslation([found])]).run(
        [Call("MT", "La biblioteca del barrio abre los lunes.")]
    )
    assert boxed is not None and "library" in boxed.lower() and "Monday" in boxed


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
