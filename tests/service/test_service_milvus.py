"""A collection on Milvus, served like any other."""

from fastapi.testclient import TestClient
from served import LIMITS, fill

from omhash.datasets import synthetic
from omhash.service import create_app


def test_one_collection_on_milvus(lite):
    path = next(lite)
    name = path.rpartition("/")[2]
    data = synthetic.make(n_items=240, n_categories=8, seed=4)
    fill(path, data)
    app = create_app(path, limits=LIMITS)
    with TestClient(app, base_url="http://127.0.0.1") as client:
        assert [one["name"] for one in client.get("/v1/collections").json()["collections"]] == [
            name
        ]
        asked = {"key": "thing 3", "k": 5}
        found = client.post(f"/v1/collections/{name}/search", json=asked).json()
        assert len(found["results"][0]["hits"]) == 5
        refused = client.post("/v1/collections", json={"name": "other", "modalities": {"image": 2}})
        assert refused.status_code >= 400
