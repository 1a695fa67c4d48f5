"""Addresses of servers, and the URLs that are asked."""

from __future__ import annotations

import pytest

from nightjar.core.errors import NightjarError
from nightjar.models.servers.server_address import TOKENIZE, Address


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("server:", "not the address of a server"),
        ("server:http://host?key=1", "not the address of a server"),
        ("server:http://host:port", "not an address"),
        ("server:http://host:99999", "the port is out of range, 1 to 65535"),
        ("server:http://me:word@host:port", "not an address"),
        ("server:http://host/?key=word@", "not the address of a server"),
        (f"server:http://{'a' * 64}.example", "the host name is invalid"),
        ("server:http://host#half\udcff", "not valid Unicode"),
        ("server:http://me:word@host", "the address has a password; set it as NIGHTJAR_SERVER_KEY"),
    ],
)
def test_wrong_addresses(source: str, told: str) -> None:
    with pytest.raises(NightjarError, match=told) as raised:
        Address.parse(source)
    assert "word@" not in str(raised.value)


def test_addresses() -> None:
    assert Address.parse("server:http://h:1/v1/completions") == Address("http://h:1", None)
    assert Address.parse("server:https://h/llm/v1/#org/m") == Address("https://h/llm", "org/m")
    assert Address.parse("chat:http://h/v4/chat/completions") == Address("http://h/v4/chat/completions", None)
    assert Address.parse("server:http://h:1/?") == Address("http://h:1", None)
    assert Address.parse("server:http://[::1]:9") == Address("http://[::1]:9", None)
    assert Address.parse("server:http://bücher.example") == Address("http://xn--bcher-kva.example", None)


@pytest.mark.parametrize(
    ("url", "tokenize"),
    [
        ("http://h:1", "http://h:1/tokenize"),
        ("http://h:1/v1", "http://h:1/tokenize"),
        ("http://h/llm/v1/completions", "http://h/llm/tokenize"),
        ("http://h/api/v4", "http://h/api/tokenize"),
        ("http://h/api/v4/completions", "http://h/api/tokenize"),
    ],
)
def test_tokens_are_asked_for_beside_the_version_of_an_address(url: str, tokenize: str) -> None:
    assert Address.parse(f"server:{url}").endpoint(TOKENIZE) == tokenize
