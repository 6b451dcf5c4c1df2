"""Pictures to features: the same in any company, and bad ones refused."""

import io
import struct
import warnings
import zlib
from importlib import resources

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from omhash.datasets import emoji
from omhash.encoders import EfficientNetLite0
from omhash.errors import InputError

CODES = ("1f600", "1f436", "1f697", "1f34e", "1f1e9-1f1ea")


def photo(width=60, height=40, seed=0):
    noise = np.random.default_rng(seed).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    return Image.fromarray(noise).resize((width, height), Image.Resampling.BICUBIC)


def as_bytes(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


@pytest.fixture(scope="module")
def pictures():
    return [emoji.picture(code) for code in CODES]


@pytest.fixture(scope="module")
def features(pictures):
    return EfficientNetLite0().encode(pictures)


def test_a_picture_has_the_same_features_alone_and_in_any_batch(pictures, features):
    encoder = EfficientNetLite0(threads=1)
    for row, picture in enumerate(pictures):
        assert np.array_equal(encoder.encode([picture])[0], features[row])
    turned = EfficientNetLite0(threads=3).encode(pictures[::-1] * 2)
    assert np.array_equal(turned, np.tile(features[::-1], (2, 1)))


def test_a_path_its_bytes_and_the_decoded_picture_are_the_same(tmp_path, pictures, features):
    path = tmp_path / "emoji.webp"
    path.write_bytes(pictures[0])
    same = EfficientNetLite0().encode([path, str(path), Image.open(path), pictures[0]])
    assert np.array_equal(same, np.tile(features[0], (4, 1)))


def test_a_prepared_picture_has_the_features_of_the_picture(pictures, features):
    encoder = EfficientNetLite0()
    small = [encoder.prepare(picture) for picture in pictures]
    assert {picture.size for picture in small} == {(224, 224)}
    assert np.array_equal(encoder.encode(small), features)


def test_features_are_those_of_the_published_weights_in_full_precision():
    """The largest of a picture's features, as PyTorch computes them without the export."""
    y, x = np.mgrid[:224, :224]
    pixels = np.stack([x, y, (x * y) // 224], axis=-1).astype(np.uint8)
    row = EfficientNetLite0().encode([Image.fromarray(pixels)])[0]
    published = {1006: 3.888, 897: 3.798, 113: 3.668, 689: 3.249, 71: 2.955, 468: 2.848}
    assert row.dtype == np.float32
    assert set(np.argsort(row)[-6:].tolist()) == set(published)
    assert row[list(published)] == pytest.approx(list(published.values()), abs=0.03)
    assert np.linalg.norm(row) == pytest.approx(12.925, abs=0.05)


def test_like_pictures_have_like_features():
    dog, wolf, car, bus = EfficientNetLite0().encode(
        [emoji.picture(code) for code in ("1f436", "1f43a", "1f697", "1f68c")]
    )

    def cosine(a, b):
        return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    assert cosine(dog, wolf) > max(cosine(dog, car), cosine(dog, bus))
    assert cosine(car, bus) > max(cosine(dog, car), cosine(wolf, bus))


def test_no_pictures_have_no_features():
    assert EfficientNetLite0().encode([]).shape == (0, 1280)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGBA", "CMYK", "I", "I;16", "F", "LA"])
def test_pictures_of_every_mode_are_read(mode):
    image = photo().convert("L").convert(mode) if mode != "I;16" else Image.new(mode, (9, 9))
    assert np.isfinite(EfficientNetLite0().encode([image])).all()


def test_deep_grey_is_read_as_the_same_grey():
    grey = np.linspace(0, 255, 224 * 224).astype(np.uint16).reshape(224, 224)
    encoder = EfficientNetLite0()
    deep, plain = Image.fromarray(grey * 257), Image.fromarray(grey.astype(np.uint8))
    assert np.array_equal(encoder.prepare(deep), encoder.prepare(plain))


def test_a_picture_is_turned_as_the_camera_was_held(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = as_bytes(photo().rotate(90, expand=True), "PNG", exif=exif)
    encoder = EfficientNetLite0()
    assert np.array_equal(encoder.prepare(turned), encoder.prepare(as_bytes(photo(), "PNG")))


def test_the_whole_of_a_picture_is_kept_on_white():
    wide = np.asarray(EfficientNetLite0().prepare(Image.new("RGB", (400, 100), "black")))
    assert (wide[:80] == 255).all()
    assert (wide[90:130] == 0).all()


def bomb(width, height):
    """A PNG that promises many pixels in few bytes."""

    def chunk(name, data):
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


@pytest.mark.parametrize("side", [8_000, 60_000, 2_000_000_000])
def test_a_bomb_is_refused_before_it_is_decoded(side):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match=r"pixels|size"):
            EfficientNetLite0().encode([bomb(side, side)])


def test_the_limit_is_that_of_the_encoder(pictures):
    with pytest.raises(InputError, match="96 × 96 pixels are more than 9,000"):
        EfficientNetLite0(max_pixels=9_000).encode([pictures[0]])
    assert EfficientNetLite0(max_pixels=96 * 96).encode([pictures[0]]).any()


@pytest.mark.parametrize(
    ("picture", "message"),
    [
        (b"", "cannot be read"),
        (b"GIF89a", "cannot be read"),
        (as_bytes(photo(), "PNG")[:200], "cannot be read"),
        (as_bytes(photo(600, 400), "JPEG")[:3000], "cannot be read"),
        ("no/such/file.png", "there is no such file"),
        ("a\0b", "picture"),
        (7, "not int"),
        (None, "not NoneType"),
    ],
)
def test_what_is_no_picture_is_an_error_that_says_which_item(pictures, picture, message):
    with pytest.raises(InputError, match=f"item 1: .*{message}"):
        EfficientNetLite0().encode([pictures[0], picture])


def test_formats_that_few_need_are_not_decoded():
    with pytest.raises(InputError, match="cannot be read"):
        EfficientNetLite0().encode([as_bytes(photo(), "PPM")])


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_damaged_bytes_are_read_or_refused_and_nothing_else(data):
    whole = bytearray(
        as_bytes(photo(), data.draw(st.sampled_from(["PNG", "JPEG", "GIF", "WEBP", "TIFF"])))
    )
    for _ in range(data.draw(st.integers(1, 20))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        small = EfficientNetLite0().prepare(bytes(whole))
    except InputError:
        return
    assert small.size == (224, 224)


def test_the_identity_names_the_weights_in_the_package():
    from hashlib import sha256

    model = resources.files("omhash.encoders").joinpath("efficientnet_lite0.onnx").read_bytes()
    told = EfficientNetLite0().identity()
    assert told["digest"] == sha256(model).hexdigest()
    assert (told["name"], told["width"]) == ("efficientnet-lite0", 1280)
    assert len(model) < 8_000_000
