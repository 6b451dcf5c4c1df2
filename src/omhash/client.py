"""A collection of a service, spoken to over HTTP."""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

from . import errors
from .codes import pack
from .learning.labels import Labels
from .learning.views import Views, filled, shaped_views
from .results import ForgetReport, Hit, Item, RoundReport

_PARQUET = "application/vnd.apache.parquet"

_KINDS: dict[str, type[errors.OmhashError]] = {
    "view": errors.ViewError,
    "label": errors.LabelError,
    "semantics": errors.SemanticsError,
    "input": errors.InputError,
    "invalid": errors.InputError,
    "malformed": errors.InputError,
    "too_large": errors.InputError,
    "parameter": errors.ParameterError,
    "data_file": errors.DataFileError,
    "not_fitted": errors.NotFittedError,
    "unsupported": errors.UnsupportedError,
    "busy": errors.BusyError,
    "overloaded": errors.BusyError,
    "format": errors.FormatError,
    "damaged": errors.DamagedError,
}


class Client:
    """A collection of a service, with the methods of `Collection`.

    What goes wrong there is raised here as the same error.

    Parameters
    ----------
    address : str
        Of the service, such as ``http://127.0.0.1:8000``.
    name : str
        Of the collection.
    token : str, optional
    timeout : float
        Seconds to wait for an answer; a round may take as long as it needs.
    """

    def __init__(
        self,
        address: str,
        name: str,
        *,
        token: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        import httpx  # where nobody connects, nobody waits for it

        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._unreachable = httpx.HTTPError
        self._patient = httpx.Timeout(timeout, read=None)
        self._http = httpx.Client(base_url=address, headers=headers, timeout=timeout)
        self.name = name

    @classmethod
    def create(
        cls,
        address: str,
        name: str,
        *,
        modalities: Mapping[str, int] | None = None,
        n_bits: int = 64,
        sketch_bits: int = 128,
        seed: int = 0,
        **connection: Any,
    ) -> Self:
        """Make an empty collection: of pictures and words where no modalities are told."""
        client = cls(address, name, **connection)
        made = {"name": name, "n_bits": n_bits, "sketch_bits": sketch_bits, "seed": seed}
        if modalities is not None:
            made["modalities"] = dict(modalities)
        client._ask("POST", "/v1/collections", json=made)
        return client

    def ingest(
        self,
        views: Views,
        labels: Labels | None = None,
        *,
        keys: Sequence[str],
        payloads: Sequence[Mapping[str, Any]] | None = None,
        round_id: str | None = None,
        categories: Iterable[str] | None = None,
    ) -> RoundReport:
        """Learn and store one round; see `Collection.ingest`."""
        from .rounds import to_parquet  # data sets bring libraries that nobody else needs

        content = to_parquet(views, labels, keys=keys, payloads=payloads, categories=categories)
        params = {} if round_id is None else {"round_id": round_id}
        return _report(
            self._ask(
                "POST",
                self._path("rounds/parquet"),
                content=content,
                params=params,
                headers={"Content-Type": _PARQUET},
                timeout=self._patient,
            )
        )

    def ingest_raw(
        self, items: Sequence[Mapping[str, Any]], *, round_id: str | None = None
    ) -> RoundReport:
        """Learn and store one round of pictures and words.

        Parameters
        ----------
        items : mappings
            Each with "key" and what there is of "picture" (a path), "text", "categories",
            "payload".
        """
        files, told = [], []
        for place, item in enumerate(items):
            one = dict(item)
            if one.get("picture") is not None:
                name = f"{place}"
                files.append(("pictures", (name, *_file(one["picture"]))))
                one["picture"] = name
            told.append(one)
        metadata = json.dumps({"items": told, "round_id": round_id})
        return _report(
            self._ask(
                "POST",
                self._path("rounds/raw"),
                files=[("round", (None, metadata, "application/json")), *files],
                timeout=self._patient,
            )
        )

    def search(
        self,
        views: Views | None = None,
        *,
        key: str | None = None,
        k: int = 10,
        where: Mapping[str, Any] | None = None,
        rank: str = "asymmetric",
        detail: float = 0.0,
        emphasis: Mapping[str, float] | None = None,
    ) -> list[list[Hit]]:
        """The items most like each query, best first; see `Collection.search`."""
        asked = _options(k, where, rank, detail, emphasis)
        if views is not None:
            asked["views"] = {name: _rows(name, view) for name, view in _dense(views).items()}
        if key is not None:
            asked["key"] = key
        return _hits(self._ask("POST", self._path("search"), json=asked))

    def search_raw(
        self,
        picture: str | PathLike[str] | None = None,
        text: str | None = None,
        *,
        k: int = 10,
        where: Mapping[str, Any] | None = None,
        rank: str = "asymmetric",
        detail: float = 0.0,
        emphasis: Mapping[str, float] | None = None,
    ) -> list[Hit]:
        """The items most like a picture, words, or both, best first."""
        asked = {**_options(k, where, rank, detail, emphasis), "text": text}
        files: list[Any] = [("query", (None, json.dumps(asked), "application/json"))]
        if picture is not None:
            files.append(("picture", ("picture", *_file(picture))))
        return _hits(self._ask("POST", self._path("search/raw"), files=files))[0]

    def delete(self, keys: Iterable[str]) -> int:
        """Take items out; what they taught stays learned."""
        return int(self._ask("POST", self._path("delete"), json={"keys": list(keys)})["deleted"])

    def forget(self, keys: Sequence[str], views: Views) -> ForgetReport:
        """Take items out as if they had never been learned; see `Collection.forget`."""
        rows = {name: _rows(name, view) for name, view in _dense(views).items()}
        told = self._ask(
            "POST",
            self._path("forget"),
            json={"keys": list(keys), "views": rows},
            timeout=self._patient,
        )
        return ForgetReport(told["forgotten"], tuple(told["missing"]), told["purged"])

    def compact(self) -> bool:
        """Give space of removed items back to the disk."""
        return bool(self._ask("POST", self._path("compact"), timeout=self._patient)["whole"])

    def check(self) -> list[str]:
        """What is wrong with the collection's files; nothing if it is whole."""
        told = self._ask("POST", self._path("check"), timeout=self._patient)
        return [str(problem) for problem in told["problems"]]

    def status(self) -> dict[str, Any]:
        """Plain values that tell of the collection."""
        return self._ask("GET", self._path())

    def categories(self) -> tuple[str, ...]:
        """The names of all categories, in order of arrival."""
        return tuple(self._ask("GET", self._path("categories"))["categories"])

    def rounds(self) -> list[RoundReport]:
        """The reports of all rounds, in order."""
        return [_report(told) for told in self._ask("GET", self._path("rounds"))["rounds"]]

    def get(self, keys: Iterable[str]) -> list[Item]:
        """The items of these keys; keys that are not there are passed over."""
        wanted = list(keys)
        told = self._ask("GET", self._path("items"), params={"key": wanted}) if wanted else {}
        return [_item(one) for one in told.get("items", ())]

    def items(self, *, after: str | None = None) -> Iterator[Item]:
        """Items in order of arrival, fetched as they are asked for."""
        while True:
            params = {"limit": "500", **({} if after is None else {"after": after})}
            page = self._ask("GET", self._path("items"), params=params)
            yield from map(_item, page["items"])
            after = page["next"]
            if after is None:
                return

    def close(self) -> None:
        """Release the connection."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return int(self.status()["items"])

    def _path(self, what: str = "") -> str:
        return f"/v1/collections/{self.name}{f'/{what}' if what else ''}"

    def _ask(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        try:
            answer = self._http.request(method, path, **request)
            told = answer.json()
        except self._unreachable as error:
            raise errors.StoreError(
                f"{self._http.base_url}: no answer: {error}: is the service running?"
            ) from error
        except ValueError:
            raise errors.StoreError(
                f"{self._http.base_url}: the answer is not from omhash: is the address right?"
            ) from None
        if answer.is_success:
            return dict(told)
        wrong = told.get("error", {}) if isinstance(told, dict) else {}
        kind = _KINDS.get(wrong.get("kind", ""), errors.StoreError)
        raise kind(wrong.get("message") or f"the service answered {answer.status_code}")


def _options(
    k: int,
    where: Mapping[str, Any] | None,
    rank: str,
    detail: float,
    emphasis: Mapping[str, float] | None,
) -> dict[str, Any]:
    told = {"k": k, "where": where, "rank": rank, "detail": detail, "emphasis": emphasis}
    return {name: value for name, value in told.items() if value is not None}


def _dense(views: Views) -> dict[str, Any]:
    return {
        name: matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        for name, matrix in shaped_views(views, None).items()
    }


def _rows(name: str, view: Any) -> list[list[float] | None]:
    checked = filled(name, view)
    rows = np.asarray(checked.matrix, dtype=np.float64).tolist()
    return [row if has else None for row, has in zip(rows, checked.present, strict=True)]


def _file(picture: str | PathLike[str]) -> tuple[bytes, str]:
    path = Path(picture)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise errors.InputError(f"{path}: cannot be read: {error.strerror}") from error
    return content, mimetypes.guess_type(path.name)[0] or "application/octet-stream"


def _hits(told: Mapping[str, Any]) -> list[list[Hit]]:
    return [
        [Hit(**{**hit, "categories": tuple(hit["categories"])}) for hit in result["hits"]]
        for result in told["results"]
    ]


def _report(told: Mapping[str, Any]) -> RoundReport:
    return RoundReport.of(told, repeated=bool(told["repeated"]))


def _item(told: Mapping[str, Any]) -> Item:
    bits = np.array([1 if bit == "1" else -1 for bit in told["code"]])
    return Item(told["key"], tuple(told["categories"]), told["payload"], pack(bits[None])[0])
