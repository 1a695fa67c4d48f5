"""The tool prompts: their layout, their calls, and the one tie to the text of the examples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nightjar.core.errors import NightjarError
from nightjar.prompts.tool_prompts import CALL_NAMES, PROMPTS, head, instructions, read_prompt

CALL = re.compile(r"\[(\w+)\((.*?)\)\] ?")
# Input and output of the examples of each tool.
EXAMPLES = {
    name: re.findall(r"Input: (.*)\nOutput: (.*)\n\n", head(tool)) for tool, name in CALL_NAMES.items()
}
# Where the paper's output says something else than its input, or a call takes the place of the text.
DIFFERENT = {("Calculator", 2), ("MT", 2)}


def test_layout() -> None:
    assert head("calendar") == (
        "Your task is to add calls to a Calendar API to a piece of text. The API calls should help you get "
        'information required to complete the text. You can call the API by writing "[Calendar()]" Here are '
        "some examples of API calls:\n"
        "\n"
        "Input: Today is the first Friday of the year.\n"
        "Output: Today is the first [Calendar()] Friday of the year.\n"
        "\n"
        "Input: The president of the United States is Joe Biden.\n"
        "Output: The president of the United States is [Calendar()] Joe Biden.\n"
        "\n"
        "Input: The current day of the week is Wednesday.\n"
        "Output: The current day of the week is [Calendar()] Wednesday.\n"
        "\n"
        "Input: The number of days from now until Christmas is 30.\n"
        "Output: The number of days from now until Christmas is [Calendar()] 30.\n"
        "\n"
        "Input: The store is never open on the weekend, so today it is closed.\n"
        "Output: The store is never open on the weekend, so today [Calendar()] it is closed.\n"
        "\n"
    )


@pytest.mark.parametrize(("tool", "name"), CALL_NAMES.items())
def test_every_tool(tool: str, name: str) -> None:
    assert f"[{name}(" in head(tool).partition("\n")[0]
    assert head(tool) == instructions(head(tool).partition("\n")[0], EXAMPLES[name])
    assert head(tool).endswith("\n\n")
    assert "..." not in head(tool)


@pytest.mark.parametrize("name", CALL_NAMES.values())
def test_outputs_are_the_inputs_with_calls(name: str) -> None:
    """An output without its calls is the input, so nothing was lost in filling in what was shortened."""
    for number, (given, annotated) in enumerate(EXAMPLES[name]):
        assert {match[1] for match in CALL.finditer(annotated)} == {name}
        if (name, number) not in DIFFERENT:
            # The call before a comma has its blank in front, where the others have it behind.
            assert CALL.sub("", annotated).replace(" , there", ", there") == given


def test_calls_of_the_examples() -> None:
    calls = {
        name: [m[2] for _, text in pairs for m in CALL.finditer(text)] for name, pairs in EXAMPLES.items()
    }
    published = {
        "QA": [
            '"Where was Joe Biden born?"',
            '"In which state is Scranton?"',
            '"What other name is Coca-Cola known by?"',
            '"Who manufactures Coca-Cola?"',
        ],
        "WikiSearch": [
            '"Ghana flag red meaning"',
            '"nanomaterial production risks"',
            '"Metformin first-line drug"',
        ],
        "Calculator": ["18 + 12 * 3", "658,893 / 11.4%", "723 / 252", "723 - 20", "2011 - 1994", "4 * 30"],
        "Calendar": [""] * 5,
        "MT": [
            "O homem suprimido",
            "der klassische jüdische Mann",
            "南京高淳县住房和城乡建设局 城市新区设计",
        ],
    }
    assert calls | published == calls


def test_unknown_tool() -> None:
    with pytest.raises(NightjarError, match="telephone"):
        head("telephone")


def test_a_prompt_says_how_calls_are_written() -> None:
    published = {
        "calculator": ("Calculator", False),
        "calendar": ("Calendar", False),
        "machine_translation": ("MT", False),
        "question_answering": ("QA", True),
        "wiki_search": ("WikiSearch", True),
    }
    assert {tool: (PROMPTS[tool].call_name, PROMPTS[tool].quoted) for tool in published} == published


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Use [A(x)].\n\nInput: x\nOutput: [B(x)] x\n", "the calls have the names A, B"),
        ("Use tools.\n\nInput: x\nOutput: x\n", r"the calls have the names \(none\)"),
        ('Use [A(x)].\n\nInput: x\nOutput: [A("x")] x [A(x)]\n', "some inputs are in quotes"),
    ],
)
def test_a_prompt_with_unlike_calls_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "tool.txt").write_text(text)
    with pytest.raises(NightjarError, match=f"tool.txt: {message}"):
        read_prompt(tmp_path / "tool.txt")
