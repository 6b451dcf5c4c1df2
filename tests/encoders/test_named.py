"""Encoders of other libraries, on tiny models made here; skipped where those are missing."""

import json
import sys

import numpy as np
import pytest
from PIL import Image

from omhash.encoders import (
    OpenClipPictures,
    OpenClipWords,
    SentenceTransformerWords,
    Suite,
    TimmPictures,
)
from omhash.errors import InputError, ParameterError, UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore")  # those libraries warn of one another

WHY = "needs the extra encoders: pip install 'omhash[encoders]'"
TEXTS = ["a red apple", "the dog", "an apple and a dog in the snow"]
PICTURES = [Image.new("RGB", (30 + n, 20), (90 * n, 0, 40)) for n in range(3)]


@pytest.fixture(scope="module")
def torch():
    found = pytest.importorskip("torch", reason=WHY)
    found.manual_seed(0)
    return found


@pytest.fixture(scope="module")
def sentence_model(torch, tmp_path_factory):
    package = pytest.importorskip("sentence_transformers", reason=WHY)
    from sentence_transformers.models import StaticEmbedding
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    words = sorted({word for text in TEXTS for word in text.split()})
    vocabulary = {word: number for number, word in enumerate(["[UNK]", *words])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))  # noqa: S106 - no password
    tokenizer.pre_tokenizer = Whitespace()
    folder = tmp_path_factory.mktemp("sentences") / "tiny"
    model = package.SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=12)])
    model.save(str(folder))
    return SentenceTransformerWords(str(folder)), 12


@pytest.fixture(scope="module")
def timm_model(torch, tmp_path_factory):
    timm = pytest.importorskip("timm", reason=WHY)
    model = timm.create_model("test_resnet", pretrained=False)
    file = tmp_path_factory.mktemp("timm") / "weights.pth"
    torch.save(model.state_dict(), file)
    return TimmPictures("test_resnet", str(file)), model.num_features


@pytest.fixture(scope="module")
def clip_models(torch, tmp_path_factory):
    open_clip = pytest.importorskip("open_clip", reason=WHY)
    folder = tmp_path_factory.mktemp("clip")
    config = {
        "embed_dim": 16,
        "vision_cfg": {"image_size": 32, "layers": 1, "width": 64, "patch_size": 16},
        "text_cfg": {
            "context_length": 77,
            "vocab_size": 49408,
            "width": 64,
            "heads": 1,
            "layers": 1,
        },
    }
    (folder / "tiny-clip.json").write_text(json.dumps(config))
    open_clip.add_model_config(folder)
    torch.save(open_clip.create_model("tiny-clip").state_dict(), folder / "weights.pt")
    weights = str(folder / "weights.pt")
    return (OpenClipPictures("tiny-clip", weights), 16), (OpenClipWords("tiny-clip", weights), 16)


@pytest.fixture(params=["sentences", "timm", "clip pictures", "clip words"])
def encoder(request):
    name = {"sentences": "sentence_model", "timm": "timm_model"}.get(request.param, "clip_models")
    made = request.getfixturevalue(name)
    if name == "clip_models":
        made = made[request.param == "clip words"]
    return made


def test_features_do_not_depend_on_the_company(encoder):
    model, width = encoder
    items = PICTURES if model.kind == "picture" else TEXTS
    together = model.encode(items)
    assert together.shape == (3, width) == (3, model.width)
    assert together.dtype == np.float32
    assert len(np.unique(together, axis=0)) == 3
    for row, item in enumerate(items):
        assert np.array_equal(model.encode([item])[0], together[row])
    assert model.encode([]).shape == (0, width)


def test_a_suite_remembers_them_with_their_weights(encoder):
    model, width = encoder
    suite = Suite({"part": model})
    told = json.loads(json.dumps(suite.identity()))
    assert Suite.from_identity(told).widths == {"part": width}
    assert len(told["part"]["digest"]) == 64
    told["part"]["digest"] = "0" * 64
    with pytest.raises(UnsupportedError, match="was encoded by"):
        Suite.from_identity(told)


def test_what_is_not_of_their_kind_is_refused(encoder):
    with pytest.raises(InputError, match="item 0"):
        encoder[0].encode([7])


def test_features_are_those_of_the_library(sentence_model):
    from sentence_transformers import SentenceTransformer

    encoder, _ = sentence_model
    direct = SentenceTransformer(encoder.model, device="cpu").encode(TEXTS)
    assert np.allclose(encoder.encode(TEXTS), direct, atol=1e-6)


def test_timm_features_are_the_pooled_ones(timm_model, torch):
    import timm

    encoder, _ = timm_model
    model = timm.create_model("test_resnet", checkpoint_path=encoder.weights).eval()
    transform = timm.data.create_transform(
        **timm.data.resolve_model_data_config(model), is_training=False
    )
    with torch.inference_mode():
        batch = torch.stack([transform(encoder.prepare(picture)) for picture in PICTURES])
        direct = model.forward_head(model.forward_features(batch), pre_logits=True).numpy()
    assert np.allclose(encoder.encode(PICTURES), direct, atol=1e-5)


def test_a_model_that_is_not_there_is_a_plain_error(torch, tmp_path):
    pytest.importorskip("timm", reason=WHY)
    with pytest.raises(ParameterError, match="no_such_model"):
        TimmPictures("no_such_model", str(tmp_path / "gone.pth")).encode(PICTURES)


@pytest.mark.parametrize(
    ("encoder", "package", "item"),
    [
        (SentenceTransformerWords("any"), "sentence_transformers", "dog"),
        (TimmPictures("any"), "timm", PICTURES[0]),
        (OpenClipPictures("any", "any"), "open_clip", PICTURES[0]),
        (OpenClipWords("any", "any"), "open_clip", "dog"),
    ],
)
def test_a_missing_library_is_named_with_the_command(monkeypatch, encoder, package, item):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UnsupportedError, match=rf"{package}.*pip install 'omhash\[encoders\]'"):
        encoder.encode([item])
