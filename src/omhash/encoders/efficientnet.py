"""Pictures through the small convolutional network that ships with the package."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from .base import Encoder, prepared
from .pictures import MAX_PIXELS, Picture, square

_SIDE = 224
# What the network was trained with, in its authors' TensorFlow code.
_MEAN, _SPREAD = np.float32(127), np.float32(128)


class EfficientNetLite0(Encoder):
    """The 1280 pooled features of EfficientNet-Lite0, computed by ONNX Runtime.

    Parameters
    ----------
    max_pixels : int
        Larger pictures are refused before they are decoded.
    threads : int
        How many pictures are encoded at once.

    Examples
    --------
    >>> from PIL import Image
    >>> encoder = EfficientNetLite0()
    >>> encoder.encode([Image.new("RGB", (30, 20), "red")]).shape
    (1, 1280)
    """

    kind: ClassVar[str] = "picture"
    name = "efficientnet-lite0"
    version = "1"
    width = 1280

    def __init__(self, *, max_pixels: int = MAX_PIXELS, threads: int = 2) -> None:
        self.max_pixels = max_pixels
        self.threads = threads

    @property
    def digest(self) -> str:  # type: ignore[override]  # read when it is asked
        """SHA-256 of the model file."""
        return _digest()

    def prepare(self, item: Picture) -> Image.Image:
        """The picture at the network's size."""
        return square(item, _SIDE, max_pixels=self.max_pixels)

    def encode(self, items: Sequence[Picture]) -> NDArray[np.float32]:
        """Features of pictures: paths, bytes of files, or PIL images."""
        if not len(items):
            return np.empty((0, self.width), dtype=np.float32)
        session = _session()

        def features(picture: Image.Image) -> NDArray[np.float32]:
            pixels = (np.asarray(picture, dtype=np.float32) - _MEAN) / _SPREAD
            # One picture a run: what others there are cannot change a bit.
            answer = session.run(None, {"picture": pixels.transpose(2, 0, 1)[None]})
            return np.asarray(answer[0][0], dtype=np.float32)

        small = prepared(self, items)
        if len(small) == 1 or self.threads == 1:
            return np.stack([features(picture) for picture in small])
        with ThreadPoolExecutor(self.threads) as pool:
            return np.stack(list(pool.map(features, small)))


@cache
def _model() -> bytes:
    return resources.files(__package__).joinpath("efficientnet_lite0.onnx").read_bytes()


@cache
def _digest() -> str:
    return sha256(_model()).hexdigest()


@cache
def _session() -> Any:
    import onnxruntime  # here, because it takes a while and few need it

    options = onnxruntime.SessionOptions()
    # More threads in one run would share out sums by the number of cores.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(_model(), options, providers=["CPUExecutionProvider"])
