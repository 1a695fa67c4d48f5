"""Addresses of servers with the OpenAI interface: what a user writes, and the URLs that are asked."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nightjar.core.errors import NightjarError
from nightjar.models.servers.http_client import KEY, address

# Three ends of an address. The first, with or without the path of a request, is what every server has: it is removed.
# Behind the second, another version, a path is put. The third is the path itself: such an address is asked as it is.
_FIRST_VERSION = re.compile(r"/v1(/chat)?(/completions)?$")
_VERSION = re.compile(r"/v[0-9][0-9a-z.]*$")
_QUESTIONS = re.compile(r"(/chat)?/completions$")
MODELS = "/models"
# What llama.cpp's own server has beside the interface of OpenAI.
TOKENIZE = "/tokenize"


@dataclass(frozen=True)
class Address:
    """`url` is the part before /v1/completions, or a whole address that is asked as it is given.

    `model` is None for the only model of a server.
    """

    url: str
    model: str | None

    @classmethod
    def parse(cls, source: str) -> Address:
        """Parse `KIND:URL` or `KIND:URL#MODEL`.

        An address must not have a password: it would be in files and logs.
        """
        kind, _, text = source.partition(":")
        fix = f"write {kind}:http://HOST:PORT, or {kind}:URL#MODEL for one of several models"
        # Neither a password nor a key in a query is repeated.
        named = re.sub(r"\?[^#]*", "?…", re.sub(r"//.*@", "//…@", source))
        try:
            url = address(text)
        except ValueError as error:
            raise NightjarError(str(error), named, fix) from None
        if url.userinfo:
            raise NightjarError("the address has a password", named, f"set it as {KEY}")
        if url.query:
            raise NightjarError("not the address of a server", named, fix)
        base = str(url.copy_with(query=None, fragment=None)).rstrip("/")
        return cls(_FIRST_VERSION.sub("", base).rstrip("/"), url.fragment or None)

    def endpoint(self, path: str) -> str:
        """Return the URL of a path such as /completions. An address that ends in one is the URL of questions itself."""
        base = _QUESTIONS.sub("", self.url)
        if path == TOKENIZE:
            return f"{_VERSION.sub('', base)}{path}"
        if base != self.url and path != MODELS:
            return self.url
        return f"{base}{path}" if base != self.url or _VERSION.search(base) else f"{base}/v1{path}"
