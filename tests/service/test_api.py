import numpy as np
import pytest
from fastapi.testclient import TestClient
from served import LIMITS, names, rows

import omhash
from omhash.codes import unpack
from omhash.rounds import to_parquet
from omhash.service import create_app

THINGS = "/v1/collections/things"


def listed(views):
    return {name: view.tolist() for name, view in views.items()}


def error(answer, status):
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error"}
    assert set(answer.json()["error"]) == {"kind", "message"}
    return answer.json()["error"]


def test_a_search_over_http_finds_what_the_library_finds(http, folder, data):
    views = rows(data, slice(250, 255))
    options = {"k": 7, "detail": 0.4, "where": {"categories": "category 1"}}
    found = http.post(f"{THINGS}/search", json={"views": listed(views), **options}).json()
    with omhash.open(folder / "things.omhash") as things:
        expected = things.search(views, **options)
    assert [[hit["key"] for hit in one["hits"]] for one in found["results"]] == [
        [hit.key for hit in hits] for hits in expected
    ]
    first, same = found["results"][0]["hits"][0], expected[0][0]
    assert first == {
        "key": same.key,
        "score": pytest.approx(same.score),
        "distance": same.distance,
        "categories": list(same.categories),
        "payload": same.payload,
    }


def test_a_search_like_an_item_does_not_find_the_item(http):
    hits = http.post(f"{THINGS}/search", json={"key": "thing 3", "k": 5}).json()["results"][0]
    assert len(hits["hits"]) == 5
    assert "thing 3" not in [hit["key"] for hit in hits["hits"]]


def test_emphasis_of_one_modality_is_a_search_without_the_other(http, data):
    views = listed(rows(data, slice(250, 252)))
    weighed = http.post(f"{THINGS}/search", json={"views": views, "emphasis": {"text": 0}}).json()
    alone = http.post(f"{THINGS}/search", json={"views": {"image": views["image"]}}).json()
    assert weighed == alone
    learned = http.post(f"{THINGS}/search", json={"views": views}).json()
    assert learned != alone


def test_a_row_of_null_lacks_the_modality(http, data):
    views = listed(rows(data, slice(250, 252)))
    lacking = {"image": [views["image"][0], None], "text": views["text"]}
    both = http.post(f"{THINGS}/search", json={"views": lacking}).json()["results"]
    words = http.post(f"{THINGS}/search", json={"views": {"text": views["text"]}}).json()
    assert both[1] == words["results"][1]


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_a_round_is_learned_once_however_often_it_is_sent(http, folder, data, form):
    part = slice(200, 260)
    keys = [f"thing {number}" for number in range(200, 260)]
    given = {"labels": names(data, part), "keys": keys, "payloads": [{"number": 1}] * 60}

    def send():
        if form == "json":
            body = {"views": listed(rows(data, part)), "round_id": "second", **given}
            return http.post(f"{THINGS}/rounds", json=body)
        return http.post(
            f"{THINGS}/rounds/parquet?round_id=second",
            content=to_parquet(rows(data, part), **given),
            headers={"Content-Type": "application/vnd.apache.parquet"},
        )

    report = send().json()
    assert (report["items"], report["labelled"], report["repeated"]) == (60, 60, False)
    assert 0 < report["map"]["before"] <= 1
    assert 0 < report["map"]["after"] <= 1
    again = send().json()
    assert again["repeated"]
    assert again["map"] == report["map"]
    assert http.get(THINGS).json()["items"] == 260
    assert [one["id"] for one in http.get(f"{THINGS}/rounds").json()["rounds"]] == [
        "first",
        "second",
    ]
    with omhash.open(folder / "things.omhash") as things:
        assert things.check() == []


def test_a_round_over_http_teaches_the_same_as_one_in_the_library(http, tmp_path, data):
    part = slice(0, 120)
    keys = [f"{number}" for number in range(120)]
    made = {"name": "other", "modalities": {"image": 24, "text": 40}, "n_bits": 32}
    assert http.post("/v1/collections", json=made).status_code == 201
    content = to_parquet(rows(data, part), names(data, part), keys=keys)
    kind = {"Content-Type": "application/vnd.apache.parquet"}
    answer = http.post("/v1/collections/other/rounds/parquet", content=content, headers=kind)
    assert answer.status_code == 200, answer.text
    with omhash.Collection.create(
        tmp_path / "own.omhash", modalities=made["modalities"], n_bits=32
    ) as own:
        own.ingest(rows(data, part), names(data, part), keys=keys)
        codes = [unpack(item.code[None])[0] > 0 for item in own.items()]
    items = http.get("/v1/collections/other/items?limit=1000").json()["items"]
    assert [item["key"] for item in items] == keys
    assert np.array_equal([[bit == "1" for bit in item["code"]] for item in items], codes)


def test_items_are_listed_page_by_page_and_found_by_key(http):
    seen, after = [], ""
    while after is not None:
        page = http.get(f"{THINGS}/items?limit=90" + (f"&after={after}" if after else "")).json()
        seen += [item["key"] for item in page["items"]]
        after = page["next"]
    assert seen == [f"thing {number}" for number in range(200)]
    found = http.get(f"{THINGS}/items", params={"key": ["thing 7", "nobody", "thing 2"]}).json()
    assert [item["key"] for item in found["items"]] == ["thing 7", "thing 2"]
    assert found["items"][0]["payload"] == {"number": 7}


def test_items_are_deleted_and_forgotten(http, data):
    gone = http.post(f"{THINGS}/delete", json={"keys": ["thing 1", "nobody"]})
    assert gone.json() == {"deleted": 1}
    body = {"keys": ["thing 2", "nobody"], "views": listed(rows(data, [2, 2]))}
    told = http.post(f"{THINGS}/forget", json=body).json()
    assert (told["forgotten"], told["missing"]) == (1, ["nobody"])
    assert http.get(THINGS).json()["items"] == 198
    assert http.post(f"{THINGS}/check").json() == {"problems": []}
    assert http.post(f"{THINGS}/compact").json() == {"whole": True}


def test_status_tells_no_path_of_the_machine(http, folder):
    told = http.get("/v1/collections")
    assert str(folder) not in told.text
    assert [one["name"] for one in told.json()["collections"]] == ["things"]
    assert http.get(f"{THINGS}/categories").json()["categories"] == [
        f"category {number}" for number in range(6)
    ]


def test_metrics_count_requests_by_route(http):
    http.get(THINGS)
    http.get("/v1/collections/nobody")
    http.get("/nowhere/at/all")
    text = http.get("/metrics").text
    assert (
        'omhash_http_requests_total{method="GET",route="/v1/collections/{name}",status="200"} 1.0'
        in text
    )
    assert 'omhash_items{collection="things"} 200.0' in text
    assert "nowhere" not in text


def test_the_service_says_that_it_lives_and_is_ready(http):
    assert http.get("/livez").json() == {"status": "alive"}
    assert http.get("/readyz").json() == {"status": "ready"}


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({}, 422, "input"),
        ({"key": "nobody"}, 422, "input"),
        ({"key": "thing 1", "k": 0}, 422, "invalid"),
        ({"key": "thing 1", "k": 51}, 422, "input"),
        ({"key": "thing 1", "k": 10**30}, 422, "input"),
        ({"key": "thing 1", "rank": "best"}, 422, "invalid"),
        ({"key": "thing 1", "detail": -1}, 422, "invalid"),
        ({"key": "thing 1", "other": 1}, 422, "invalid"),
        ({"key": "thing 1", "where": {"size": 1}}, 422, "input"),
        ({"key": "thing 1", "views": {"image": [[0.0] * 24]}}, 422, "input"),
        ({"views": {"image": [[0.0] * 23]}}, 422, "view"),
        ({"views": {"sound": [[0.0] * 23]}}, 422, "view"),
        ({"views": {"image": [[0.0] * 24, [0.0]]}}, 422, "view"),
        ({"views": {"image": [[0.0] * 24] * 21}}, 422, "input"),
        ({"views": {"image": [None]}}, 422, "view"),
        ({"views": {"image": [[1e300] * 24]}}, 422, "view"),
        ({"views": {"image": [[0.0] * 24]}, "emphasis": {"image": 0}}, 422, "parameter"),
    ],
)
def test_a_search_that_makes_no_sense_is_refused(http, body, status, kind):
    assert error(http.post(f"{THINGS}/search", json=body), status)["kind"] == kind


def test_names_cannot_leave_the_folder(http):
    for name in ("..", "../things", "%2e%2e%2fthings", "a/b", "things.omhash", "", "."):
        made = {"name": name, "modalities": {"image": 2}}
        error(http.post("/v1/collections", json=made), 422)
        assert http.get(f"/v1/collections/{name}/items").status_code in (404, 422)
    error(http.get("/v1/collections/nobody"), 404)


def test_a_body_that_is_too_large_is_refused_before_it_is_read(http):
    declared = http.post(
        f"{THINGS}/search",
        content=b"{}",
        headers={"Content-Type": "application/json", "Content-Length": str(10**15)},
    )
    assert error(declared, 413)["kind"] == "too_large"

    def chunks():
        for _ in range(100):
            yield b" " * (1 << 16)

    answer = http.post(
        f"{THINGS}/search", content=chunks(), headers={"Content-Type": "application/json"}
    )
    assert error(answer, 413)["kind"] == "too_large"


def test_other_media_types_are_refused(http):
    answer = http.post(f"{THINGS}/search", content=b"{}", headers={"Content-Type": "text/plain"})
    assert error(answer, 415)["kind"] == "media_type"
    error(http.put(f"{THINGS}/search"), 405)
    error(http.get("/nowhere"), 404)


def test_tokens_open_what_their_scope_allows(folder):
    tokens = {"r" * 16: "read", "w" * 16: "write"}
    with TestClient(create_app(folder, tokens=tokens, limits=LIMITS)) as http:
        reading = {"Authorization": f"Bearer {'r' * 16}"}
        writing = {"Authorization": f"Bearer {'w' * 16}"}
        for wrong in ({}, {"Authorization": "Bearer x"}, {"Authorization": "Basic abc"}):
            answer = http.get(THINGS, headers=wrong)
            assert error(answer, 401)["kind"] == "unauthorised"
            assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert http.get("/metrics").status_code == 401
        assert http.get(THINGS, headers=reading).status_code == 200
        assert http.get(THINGS, headers=writing).status_code == 200
        body = {"keys": ["thing 1"]}
        error(http.post(f"{THINGS}/delete", json=body, headers=reading), 403)
        assert http.post(f"{THINGS}/delete", json=body, headers=writing).status_code == 200
        assert http.get("/livez").status_code == 200


def test_pages_of_other_sites_are_kept_out(http, folder):
    error(http.get(THINGS, headers={"Origin": "https://example.org"}), 403)
    error(http.get(THINGS, headers={"Origin": "null"}), 403)
    error(http.get(THINGS, headers={"Host": "example.org"}), 403)  # DNS rebinding
    own = http.get(THINGS, headers={"Origin": "http://127.0.0.1"})
    assert own.status_code == 200
    assert "access-control-allow-origin" not in own.headers
    app = create_app(folder, origins=["https://example.org"], limits=LIMITS)
    with TestClient(app, base_url="http://127.0.0.1") as open_http:
        answer = open_http.get(THINGS, headers={"Origin": "https://example.org"})
        assert answer.headers["access-control-allow-origin"] == "https://example.org"


def test_every_answer_forbids_what_the_page_does_not_need(http):
    for path in ("/", "/docs", THINGS, "/nowhere"):
        policy = http.get(path).headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
