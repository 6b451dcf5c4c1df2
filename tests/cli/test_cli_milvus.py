"""The command line with addresses on Milvus."""

import pytest
from commands import filled_folder, made_flowers, omhash, told  # noqa: F401 - pytest finds fixtures by name


def test_the_same_commands_on_milvus(folder, lite):
    path = next(lite)
    for place in ("roses.omhash", path):
        made = told("ingest", place, "flowers.jsonl", "--create", "--round-size", 80)
        assert (made["items"], made["rounds"]) == (200, 3)
        assert told("ingest", place, "flowers.jsonl", "--create", "--round-size", 80)["rounds"] == 0
        assert told("delete", place, "rose 4", "no rose") == {"deleted": 1, "not_there": 1}
        gone = told("forget", place, "flowers.jsonl", "--key", "rose 6")
        assert (gone["forgotten"], gone["purged"]) == (1, True)
        assert told("check", place) == {"whole": True, "problems": [], "repaired": []}
        assert told("compact", place)["complete"]
    asked = ("queries.jsonl", "-k", 7, "--detail", 0.3, "--where", '{"price": {"<": 150}}')
    assert told("search", path, *asked) == told("search", "roses.omhash", *asked)
    one, other = (omhash("export", place).stdout for place in ("roses.omhash", path))
    assert one == other
    status = told("status", path)
    assert (status["path"], status["items"]) == (path, 198)
    assert status["index"]["recall"] == 1.0


def test_copies_are_told_of(folder, lite):
    path = next(lite)
    told("ingest", "roses.omhash", "flowers.jsonl", "--create")
    report = told("copy", "roses.omhash", path)
    expected = {"collection": "roses.omhash", "copy": path, "items": 200, "rounds": 1}
    assert report == {**expected, "rounds_there_before": 0, "verified": True}
    assert told("copy", path, "back.omhash")["items"] == 200
    again = omhash("copy", "roses.omhash", path)
    assert "rounds there before  1" in again.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("status", "http://localhost/flowers"), 2, "an address is a path, or begins with"),
        (("status", "milvus+http://127.0.0.1:9/flowers?timeout=1"), 1, "no Milvus server answers"),
        (("status", "milvus+file://nothing.db"), 1, "there is no collection here"),
        (("backup", "LITE", "folder"), 1, "omhash copy"),
        (("copy", "nothing", "LITE"), 1, "there is no collection here"),
    ],
)
def test_what_cannot_be_is_told_in_a_line(folder, lite, arguments, code, words):
    path = next(lite)
    told("create", path, "--modality", "image=32")
    result = omhash(*(path if word == "LITE" else word for word in arguments))
    assert result.exit_code == code
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
