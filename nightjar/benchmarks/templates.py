"""Templates of a task file: Jinja's syntax, of which a template has only what texts are made of.

A task file may come from anybody. A template reads the values of a row and nothing else: no loop in a loop, no
arithmetic but addition, no macros, imports, ranges or attributes. So a template's time and memory are bounded by its
row and by LONGEST.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, Undefined, nodes
from jinja2.sandbox import SandboxedEnvironment

from nightjar.benchmarks.rows import InvalidRow

# Characters of a template, and of what it makes.
LONGEST_TEMPLATE, LONGEST = 20_000, 1_000_000
# Whose results are not much longer than what they read.
FILTERS = (
    *("capitalize", "default", "first", "int", "last", "length", "list", "lower", "round", "string"),
    *("title", "trim", "upper"),
)
METHODS = (
    *("capitalize", "endswith", "get", "index", "items", "keys", "lower", "lstrip", "rstrip", "split"),
    *("splitlines", "startswith", "strip", "title", "upper", "values"),
)
_ALLOWED = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.List, nodes.Tuple),
    *(
        nodes.Dict,
        nodes.Pair,
        nodes.Getattr,
        nodes.Getitem,
        nodes.Slice,
        nodes.Filter,
        nodes.Test,
        nodes.Call,
    ),
    *(nodes.If, nodes.CondExpr, nodes.For, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not),
    *(nodes.Add, nodes.Sub, nodes.Neg, nodes.Concat),
)


class InvalidTemplate(InvalidRow):
    """A template that is no template, or one that a row does not fit; the message says why."""


class _Environment(SandboxedEnvironment):
    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined, keep_trailing_newline=True, finalize=_shown)
        self.globals.clear()
        own = {"join": _join, "replace": _replace, "tojson": _json}
        self.filters = {name: self.filters[name] for name in FILTERS} | own


def _shown(value: Any) -> Any:
    if value is None or (callable(value) and not isinstance(value, Undefined)):
        raise InvalidTemplate("a value is null" if value is None else "a method without brackets")
    return value


def _join(values: Any, between: Any = "") -> str:
    texts, between = [str(value) for value in values], str(between)
    _bound(sum(map(len, texts)) + len(texts) * len(between))
    return between.join(texts)


def _replace(text: Any, old: Any, new: Any) -> str:
    _bound(len(str(text)) * max(1, len(str(new))))
    return str(text).replace(str(old), str(new))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _bound(length: int) -> None:
    if length > LONGEST:
        raise InvalidTemplate(f"a filter may make more than {LONGEST:,} characters")


_ENVIRONMENT = _Environment()


class Template:
    """A template, checked: `text` and `value` are what it makes of a row. `key` is that of the task file.

    Raises InvalidTemplate, for a row that does not fit with the key.
    """

    def __init__(self, source: str, key: str = "template") -> None:
        self.key = key
        if len(source) > LONGEST_TEMPLATE:
            raise InvalidTemplate(f"{len(source):,} characters, at most {LONGEST_TEMPLATE:,} are allowed")
        try:
            tree = _ENVIRONMENT.parse(source)
            _check(tree)
            self.source = source
            self._template = _ENVIRONMENT.from_string(source)
            self._value = _only_value(tree, source)
        except TemplateSyntaxError as error:
            raise InvalidTemplate(f"line {error.lineno} of the template: {error.message}") from None
        except RecursionError:
            raise InvalidTemplate("nested too deeply") from None

    @property
    def constant(self) -> bool:
        """Whether it reads nothing of a row."""
        return not any(mark in self.source for mark in ("{{", "{%", "{#"))

    def text(self, row: Mapping[str, Any]) -> str:
        """The text that the template makes of a row."""

        def pieces() -> Iterator[str]:
            length = 0
            for piece in self._template.generate(row):
                if (length := length + len(piece)) > LONGEST:
                    raise InvalidTemplate(f"more than {LONGEST:,} characters")
                yield piece

        return self._run(lambda: "".join(pieces()))

    def value(self, row: Mapping[str, Any]) -> Any:
        """The value of a template that is one expression, such as a list of the row; of any other its text."""
        if self._value is None:
            return self.text(row)
        own = self._value

        def value() -> Any:
            found = _shown(own(**row))
            return str(found) if isinstance(found, Undefined) else found  # which raises

        return self._run(value)

    def _run(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        # Of a row that does not fit: a key that is missing, a text plus a number, an index beyond the end.
        except (TemplateError, TypeError, ValueError, LookupError, ArithmeticError, RecursionError) as error:
            raise InvalidTemplate(f"{self.key}: {str(error) or type(error).__name__}") from None


def _check(tree: nodes.Template) -> None:
    """Raise InvalidTemplate for what a template must not have."""
    for node in tree.find_all(nodes.Node):
        what = type(node).__name__
        if not isinstance(node, _ALLOWED) and not isinstance(node, nodes.Keyword):
            raise InvalidTemplate(f"line {node.lineno} of the template: {what} is not allowed")
        if isinstance(node, nodes.For) and (node.recursive or any(node.find_all(nodes.For))):
            raise InvalidTemplate(f"line {node.lineno} of the template: a loop in a loop is not allowed")
        called = node.node if isinstance(node, nodes.Call) else None
        if isinstance(node, nodes.Call) and not (
            isinstance(called, nodes.Getattr) and called.attr in METHODS
        ):
            fix = f"methods are {', '.join(METHODS)}"
            raise InvalidTemplate(f"line {node.lineno} of the template: this call is not allowed; {fix}")
        if isinstance(node, nodes.Filter) and node.name not in _ENVIRONMENT.filters:
            fix = f"filters are {', '.join(sorted(_ENVIRONMENT.filters))}"
            raise InvalidTemplate(f"line {node.lineno} of the template: no filter {node.name}; {fix}")


def _only_value(tree: nodes.Template, source: str) -> Callable[..., Any] | None:
    """What computes the value of a template that is one expression alone; None for any other."""
    match tree.body:
        case [nodes.Output(nodes=[node])] if not isinstance(node, nodes.TemplateData):
            inner = source.strip().removeprefix("{{").removesuffix("}}").strip("-+ \n\t")
            return _ENVIRONMENT.compile_expression(inner, undefined_to_none=False)
    return None
