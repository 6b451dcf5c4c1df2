"""Bodies, read within limits of size and time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TypeVar

from fastapi import Request
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect

from .limits import Limits
from .problems import RequestError

M = TypeVar("M", bound=BaseModel)

_AT_ONCE = 1 << 16
"""Bytes of JSON that are read faster than another thread could take them over."""

JSON = "application/json"
PARQUET = "application/vnd.apache.parquet"
MULTIPART = "multipart/form-data"


def limits_of(request: Request) -> Limits:
    """The limits of the service."""
    limits: Limits = request.app.state.limits
    return limits


async def body(request: Request, kind: str, most: int) -> bytes:
    """The whole body, of the expected media type."""
    _expect(request, kind)
    async with _received(request):
        return b"".join([chunk async for chunk in _limited(request, most)])


async def json_body(request: Request, model: type[M]) -> M:
    """The body as a model."""
    content = await body(request, JSON, limits_of(request).json_bytes)
    if len(content) <= _AT_ONCE:
        return model.model_validate_json(content)
    return await run_in_threadpool(model.model_validate_json, content)


async def form(request: Request, most_files: int) -> FormData:
    """The parts of a multipart body; files that are not small wait on the disk."""
    limits = limits_of(request)
    _expect(request, MULTIPART)
    parser = MultiPartParser(
        request.headers,
        _limited(request, limits.upload_bytes),
        max_files=most_files,
        max_fields=16,
        max_part_size=limits.json_bytes,
    )
    found: FormData | None = None
    async with _received(request):
        try:
            found = await parser.parse()
        except MultiPartException as error:
            raise _not_multipart(error.message) from None
        except (UnicodeError, LookupError) as error:
            raise _not_multipart(error) from None
        finally:
            # The parser gives up files whose part did not end, or when it is interrupted.
            kept = set() if found is None else {id(one.file) for one in _uploads(found)}
            lost = [one for one in parser._files_to_close_on_error if id(one) not in kept]
            for file in lost:
                file.close()
    if lost:
        await found.close()
        raise _not_multipart("it ends in the middle of a part")
    return found


def _uploads(parts: FormData) -> list[UploadFile]:
    return [one for _, one in parts.multi_items() if isinstance(one, UploadFile)]


async def part(parts: FormData, name: str, model: type[M]) -> M:
    """One part of JSON as a model, with or without a file name."""
    found = parts.get(name)
    if found is None:
        raise RequestError(422, "invalid", f"the body has no part {name!r}")
    content = found if isinstance(found, str) else await found.read()
    return await run_in_threadpool(model.model_validate_json, content)


def picture_bytes(request: Request, file: UploadFile) -> bytes:
    """The bytes of a picture, if there are not too many."""
    most = limits_of(request).picture_bytes
    if file.size is None or file.size > most:
        raise RequestError(
            413, "too_large", f"picture {file.filename!r} has more than {most} bytes"
        )
    return file.file.read()


@asynccontextmanager
async def _received(request: Request) -> AsyncGenerator[None]:
    try:
        async with asyncio.timeout(limits_of(request).receive_seconds):
            yield
    except TimeoutError:
        raise RequestError(408, "timeout", "the body took too long to arrive") from None
    except ClientDisconnect:
        raise RequestError(400, "malformed", "the body ended too early") from None


async def _limited(request: Request, most: int) -> AsyncGenerator[bytes]:
    too_large = RequestError(413, "too_large", f"the body has more than {most} bytes")
    told = request.headers.get("content-length", "0")
    if told.isascii() and told.isdigit() and int(told[:20]) > most:
        raise too_large
    size = 0
    # A body may be longer than it says, or not say.
    async for chunk in request.stream():
        size += len(chunk)
        if size > most:
            raise too_large
        yield chunk


def _not_multipart(why: object) -> RequestError:
    return RequestError(400, "malformed", f"the body is not multipart: {why}")


def _expect(request: Request, kind: str) -> None:
    told = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if told != kind:
        raise RequestError(415, "media_type", f"the body must be {kind}, not {told!r}")
