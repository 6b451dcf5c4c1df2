"""What is handed to a collection, once it is known to be usable."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from .encoders import Suite
from .errors import InputError, ParameterError
from .hashers import BY_NAME
from .hashers.base import Hasher
from .index import ENGINES
from .store.where import CATEGORIES, is_unicode

_JSON = json.JSONEncoder(allow_nan=False, ensure_ascii=False)


def texts(keys: Iterable[str]) -> list[str]:
    """Keys, each a text."""
    if isinstance(keys, (str, bytes)):
        raise InputError(f"keys: {keys!r} is one text, not a collection of keys: write [{keys!r}]")
    found = list(keys)
    for place, key in enumerate(found):
        if not isinstance(key, str) or not key:
            raise InputError(f"keys, item {place}: a key must be text, not {key!r}")
        if "\0" in key or not is_unicode(key):
            raise InputError(f"keys, item {place}: {key!r} holds what no text may hold")
    return [str(key) for key in found]


def checked_keys(keys: Sequence[str], n: int) -> list[str]:
    """One key an item, none of them twice."""
    found = texts(keys)
    if len(found) != n:
        raise InputError(f"there are {len(found)} keys for {n} items")
    if len(set(found)) < n:
        seen: set[str] = set()
        twice = next(key for key in found if key in seen or seen.add(key))  # type: ignore[func-returns-value]  # remembers
        raise InputError(f"keys: {twice!r} is there twice in one round")
    return found


def checked_payloads(
    payloads: Sequence[Mapping[str, Any]] | None, n: int
) -> tuple[list[str], set[str]]:
    """The JSON text of each item's payload, and the names of all fields."""
    if payloads is None:
        return ["{}"] * n, set()
    found = list(payloads)
    if len(found) != n:
        raise InputError(f"there are {len(found)} payloads for {n} items")
    written: list[str] = []
    fields: set[str] = set()
    for place, payload in enumerate(found):
        if not isinstance(payload, Mapping):
            raise InputError(f"payloads, item {place}: {payload!r} is not a mapping of fields")
        try:
            text = _JSON.encode(dict(payload))
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(f"payloads, item {place}: JSON cannot hold it: {error}") from None
        if not is_unicode(text):
            raise InputError(f"payloads, item {place}: it holds what no text may hold")
        written.append(text)
        fields.update(payload)
    for field in fields:
        if not isinstance(field, str) or not field or '"' in field or field == CATEGORIES:
            raise InputError(
                f"payloads: a field cannot be called {field!r}: names are text without quotation "
                f"marks, and {CATEGORIES!r} is taken"
            )
    return written, fields


def checked_k(k: int, name: str = "k") -> int:
    """How many are to be found."""
    if not _is_whole(k) or k < 1:
        raise ParameterError(f"{name} must be a whole number from 1, not {k!r}")
    return int(k)


def checked_round_id(round_id: str) -> str:
    """The name of a round."""
    if not isinstance(round_id, str) or not round_id or not is_unicode(round_id):
        raise InputError(f"round_id must be text, not {round_id!r}")
    return round_id


def checked_seed(seed: int) -> int:
    """A seed, as a file can hold it."""
    if not _is_whole(seed) or seed < 0:
        raise ParameterError(f"seed must be a whole number from 0, not {seed!r}")
    return int(seed)


def checked_index(name: str) -> str:
    """The name of an index that can be made here."""
    if name not in ENGINES:
        raise ParameterError(f"index must be one of {', '.join(ENGINES)}, not {name!r}")
    ENGINES[name](8)  # says so where its library is missing, before there is a collection
    return name


def checked_widths(
    modalities: Mapping[str, int] | None, encoders: Suite | None = None
) -> dict[str, int]:
    """The width of every modality, as told or as the encoders make them."""
    if encoders is not None:
        if modalities not in (None, encoders.widths):
            raise ParameterError(
                f"modalities={modalities}, and the encoders make {encoders.widths}: leave it out"
            )
        return encoders.widths
    if not isinstance(modalities, Mapping) or not modalities:
        raise ParameterError(
            'modalities must be a mapping of name to width, like {"image": 512}, not '
            f"{modalities!r}"
        )
    for name, width in modalities.items():
        if not isinstance(name, str) or not name:
            raise ParameterError(f"modalities: a name must be text, not {name!r}")
        if not _is_whole(width) or width < 1:
            raise ParameterError(f"modalities: {name!r} must have a width from 1, not {width!r}")
    return {name: int(width) for name, width in modalities.items()}


def checked_sketch_bits(
    bits: int | Mapping[str, int], modalities: Mapping[str, int]
) -> dict[str, int]:
    """Bits of the sketches of the modalities that have any."""
    given = bits if isinstance(bits, Mapping) else dict.fromkeys(modalities, bits)
    for name, number in given.items():
        if name not in modalities:
            raise ParameterError(f"sketch_bits: there is no modality {name!r}")
        if not _is_whole(number) or not 0 <= number <= 1024 or number % 8:
            raise ParameterError(
                f"sketch_bits of {name!r} must be a multiple of 8 from 0 to 1024, not {number!r}"
            )
    return {name: int(given[name]) for name in sorted(given) if given[name]}


def hasher_config(hasher: Hasher) -> dict[str, Any]:
    """A hasher's name and parameters; None for parameters that JSON does not give back."""
    parameters = hasher.get_params(deep=False)
    try:
        plain = json.loads(json.dumps(parameters, allow_nan=False, default=_number))
    except (TypeError, ValueError):
        plain = None
    return {
        "name": type(hasher).__name__,
        "parameters": plain if plain == parameters else None,
    }


def configured_hasher(config: Mapping[str, Any], given: Hasher | None) -> Hasher:
    """The hasher of a collection, before it has learned anything."""
    name, parameters = config["name"], config["parameters"]
    if given is not None:
        if hasher_config(given) != config:
            raise ParameterError(
                f"the collection was made with {name} and the parameters {parameters}, and this "
                f"hasher is {given!r}"
            )
        return given
    if name not in BY_NAME or parameters is None:
        raise ParameterError(
            f"the collection was made with a hasher of your own or with parameters that a file "
            f"cannot hold: pass it again, omhash.open(path, hasher={name}(...))"
        )
    return BY_NAME[name](**parameters)


def _number(value: Any) -> int | float:
    """A plain number for one of NumPy's."""
    if isinstance(value, (np.integer, np.floating)):
        return value.item()
    raise TypeError(f"{value!r} is no number")


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
