"""The code that a digest covers, against Python's own tokens."""

from __future__ import annotations

import ast
import io
import tokenize

import pytest

from stages._runtime.closure import Code
from stages._runtime.source_file import code_alone
from tests.conftest import ROOT


def _tokens(source: bytes) -> list[str]:
    """The tokens that decide what the source does."""
    kinds = (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
    tokens = [token for token in tokenize.tokenize(io.BytesIO(source).readline) if token.type not in kinds]
    ends = (tokenize.NEWLINE, tokenize.ENDMARKER)
    lines: list[list[tokenize.TokenInfo]] = [[]]
    for token in tokens:
        if token.type in ends:
            lines.append([])
        else:
            lines[-1].append(token)
    return [
        token.string
        for line in lines
        if not all(token.type == tokenize.STRING for token in line)
        for token in line
    ]


def test_digest_covers_the_tokens_of_the_code_and_nothing_else() -> None:
    for path in sorted(str(source.path) for source in Code(ROOT).files.values()):
        source = (ROOT / path).read_bytes()
        text = code_alone(source, ast.parse(source)) + b"\n"
        assert _tokens(text) == _tokens(source), path
        tokens = tokenize.tokenize(io.BytesIO(text).readline)
        assert not [token for token in tokens if token.type == tokenize.COMMENT], path


CASES = {
    "comment": ("x = 1  # one\n", "x = 1\n", True),
    "comment of a whole line": ("if x:\n    # why\n    y = 1\n", "if x:\n    y = 1\n", True),
    "docstring": ('def f():\n    """Give 1."""\n    return 1\n', "def f():\n    return 1\n", True),
    "docstring of several lines": ('"""A.\n\n# B\n"""\nx = 1\n', "x = 1\n", True),
    "blank line": ("x = 1\n\n\ny = 2\n", "x = 1\ny = 2\n", True),
    "blank at the end": ("x = 1 \n", "x = 1\n", True),
    "comment in a string": ('x = "a # b"\n', 'x = "a"\n', False),
    "blank line in a string": ('x = """a\n\nb"""\n', 'x = """a\nb"""\n', False),
    "comment in an f-string": ('x = f"{y} # b"\n', 'x = f"{y}"\n', False),
    "escaped quote": (r'x = "\" # a"' + "\n", r'x = "\" # b"' + "\n", False),
    "comment between strings": ('x = ("a"  # one\n     "b")\n', 'x = ("a"\n     "b")\n', True),
    "indentation": ("if x:\n    y = 1\nz = 2\n", "if x:\n    y = 1\n    z = 2\n", False),
    "text that is no docstring": ('x = "a"\n', 'x = "b"\n', False),
    "message": ('raise ValueError("a")\n', 'raise ValueError("b")\n', False),
    "letters outside ASCII": ('x = "é"  # é\n"""é"""\ny = "ü"\n', 'x = "é"\ny = "ü"\n', True),
}


@pytest.mark.parametrize("name", CASES)
def test_which_changes_of_a_file_count(name: str) -> None:
    *sources, equal = CASES[name]
    texts = [code_alone(str(text).encode(), ast.parse(str(text))) for text in sources]
    assert (texts[0] == texts[1]) == equal
