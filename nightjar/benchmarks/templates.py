"""Templates of a task file: Jinja's syntax, of which a template has only what texts are made of.

A task file may come from anybody. A template reads the values of a row and nothing else: no loop in a loop, no
arithmetic but addition, no macros, imports, ranges or attributes. Every filter, test, method, comparison, slice and
turn of a loop counts what it reads as steps, and a row has so many steps per character. So time and memory of a
template are linear in its row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextvars import ContextVar
from functools import reduce
from typing import Any

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, Undefined, nodes, pass_context
from jinja2.filters import do_round
from jinja2.runtime import Context
from jinja2.sandbox import SandboxedEnvironment
from jinja2.visitor import NodeTransformer

from nightjar.benchmarks.source_rows import InvalidRow

# Characters of a template, and of what it makes.
LONGEST_TEMPLATE, LONGEST = 20_000, 1_000_000
# Steps of a template: of a row without any character, and for each character of a row.
STEPS, STEPS_PER_CHARACTER = 200_000, 50
# Steps of a call, whose time is that of about so many characters.
CALL = 10
# Digits that a number is rounded to.
MOST_DIGITS = 20
# Whose results are not much longer than what they read.
FILTERS = (
    *("capitalize", "default", "first", "int", "last", "length", "list", "lower", "string", "title", "trim"),
    "upper",
)
METHODS = (
    *("capitalize", "endswith", "get", "index", "items", "keys", "lower", "lstrip", "rstrip", "split"),
    *("splitlines", "startswith", "strip", "title", "upper", "values"),
)
# What reads no more of a value than its ends, its length or its type, or as much of it as is in the arguments.
SHORT = {
    *("default", "first", "last", "length", "endswith", "get", "items", "keys", "startswith", "values"),
    *("is boolean", "is defined", "is float", "is integer", "is iterable", "is mapping", "is none"),
    *("is number", "is sequence", "is string", "is undefined"),
}
# What looks for each character of a value in the argument.
STRIP = ("trim", "lstrip", "rstrip", "strip")
# Tests that are not called as the comparisons of Jinja's nodes.
_TESTS = {"gteq": "ge", "lteq": "le", "notin": "in"}
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


class _Steps:
    """The steps that a template may still take."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.steps = self.limit = STEPS + STEPS_PER_CHARACTER * LONGEST
        self.count(row)
        self.steps = self.limit = STEPS + STEPS_PER_CHARACTER * (self.limit - self.steps)

    def add(self, count: int) -> None:
        """Count so many steps. Raises InvalidTemplate beyond the limit."""
        self.steps -= count
        if self.steps < 0:
            raise InvalidTemplate(
                f"more than {self.limit:,} steps for this row: the template reads its values too often"
            )

    def count(self, *values: Any) -> None:
        """Count the characters and items of values as steps. Raises InvalidTemplate beyond the limit."""
        stack = list(values)
        while stack:
            value = stack.pop()
            self.add(1 + len(value) if isinstance(value, str) else 1)
            if isinstance(value, Mapping):
                stack += [*value.keys(), *value.values()]
            elif isinstance(value, Collection) and not isinstance(value, str | Undefined):
                stack += value


# Those of the template that runs; none while templates are compiled, which LONGEST_TEMPLATE bounds.
_STEPS: ContextVar[_Steps] = ContextVar("steps")


def _count(name: str, value: Any, args: Collection[Any]) -> None:
    """Count a call of a filter, test or method."""
    steps = _STEPS.get()
    steps.add(CALL)
    # Whether a mapping has a key is looked up.
    steps.count(*(arg for arg in args if not (name == "is in" and isinstance(arg, Mapping))))
    if name not in SHORT:
        steps.count(value)
    if name in STRIP and args:
        steps.add(len(str(value)) * max(len(str(arg)) for arg in args))


def _counted(name: str, call: Callable[..., Any], label: str) -> Callable[..., Any]:
    """A filter or test whose steps are counted. With a context, it is not computed while templates are compiled."""

    @pass_context
    def counted(context: Context, value: Any, *args: Any, **named: Any) -> Any:
        _count(label, value, [*args, *named.values()])
        return call(name, value, args, named, context)

    return counted


class _Counting(NodeTransformer):
    """Makes filters and tests of what Jinja would compile to plain operators, whose steps nothing could count."""

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:
        self.generic_visit(node)
        tests: list[nodes.Expr] = []
        operand_node = node.expr
        for operand in node.ops:
            name = _TESTS.get(operand.op, operand.op)
            test = nodes.Test(operand_node, name, [operand.expr], [], None, None)
            tests.append(nodes.Not(test) if operand.op == "notin" else test)
            operand_node = operand.expr
        return reduce(nodes.And, tests)

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        return nodes.Filter(nodes.List(node.nodes), "join", [], [], None, None)

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        self.generic_visit(node)
        if not isinstance(part := node.arg, nodes.Slice):
            return node
        ends = [bound or nodes.Const(None) for bound in (part.start, part.stop, part.step)]
        return nodes.Filter(node.node, "_slice", ends, [], None, None)

    def visit_For(self, node: nodes.For) -> nodes.Node:
        self.generic_visit(node)
        size = sum(1 for _ in node.find_all(nodes.Node))
        node.iter = nodes.Filter(node.iter, "_turns", [nodes.Const(size)], [], None, None)
        return node


class _Environment(SandboxedEnvironment):
    intercepted_binops = frozenset({"+", "-"})

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined, keep_trailing_newline=True, finalize=_printable)
        self.globals.clear()
        bounded_filters = {"join": _join, "replace": _replace, "round": _round, "tojson": _json}
        plain = SandboxedEnvironment(undefined=StrictUndefined)
        plain.filters |= bounded_filters
        self.filters = {
            name: _counted(name, plain.call_filter, name) for name in (*FILTERS, *bounded_filters)
        }
        self.filters |= {"_slice": pass_context(_slice), "_turns": pass_context(_turns)}
        self.tests = {name: _counted(name, plain.call_test, f"is {name}") for name in plain.tests}

    def _generate(self, source: nodes.Template, *args: Any, **named: Any) -> str:
        return super()._generate(_Counting().visit(source), *args, **named)

    def call_binop(self, context: Context, operator: str, value: Any, operand: Any) -> Any:
        _count(operator, value, [operand])
        return super().call_binop(context, operator, value, operand)

    def call(self, context: Context, method: Any, /, *args: Any, **named: Any) -> Any:
        _count(getattr(method, "__name__", ""), getattr(method, "__self__", None), [*args, *named.values()])
        return super().call(context, method, *args, **named)


def _slice(context: Context, value: Any, *bounds: Any) -> Any:
    part = value[slice(*bounds)]
    _STEPS.get().add(CALL + len(part))
    return part


def _turns(context: Context, values: Any, size: int) -> Any:
    _STEPS.get().add(len(values) * size)
    return values


def _printable(value: Any) -> Any:
    if not isinstance(value, str) and (steps := _STEPS.get(None)):
        steps.count(value)  # before it is written as a text
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


def _round(value: Any, precision: int = 0, method: str = "common") -> Any:
    if abs(precision) > MOST_DIGITS:
        raise InvalidTemplate(f"a number has at most {MOST_DIGITS} digits")
    return do_round(value, precision, method)  # type: ignore[arg-type]


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
        except (RecursionError, SyntaxError, MemoryError):  # of Python, to which a template is compiled
            raise InvalidTemplate("nested too deeply") from None

    @property
    def constant(self) -> bool:
        """True for a template that reads nothing of a row."""
        return not any(mark in self.source for mark in ("{{", "{%", "{#"))

    def text(self, row: Mapping[str, Any]) -> str:
        """The text that the template makes of a row."""

        def pieces() -> Iterator[str]:
            length = 0
            for piece in self._template.generate(row):
                if (length := length + len(piece)) > LONGEST:
                    raise InvalidTemplate(f"more than {LONGEST:,} characters")
                yield piece

        return self._run(row, lambda: "".join(pieces()))

    def value(self, row: Mapping[str, Any]) -> Any:
        """The value of a template that is one expression, such as a list of the row; of any other its text."""
        if self._value is None:
            return self.text(row)
        fill = self._value

        def value() -> Any:
            filled = _printable(fill(row))
            return str(filled) if isinstance(filled, Undefined) else filled  # which raises

        return self._run(row, value)

    def _run(self, row: Mapping[str, Any], work: Callable[[], Any]) -> Any:
        try:
            token = _STEPS.set(_Steps(row))
            try:
                return work()
            finally:
                _STEPS.reset(token)
        # Of a row that does not fit: a key that is missing, a text plus a number, an index beyond the end.
        except (TemplateError, TypeError, ValueError, LookupError, ArithmeticError, RecursionError) as error:
            raise InvalidTemplate(f"{self.key}: {str(error) or type(error).__name__}") from None


def _check(tree: nodes.Template) -> None:
    """Raise InvalidTemplate for what a template must not have."""
    names = sorted(name for name in _ENVIRONMENT.filters if not name.startswith("_"))
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
        if isinstance(node, nodes.Filter) and node.name not in names:
            fix = f"filters are {', '.join(names)}"
            raise InvalidTemplate(f"line {node.lineno} of the template: no filter {node.name}; {fix}")


def _only_value(tree: nodes.Template, source: str) -> Callable[..., Any] | None:
    """The function that computes the value of a template that is one expression alone; None for any other."""
    match tree.body:
        case [nodes.Output(nodes=[node])] if not isinstance(node, nodes.TemplateData):
            inner = source.strip().removeprefix("{{").removesuffix("}}").strip("-+ \n\t")
            return _ENVIRONMENT.compile_expression(inner, undefined_to_none=False)
    return None
