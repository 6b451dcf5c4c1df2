"""Encoders of other libraries, by the name of the model, where those are installed.

They load with the library's own code, which may download weights on the first use. Items
go through a model one at a time: in a batch, the others would move the last bits.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ..errors import ParameterError, UnsupportedError
from .base import Encoder, prepared
from .pictures import Picture, square
from .words import checked_text


class _Named(Encoder):
    """A model of another library, loaded when it is first asked."""

    version = "1"
    _package: ClassVar[str]

    @cached_property
    def _loaded(self) -> tuple[Any, Callable[[Any], Any]]:
        """The model, and what makes a vector of one prepared item."""
        module = _imported(self._package)
        try:
            return self._load(module)
        except Exception as error:
            # These libraries meet a wrong name, no network and broken files in many ways.
            raise ParameterError(
                f"{self.name}: the model of {self.options} cannot be loaded "
                f"({type(error).__name__}: {error}): check the name, and that it is downloaded or "
                "can be"
            ) from error

    @abstractmethod
    def _load(self, module: Any) -> tuple[Any, Callable[[Any], Any]]:
        """The model, and what makes a vector of one prepared item."""

    @cached_property
    def digest(self) -> str:  # type: ignore[override]  # known once the model is loaded
        """SHA-256 of all weights, by name."""
        digest = sha256()
        for name, tensor in sorted(self._loaded[0].state_dict().items()):
            values = np.ascontiguousarray(tensor.detach().cpu().float().numpy())
            digest.update(f"{name}{values.shape}".encode() + values.tobytes())
        return digest.hexdigest()

    @cached_property
    def width(self) -> int:  # type: ignore[override]  # known once the model is loaded
        """How many features the model gives."""
        return int(self._vector(self.prepare(self._sample)).shape[0])

    _sample: ClassVar[Any]

    def encode(self, items: Sequence[Any]) -> NDArray[np.float32]:
        """Features, one row an item."""
        rows = [self._vector(item) for item in prepared(self, items)]
        return np.stack(rows) if rows else np.empty((0, self.width), dtype=np.float32)

    def _vector(self, item: Any) -> NDArray[np.float32]:
        _, vector = self._loaded
        with _imported("torch").inference_mode():
            answer = vector(item)
        return np.asarray(answer, dtype=np.float32).reshape(-1)


class _NamedWords(_Named):
    kind: ClassVar[str] = "words"
    _sample = "word"

    def prepare(self, item: Any) -> str:
        """The text, once it is known to be one."""
        return checked_text(item)


class _NamedPictures(_Named):
    kind: ClassVar[str] = "picture"
    _sample = Image.new("RGB", (8, 8))
    _side = 384

    def prepare(self, item: Picture) -> Image.Image:
        """The picture in a square; the model's own transform goes on from there."""
        return square(item, self._side)


class SentenceTransformerWords(_NamedWords):
    """A text model of sentence-transformers.

    Parameters
    ----------
    model : str
        A name or a folder, as `sentence_transformers.SentenceTransformer` takes it.
    """

    name = "sentence-transformers"
    _package = "sentence_transformers"

    def __init__(self, model: str) -> None:
        self.model = model

    @property
    def options(self) -> dict[str, Any]:
        """The model."""
        return {"model": self.model}

    def _load(self, module: Any) -> tuple[Any, Callable[[Any], Any]]:
        model = module.SentenceTransformer(self.model, device="cpu").eval()
        return model, lambda text: model.encode(text, show_progress_bar=False)


class TimmPictures(_NamedPictures):
    """The pooled features of a picture model of timm.

    Parameters
    ----------
    model : str
    weights : str, optional
        A file of weights; those that timm downloads for the model where nothing is said.
    """

    name = "timm"
    _package = "timm"

    def __init__(self, model: str, weights: str | None = None) -> None:
        self.model, self.weights = model, weights

    @property
    def options(self) -> dict[str, Any]:
        """The model and its weights."""
        return {"model": self.model, "weights": self.weights}

    def _load(self, module: Any) -> tuple[Any, Callable[[Any], Any]]:
        model = module.create_model(
            self.model, pretrained=self.weights is None, checkpoint_path=self.weights or ""
        ).eval()
        # Not before: files of weights have a classifier as well.
        model.reset_classifier(0)
        config = module.data.resolve_model_data_config(model)
        transform = module.data.create_transform(**config, is_training=False)
        return model, lambda picture: model(transform(picture)[None])[0]


class _OpenClip(_Named):
    _package = "open_clip"

    def __init__(self, model: str, weights: str) -> None:
        self.model, self.weights = model, weights

    @property
    def options(self) -> dict[str, Any]:
        """The model and its weights."""
        return {"model": self.model, "weights": self.weights}


class OpenClipPictures(_OpenClip, _NamedPictures):
    """Pictures by a model of open_clip.

    Parameters
    ----------
    model : str
    weights : str
        A name of pretrained weights, or a file.
    """

    name = "open-clip-pictures"

    def _load(self, module: Any) -> tuple[Any, Callable[[Any], Any]]:
        model, _, transform = module.create_model_and_transforms(
            self.model, pretrained=self.weights
        )
        model.eval()
        return model, lambda picture: model.encode_image(transform(picture)[None])[0]


class OpenClipWords(_OpenClip, _NamedWords):
    """Words by a model of open_clip, in the same space as its pictures.

    Parameters
    ----------
    model, weights : str
        As for `OpenClipPictures`.
    """

    name = "open-clip-words"

    def _load(self, module: Any) -> tuple[Any, Callable[[Any], Any]]:
        model, _, _ = module.create_model_and_transforms(self.model, pretrained=self.weights)
        model.eval()
        tokens = module.get_tokenizer(self.model)
        return model, lambda text: model.encode_text(tokens([text]))[0]


NAMED: Mapping[str, type[_Named]] = {
    encoder.name: encoder
    for encoder in (SentenceTransformerWords, TimmPictures, OpenClipPictures, OpenClipWords)
}


def _imported(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise UnsupportedError(
            f"{package} is not installed: pip install 'omhash[encoders]'"
        ) from error
