"""A real server that is stopped, killed and asked by slow and rude clients."""

import json
import signal
import socket
import threading
import time

import httpx
import pytest
from browser import served
from served import fill, names, rows

import omhash
from omhash import Client
from omhash.datasets import synthetic
from omhash.errors import ParameterError
from omhash.rounds import to_parquet
from omhash.service import serve

KIND = {"Content-Type": "application/vnd.apache.parquet"}


@pytest.fixture(scope="module")
def content(data):
    part = slice(200, 300)
    keys = [f"thing {number}" for number in range(200, 300)]
    return to_parquet(rows(data, part), names(data, part), keys=keys)


def upload(address, content, found):
    try:
        answer = httpx.post(
            f"{address}v1/collections/things/rounds/parquet?round_id=second",
            content=content,
            headers=KIND,
            timeout=60,
        )
        found.append(answer.json() if answer.is_success else answer.text)
    except httpx.HTTPError as error:
        found.append(error)


@pytest.mark.parametrize("after", [0.0, 0.02, 0.06, 0.15])
def test_a_server_killed_during_an_upload_leaves_the_collection_whole(folder, content, after):
    with served(folder) as (process, address):
        found = []
        thread = threading.Thread(target=upload, args=(address, content, found))
        thread.start()
        time.sleep(after)  # wherever the upload is by then
        process.kill()
        thread.join()
    with omhash.open(folder / "things.omhash") as things:
        assert things.check() == []
        assert len(things) in (200, 300)
    with served(folder) as (_, address), Client(address, "things") as client:
        first, again = [], []
        upload(address, content, first)
        upload(address, content, again)
        assert first[0]["items"] == again[0]["items"] == 100
        assert again[0]["repeated"]
        assert client.check() == []
        assert [one.id for one in client.rounds()] == ["first", "second"]
        assert len(client) == 300


def test_a_stopped_server_finishes_the_round_in_hand(tmp_path):
    # Wide features, so that a round is still in hand when the server is told to stop.
    wide = synthetic.make(n_items=300, n_categories=6, modalities={"image": 3000}, seed=1)
    fill(tmp_path / "things.omhash", wide)
    part = slice(200, 300)
    keys = [f"thing {number}" for number in range(200, 300)]
    content = to_parquet(rows(wide, part), names(wide, part), keys=keys)
    with served(tmp_path) as (process, address):
        found = []
        thread = threading.Thread(target=upload, args=(address, content, found))
        with httpx.stream("GET", f"{address}v1/collections/things/progress", timeout=60) as events:
            lines = events.iter_lines()
            assert next(lines) == "event: progress"
            thread.start()
            states = (json.loads(line[6:]) for line in lines if line.startswith("data: "))
            state = next(state for state in states if state["running"] or state["rounds"] == 2)
            assert state["running"]
            process.send_signal(signal.SIGTERM)
            for _ in lines:  # the stream ends by itself
                pass
        thread.join()
        assert process.wait(timeout=60) in (0, -signal.SIGTERM)
        assert found[0]["items"] == 100
    with omhash.open(tmp_path / "things.omhash") as things:
        assert len(things) == 300
        assert things.check() == []


def test_progress_tells_of_a_round_from_its_beginning_to_its_end(folder, content):
    with served(folder) as (_, address):
        found = []
        thread = threading.Thread(target=upload, args=(address, content, found))
        states = []
        with httpx.stream("GET", f"{address}v1/collections/things/progress", timeout=60) as events:
            for line in events.iter_lines():
                if line.startswith("data: "):
                    states.append(json.loads(line[6:]))
                    if len(states) == 1:
                        thread.start()
                    elif states[-1]["items"] == 300 and states[-1]["running"] is None:
                        break
        thread.join()
    assert states[0]["items"] == 200
    assert states[0]["running"] is None
    assert states[-1]["rounds"] == 2
    assert states[-1]["failed"] is None


def test_searches_go_on_while_a_round_is_learned(folder, data, content):
    with served(folder) as (_, address), Client(address, "things") as client:
        found = []
        thread = threading.Thread(target=upload, args=(address, content, found))
        thread.start()
        answers = []
        while thread.is_alive():
            hits = client.search({"image": rows(data, [250])["image"]}, k=300)[0]
            answers.append(len(hits))
        thread.join()
        assert found[0]["items"] == 100
    # Each search saw the state before or the state after, whole.
    assert set(answers) <= {200, 300}
    assert answers == sorted(answers)


def test_a_body_that_never_ends_its_headers_or_stops_does_not_hold_others(folder):
    with served(folder) as (_, address):
        port = int(address.rsplit(":", 1)[1].strip("/"))
        rude = []
        for sent in (
            b"POST /v1/collections/things/search HTTP/1.1\r\nHost: 127.0.0.1\r\n",
            b"POST /v1/collections/things/search HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
            b"\x00\x01\x02\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: x\r\n\r\n",
        ):
            one = socket.create_connection(("127.0.0.1", port))
            one.sendall(sent)
            rude.append(one)
        for _ in range(5):
            assert httpx.get(f"{address}v1/collections").status_code == 200
        for one in rude:
            one.close()
        assert httpx.get(f"{address}livez").status_code == 200


def test_a_service_for_everybody_needs_tokens(tmp_path):
    with pytest.raises(ParameterError, match="tokens"):
        serve(tmp_path, host="0.0.0.0")  # noqa: S104 - refused
    with pytest.raises(ParameterError, match="16 or more"):
        serve(tmp_path, tokens={"short": "read"})


def test_other_processes_may_write_to_what_is_served(folder, data):
    with served(folder) as (_, address), Client(address, "things") as client:
        assert len(client) == 200
        with omhash.open(folder / "things.omhash") as things:
            things.delete(["thing 0"])
        assert len(client) == 199
        assert client.get(["thing 0"]) == []
