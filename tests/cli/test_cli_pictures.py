"""Pictures in a folder, the service, and the demonstration, from the command line."""

import json
import signal
import urllib.request

import numpy as np
import pytest
from commands import child, filled_folder, made_flowers, omhash, told  # noqa: F401 - pytest finds fixtures by name
from PIL import Image

import omhash as library

COLOURS = {"red": (220, 30, 30), "blue": (30, 30, 220)}


@pytest.fixture(name="pictures")
def made_pictures(folder):
    rng = np.random.default_rng(0)
    (folder / "pictures").mkdir()
    lines = []
    for number in range(12):
        colour = list(COLOURS)[number % 2]
        pixels = np.clip(COLOURS[colour] + rng.normal(0, 20, (16, 16, 3)), 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / "pictures" / f"{number}.png")
        lines.append({"file": f"{number}.png", "text": colour, "categories": [colour]})
    (folder / "pictures" / "broken.jpg").write_bytes(b"no picture")
    (folder / "captions.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return folder


def of_folder(*more):
    return "ingest", "mine.omhash", "--folder", "pictures", "--captions", "captions.jsonl", *more


def test_a_folder_is_stored_in_rounds_and_what_is_unreadable_is_named(pictures):
    result = omhash(*of_folder("--create", "--round-size", 5, "--json"))
    assert result.exit_code == 0
    assert "broken.jpg" in result.stderr
    said = json.loads(result.stdout)
    assert (said["items"], said["rounds"], said["skipped"]) == (12, 3, ["broken.jpg"])
    with library.open("mine.omhash") as collection:
        suite = collection.encoders()
        hits = collection.search(suite.encode([{"text": "blue"}]), k=6)[0]
        assert {hit.categories for hit in hits} == {("blue",)}
        assert all(hit.payload["picture"].startswith("data:image/webp") for hit in hits)


def test_a_folder_is_not_stored_twice(pictures):
    told_first = omhash(*of_folder("--create", "--round-size", 5, "--json"))
    again = told(*of_folder("--round-size", 5))
    assert json.loads(told_first.stdout)["rounds"] == 3
    assert (again["items"], again["rounds_stored_before"]) == (0, 3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ingest", "mine.omhash"], "a FILE of features or a --folder"),
        (["ingest", "mine.omhash", "flowers.npz", "--folder", "pictures"], "FILE of features or"),
        (["ingest", "mine.omhash", "flowers.npz", "--captions", "c.jsonl"], "only with --folder"),
        ([*of_folder("--create"), "--modality", "image=3"], "of no use with --folder"),
    ],
)
def test_options_that_do_not_go_together_are_told(pictures, arguments, words):
    result = omhash(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert not (pictures / "mine.omhash").exists()


def test_a_folder_does_not_go_into_a_collection_of_features(pictures):
    omhash("ingest", "things.omhash", "flowers.npz", "--create")
    result = omhash("ingest", "things.omhash", "--folder", "pictures")
    assert result.exit_code == 1
    assert "without encoders" in result.stderr


def test_a_collection_is_served_until_ctrl_c(folder):
    omhash("ingest", "things.omhash", "flowers.npz", "--create")
    with child("serve", "things.omhash", "--port", "0", "--json") as process:
        address = json.loads(process.stdout.readline())["address"]
        with urllib.request.urlopen(f"{address}v1/collections", timeout=30) as answer:  # noqa: S310 - our own service
            (status,) = json.load(answer)["collections"]
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b""
    assert (status["name"], status["items"]) == ("things", 240)
    assert process.returncode == 130


@pytest.mark.parametrize(
    ("content", "words"), [("secret-secret-secret all", "line 1"), ("", "no token")]
)
def test_a_file_of_tokens_must_say_what_each_may(folder, content, words):
    (folder / "tokens").write_text(content)
    result = omhash("serve", "things.omhash", "--tokens", "tokens")
    assert result.exit_code == 2
    assert words in result.stderr


def test_others_than_this_machine_need_tokens(folder):
    omhash("ingest", "things.omhash", "flowers.npz", "--create")
    result = omhash("serve", "things.omhash", "--host", "0.0.0.0")  # noqa: S104 - it is refused
    assert result.exit_code == 2
    assert "tokens" in result.stderr


def test_the_demonstration_streams_the_emoji_and_goes_on_where_it_stopped(folder):
    said = told("demo", "--no-serve")
    assert len(said["rounds"]) == 9
    assert sum(round_["items"] for round_ in said["rounds"]) == 1666
    assert all(round_["MAP after"] > round_["MAP before"] for round_ in said["rounds"])
    assert told("demo", "--no-serve") == said
