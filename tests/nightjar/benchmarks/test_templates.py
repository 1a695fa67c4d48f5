"""Templates of task files against plain Jinja, what they may not do, and the bound of their steps."""

from __future__ import annotations

import time
from typing import Any

import pytest
from jinja2 import StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from nightjar.benchmarks.templates import InvalidTemplate, Template

PLAIN = SandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
ROW: dict[str, Any] = {
    "text": " Ab, c\nd ",
    "items": ["a", "b", "b"],
    "number": 7,
    "share": 2.345,
    "table": {"k": [1, 2], "x y": None},
    "self": "own",
    "empty": [],
}


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'a' in items }} {{ 'k' in table }} {{ 'z' not in text }} {{ number in [7] }}",
        "{{ 1 < number <= 7 }} {{ 1 < number < 3 != 4 }} {{ number >= 8 or share > 2 }} {{ number != 7 }}",
        "{{ number ~ text ~ share ~ items }}",
        "{{ text[1:3] }}{{ items[::-1] }}{{ text[:-2] }}{{ items[-1] }}{{ table.k[0] }}{{ table['k'] }}",
        "{% for item in items if item != 'a' %}{{ loop.index }}/{{ loop.length }} {{ item }}{% else %}-{% endfor %}",
        "{% for item in empty %}x{% else %}none{% endfor %}",
        "{% for name, value in table.items() %}{{ name }}{{ loop.last }}{% endfor %}",
        "{{ absent|default('d') }} {{ text|default(absent) }} {{ absent is defined }} {{ absent is undefined }}",
        "{{ text is string }} {{ table is mapping }} {{ number is odd }} {{ number is divisibleby(7) }}",
        "{{ text|trim|upper }} {{ text.strip().split(',')|join('+') }} {{ text|replace('b', 'é') }}",
        "{{ items|first }}{{ items|last }}{{ items|length }}{{ text|list }}{{ '12'|int + number - 1 }}",
        "{{ share|round(1) }} {{ share|round(2, 'ceil') }} {{ share|round(method='floor') }} {{ self }}",
        "{{ text|trim(' A') + 'x' }}",
        "{{ 'yes' if items and not empty else 'no' }} {{ text.startswith(' A') }} {{ table.get('none', 3) }}",
    ],
)
def test_templates_are_jinjas(source: str) -> None:
    assert Template(source).text(ROW) == PLAIN.from_string(source).render(ROW)


def test_values_are_jinjas() -> None:
    assert Template("{{ items[1:] + table.k }}").value(ROW) == ["b", "b", 1, 2]
    assert Template("{{ number in table.k }}").value(ROW) is False


# Each reads all of a row again for every part of it.
QUADRATIC = [
    "{% for item in items %}{% if item in items %}x{% endif %}{% endfor %}",
    "{% for item in items %}{% if items == others %}x{% endif %}{% endfor %}",
    "{% for item in items %}{% if item not in items[1:] %}x{% endif %}{% endfor %}",
    "{% for item in items if items|string == item %}x{% endfor %}",
    "{% for item in items %}{{ (text|upper)[:1] }}{% endfor %}",
    "{% for item in items %}{{ (text ~ item)[:1] }}{% endfor %}",
    "{% for item in items %}{{ (text + item)[:1] }}{% endfor %}",
    "{% for item in items %}{{ (items + items)|length }}{% endfor %}",
    "{% for item in items %}{{ text.split('x')|length }}{% endfor %}",
    "{% for item in items %}{{ items.index('1199') }}{% endfor %}",
    "{% for item in items %}{{ text.lower()[:1] }}{% endfor %}",
    "{% for item in items %}{{ (table|tojson)[:1] }}{% endfor %}",
    "{% for item in items %}{% if text is lower %}{% endif %}{% endfor %}",
    "{% for item in items %}{% if text is eq(text) %}{% endif %}{% endfor %}",
    "{% for item in items %}" + "{% if item %}{% endif %}" * 800 + "{% endfor %}",
    "{{ text|trim(text) }}",
    "{{ text.strip(text) }}",
    "{{ (" + " + ".join(["text"] * 150) + ")|length }}",
    "{{ [" + ", ".join(["text"] * 1_000) + "] }}",
    "{{ [" + ", ".join(["items"] * 1_000) + "]|string|length }}",
]


@pytest.mark.parametrize("source", QUADRATIC)
def test_steps_are_linear_in_the_row(source: str) -> None:
    size = 6_000
    items = [str(number) for number in range(size // 5)]
    row = {"items": items, "others": [*items], "text": "x" * size, "table": {"k": items}}
    with pytest.raises(InvalidTemplate, match=r"^prompt: (more than [0-9,]+ steps|a filter may make)"):
        Template(source, "prompt").text(row)
    with pytest.raises(InvalidTemplate, match=r"^prompt: (more than [0-9,]+ steps|a filter may make)"):
        Template(f"{source} ", "prompt").value(row)


@pytest.mark.parametrize("size", [1, 1_000, 200_000])
def test_a_template_that_reads_each_value_a_few_times_suits_rows_of_any_size(size: int) -> None:
    items = ["ab"] * size
    source = (
        "{% for item in items if item != 'c' %}"
        "{{ loop.index }}. {{ item|trim }}{{ ',' if not loop.last }}{% endfor %}"
    )
    expected = ",".join(f"{number}. ab" for number in range(1, size + 1))
    if len(expected) <= 1_000_000:
        assert Template(source).text({"items": items}) == expected
    assert Template("{{ items|join(' ')|upper|replace('A', 'c')|trim }}").text({"items": items}) == " ".join(
        ["cB"] * size
    )


@pytest.mark.parametrize(
    "source",
    [
        "{{ a.__class__.__mro__ }}",
        "{{ a * 99999999 }}",
        "{{ a ** 99 }}",
        "{{ '%9999999999d' % 1 }}",
        "{{ '{:>99999999}'.format(1) }}",
        "{{ a.ljust(999999999) }}",
        "{% for i in l %}{% for j in l %}{% for k in l %}x{% endfor %}{% endfor %}{% endfor %}",
        "{% for i in l recursive %}{{ loop(l) }}{% endfor %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% include 'params.yaml' %}",
        "{% import 'os' as os %}",
        "{{ cycler }}",
        "{{ a|join(a)|join(a)|join(a)|join(a)|join(a) }}",
        "{{ a|replace('x', a)|replace('x', a)|replace('x', a) }}",
        "{% for i in l %}{{ a }}{% endfor %}",
        "{{ l.append }}",
        "{{ none }}",
        "x" * 30_000,
    ],
)
def test_a_template_reads_its_row_and_is_bounded(source: str) -> None:
    row = {"a": "x" * 1_100, "l": list(range(1_000))}
    started = time.process_time()
    with pytest.raises(InvalidTemplate):
        Template(source).text(row)
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "source",
    [
        "{{ " + " + ".join(["a"] * 1_000) + " }}",
        "{% if a %}" * 200 + "{% endif %}" * 200,
        "{{ " + "not " * 4_000 + "a }}",
        "{{ " + "(" * 3000 + "a" + ")" * 3000 + " }}",
    ],
)
def test_a_template_that_python_cannot_compile_is_nested_too_deeply(source: str) -> None:
    with pytest.raises(InvalidTemplate, match=r"^nested too deeply$"):
        Template(source)


def test_a_number_is_rounded_to_few_digits() -> None:
    with pytest.raises(InvalidTemplate, match="a number has at most 20 digits"):
        Template("{{ 1.5|round(999999999, 'ceil') }}").text({})
