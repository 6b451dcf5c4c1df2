"""One envelope for every error: what kind, and what was wrong, in words."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from .. import errors

_LOG = logging.getLogger("omhash.service")
_MOST_TOLD = 3
_LONGEST = 500

KINDS: dict[type[errors.OmhashError], tuple[int, str]] = {
    errors.ViewError: (422, "view"),
    errors.LabelError: (422, "label"),
    errors.SemanticsError: (422, "semantics"),
    errors.InputError: (422, "input"),
    errors.ParameterError: (422, "parameter"),
    errors.DataFileError: (422, "data_file"),
    errors.NotFittedError: (409, "not_fitted"),
    errors.UnsupportedError: (409, "unsupported"),
    errors.BusyError: (409, "busy"),
    errors.StateError: (500, "state"),
    errors.FormatError: (500, "format"),
    errors.DamagedError: (500, "damaged"),
    errors.StoreError: (500, "store"),
    errors.OmhashError: (500, "error"),
}
"""The status and the kind of each error of the library; the nearest class counts."""


class RequestError(errors.OmhashError):
    """A request that the service refuses for reasons of its own."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


def answer(status: int, kind: str, message: str) -> JSONResponse:
    """An error as it is sent."""
    headers = {}
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        headers["Retry-After"] = "1"
    # What was sent may hold what UTF-8 cannot say, and be long.
    words = message.encode(errors="backslashreplace").decode()
    if len(words) > _LONGEST:
        words = f"{words[:_LONGEST]}…"
    return JSONResponse({"error": {"kind": kind, "message": words}}, status, headers)


def told(error: errors.OmhashError) -> JSONResponse:
    """The answer that an error of the library or of the service makes."""
    if isinstance(error, RequestError):
        return answer(error.status, error.kind, str(error))
    status, kind = next(KINDS[one] for one in type(error).__mro__ if one in KINDS)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        _LOG.error("%s: %s", type(error).__name__, error)
    return answer(status, kind, str(error))


def invalid(problems: Sequence[Any]) -> RequestError:
    """What pydantic found wrong with a request."""
    if any(problem["type"] == "json_invalid" for problem in problems):
        words = problems[0].get("ctx", {}).get("error", problems[0]["msg"])
        return RequestError(400, "malformed", f"the body is not JSON: {words}")
    lines = [
        f"{'.'.join(map(str, problem['loc'])) or 'the body'}: {problem['msg']}"
        for problem in problems[:_MOST_TOLD]
    ]
    more = len(problems) - len(lines)
    return RequestError(422, "invalid", "; ".join(lines) + (f"; and {more} more" if more else ""))


def add_handlers(app: FastAPI) -> None:
    """Answer whatever goes wrong in the one envelope."""

    @app.exception_handler(errors.OmhashError)
    def _(_: Request, error: errors.OmhashError) -> JSONResponse:
        return told(error)

    @app.exception_handler(RequestValidationError)
    @app.exception_handler(ValidationError)
    def _(_: Request, error: RequestValidationError | ValidationError) -> JSONResponse:
        return told(invalid(error.errors()))

    @app.exception_handler(HTTPException)
    def _(_: Request, error: HTTPException) -> JSONResponse:
        kind = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_")
        return answer(error.status_code, kind, str(error.detail))

    @app.exception_handler(Exception)
    def _(*_: object) -> JSONResponse:
        return answer(500, "internal", "the service failed; its log tells more")
