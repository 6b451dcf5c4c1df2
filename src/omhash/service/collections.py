"""Collections: list, make, look at, look after."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.concurrency import run_in_threadpool

from ..codes import unpack
from ..results import Item
from . import schemas
from .access import may_read, may_write
from .bodies import json_body
from .openapi import takes
from .shelf import Room, Shelf

READ, WRITE = [Depends(may_read)], [Depends(may_write)]

router = APIRouter(prefix="/v1/collections", tags=["collections"])


def shelf_of(request: Request) -> Shelf:
    """The collections of the service."""
    shelf: Shelf = request.app.state.shelf
    return shelf


Name: TypeAlias = Annotated[str, Path(pattern=schemas.NAME)]


async def room_of(request: Request, name: Name) -> Room:
    """The collection of a name."""
    shelf = shelf_of(request)
    room = shelf.open_room(name)
    return await run_in_threadpool(shelf.room, name) if room is None else room


InRoom: TypeAlias = Annotated[Room, Depends(room_of)]


def _status(room: Room) -> dict[str, Any]:
    told = room.collection.status()
    del told["path"]  # of this machine, and nobody else's business
    return {**told, "name": room.name, "raw": room.encoders is not None}


@router.get("", dependencies=READ, response_model=schemas.Collections)
def list_collections(request: Request) -> Any:
    """All collections, by name."""
    shelf = shelf_of(request)
    return {"collections": [_status(shelf.room(name)) for name in shelf.names()]}


@router.post(
    "",
    dependencies=WRITE,
    status_code=201,
    response_model=schemas.Status,
    openapi_extra=takes(schemas.NewCollection),
)
async def create_collection(request: Request) -> Any:
    """Make an empty collection: of features, or of pictures and words."""
    options = (await json_body(request, schemas.NewCollection)).model_dump()
    return await run_in_threadpool(lambda: _status(shelf_of(request).create(**options)))


@router.get("/{name}", dependencies=READ, response_model=schemas.Status)
def collection_status(room: InRoom) -> Any:
    """How much a collection holds, and of what form."""
    return _status(room)


@router.get("/{name}/categories", dependencies=READ, response_model=schemas.Categories)
def list_categories(room: InRoom) -> Any:
    """The names of all categories, in order of arrival."""
    return {"categories": room.collection.categories()}


@router.get("/{name}/items", dependencies=READ, response_model=schemas.Items, tags=["items"])
def list_items(
    room: InRoom,
    key: Annotated[list[str] | None, Query(max_length=100, description="Only these.")] = None,
    after: Annotated[str | None, Query(description="Only what came after this key.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> Any:
    """Items by their keys, or in order of arrival."""
    if key is not None:
        return {"items": [_item(item) for item in room.collection.get(key)]}
    found: list[dict[str, Any]] = []
    for item in room.collection.items(after=after):
        if len(found) == limit:
            return {"items": found, "next": found[-1]["key"]}
        found.append(_item(item))
    return {"items": found}


@router.post(
    "/{name}/delete",
    dependencies=WRITE,
    response_model=schemas.Deleted,
    openapi_extra=takes(schemas.Keys),
    tags=["items"],
)
async def delete_items(request: Request, room: InRoom) -> Any:
    """Take items out; what they taught stays learned."""
    given = await json_body(request, schemas.Keys)
    return {"deleted": await room.write(lambda: room.collection.delete(given.keys))}


@router.post(
    "/{name}/forget",
    dependencies=WRITE,
    response_model=schemas.ForgetReport,
    openapi_extra=takes(schemas.Forget),
    tags=["items"],
)
async def forget_items(request: Request, room: InRoom) -> Any:
    """Take items out as if they had never been learned."""
    given = await json_body(request, schemas.Forget)
    return await room.write(
        lambda: room.collection.forget(given.keys, schemas.matrices(given.views))
    )


@router.post("/{name}/check", dependencies=WRITE, response_model=schemas.Checked)
def check_collection(room: InRoom) -> Any:
    """Look whether the files of a collection are whole; that takes time."""
    return {"problems": room.collection.check()}


@router.post("/{name}/compact", dependencies=WRITE, response_model=schemas.Compacted)
async def compact_collection(room: InRoom) -> Any:
    """Give space of removed items back to the disk."""
    return {"whole": await room.write(room.collection.compact)}


def _item(item: Item) -> dict[str, Any]:
    return {
        "key": item.key,
        "categories": item.categories,
        "payload": item.payload,
        "code": bits(item.code),
    }


def bits(code: Any) -> str:
    """Packed bits as a text of 0 and 1."""
    return "".join("1" if sign > 0 else "0" for sign in unpack(code[None])[0])
