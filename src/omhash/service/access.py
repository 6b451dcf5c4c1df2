"""Who may read and who may write."""

from __future__ import annotations

import hmac
from collections.abc import Collection, Mapping
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from fastapi import Request

from ..errors import ParameterError
from .problems import RequestError

Scope: TypeAlias = Literal["read", "write"]

LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Access:
    """Tokens and their scopes, and the sites whose pages may use the service.

    Parameters
    ----------
    tokens : mapping of token to scope
        "write" includes "read". Without tokens everybody may do everything, but only under
        the names of this machine.
    origins : names of sites
        Others whose pages may ask, such as ``https://example.org``.
    """

    def __init__(self, tokens: Mapping[str, Scope], origins: Collection[str] = ()) -> None:
        for token, scope in tokens.items():
            if len(token) < 16 or not token.isascii() or not token.isprintable():
                raise ParameterError("a token must be 16 or more printable ASCII characters")
            if scope not in ("read", "write"):
                raise ParameterError(f"a token's scope is 'read' or 'write', not {scope!r}")
        self._tokens = [(token.encode(), scope) for token, scope in tokens.items()]
        self._origins = frozenset(origins)

    def check(self, request: Request, scope: Scope) -> None:
        """Refuse who may not."""
        self._refuse_other_sites(request)
        if not self._tokens:
            return
        kind, _, told = request.headers.get("authorization", "").partition(" ")
        given = told.strip().encode() if kind.lower() == "bearer" else b""
        # All are compared, so that the time taken tells nothing.
        scopes = [scope for token, scope in self._tokens if hmac.compare_digest(token, given)]
        if not scopes:
            raise RequestError(
                401, "unauthorised", "send a token: the header Authorization: Bearer TOKEN"
            )
        if scope == "write" and "write" not in scopes:
            raise RequestError(403, "forbidden", "this token may read, not write")

    def _refuse_other_sites(self, request: Request) -> None:
        """Pages of other sites, open in a browser on this machine, must not reach the service."""
        host = request.headers.get("host", "")
        if not self._tokens and _name(f"//{host}") not in LOOPBACK:
            raise RequestError(
                403, "forbidden", f"without tokens, the service is not known as {host!r}"
            )
        origin = request.headers.get("origin")
        if origin is None or origin in self._origins:
            return
        if _netloc(origin) != host.lower():
            raise RequestError(403, "forbidden", f"pages of {origin!r} may not use the service")


# Dependencies that are not async would each cost a turn of another thread.
async def may_read(request: Request) -> None:
    """A dependency: who asks may read."""
    request.app.state.access.check(request, "read")


async def may_write(request: Request) -> None:
    """A dependency: who asks may write."""
    request.app.state.access.check(request, "write")


def _name(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _netloc(address: str) -> str | None:
    try:
        return urlsplit(address).netloc.lower()
    except ValueError:
        return None
