"""A folder of pictures with captions."""

import json

import pytest
from PIL import Image

from omhash.encoders import EfficientNetLite0, Folder, HashedWords, Suite
from omhash.errors import DataFileError, ParameterError


@pytest.fixture(scope="module")
def suite():
    return Suite({"image": EfficientNetLite0(), "text": HashedWords(64)})


@pytest.fixture
def pictures(tmp_path):
    folder = tmp_path / "pictures"
    (folder / "deep").mkdir(parents=True)
    for number, name in enumerate(["a.png", "b.JPG", "deep/c.webp", "d.gif"]):
        Image.new("RGB", (9, 9), (60 * number, 0, 0)).save(folder / name)
    (folder / "broken.png").write_bytes((folder / "a.png").read_bytes()[:40])
    (folder / "notes.txt").write_text("no picture")
    return folder


def captions(folder, *lines):
    path = folder.parent / "captions.jsonl"
    path.write_text(
        "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    )
    return path


def test_without_captions_every_picture_is_an_item(pictures, suite):
    (found,) = Folder(pictures).rounds(suite)
    assert [item.key for item in found.items] == ["a.png", "b.JPG", "d.gif", "deep/c.webp"]
    assert [list(item.parts) for item in found.items] == [["image"]] * 4
    assert [item.categories for item in found.items] == [()] * 4
    assert [one.file for one in found.skipped] == ["broken.png"]
    assert "cannot be read" in found.skipped[0].reason


def test_captions_bring_order_words_categories_and_payload(pictures, suite):
    path = captions(
        pictures,
        {"file": "deep/c.webp", "text": "a red thing", "categories": ["thing"], "price": 3},
        "",
        {"file": "a.png", "text": ""},
    )
    (found,) = Folder(pictures, path).rounds(suite)
    assert [item.key for item in found.items] == ["deep/c.webp", "a.png", "b.JPG", "d.gif"]
    first, second = found.items[:2]
    assert first.parts["text"] == "a red thing"
    assert first.categories == ("thing",)
    assert first.payload == {"file": "deep/c.webp", "price": 3}
    assert list(second.parts) == ["image"]
    assert found.items[2].payload == {"file": "b.JPG"}


def test_rounds_have_so_many_files_and_hold_all(pictures, suite):
    folder = Folder(pictures)
    rounds = list(folder.rounds(suite, size=2))
    assert [len(r.items) + len(r.skipped) for r in rounds] == [2, 2, 1]
    assert len(folder) == 5
    with pytest.raises(ParameterError, match="size"):
        next(folder.rounds(suite, size=0))


def test_items_are_encoded_as_their_files(pictures, suite):
    (found,) = Folder(pictures).rounds(suite)
    encoded = suite.encode(item.parts for item in found.items)["image"]
    direct = EfficientNetLite0().encode([pictures / item.key for item in found.items])
    assert (encoded == direct).all()


def test_files_that_are_not_there_or_outside_are_skipped(pictures, suite):
    Image.new("RGB", (9, 9)).save(pictures.parent / "secret.png")
    (pictures / "link.png").symlink_to(pictures.parent / "secret.png")
    outside = ["../secret.png", str(pictures.parent / "secret.png"), "link.png"]
    path = captions(pictures, *({"file": file} for file in [*outside, "gone.png", "a\0b.png"]))
    (found,) = Folder(pictures, path).rounds(suite)
    reasons = {one.file: one.reason for one in found.skipped}
    assert all("not in the folder" in reasons[file] for file in outside)
    assert "no such file" in reasons["gone.png"]
    assert "a\0b.png" in reasons
    assert len(found.items) == 4


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "7",
        {"text": "no file"},
        {"file": ""},
        {"file": 7},
        {"file": "b.JPG", "text": 7},
        {"file": "b.JPG", "categories": "one"},
        {"file": "b.JPG", "categories": [""]},
        {"file": "a.png"},
    ],
)
def test_a_wrong_line_is_named(pictures, line):
    path = captions(pictures, {"file": "a.png"}, line)
    with pytest.raises(DataFileError, match="line 2"):
        Folder(pictures, path)


def test_missing_folders_and_captions_are_named(pictures, tmp_path):
    with pytest.raises(DataFileError, match="no such folder"):
        Folder(tmp_path / "gone")
    with pytest.raises(DataFileError, match="gone"):
        Folder(pictures, tmp_path / "gone.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b'{"file": "\xe9"}')
    with pytest.raises(DataFileError, match="latin"):
        Folder(pictures, tmp_path / "latin.jsonl")
