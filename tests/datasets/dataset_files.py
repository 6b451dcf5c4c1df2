"""Small data in every file format, written by other libraries than the loaders' own code."""

import json
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io
from scipy import sparse

from omhash.datasets import LabelledData, synthetic

DATA = synthetic.make(
    n_items=20, n_categories=4, modalities={"image": 6, "text": 30}, sparse_modalities=["text"]
)


def dense(view):
    return view if isinstance(view, np.ndarray) else view.toarray()


def assert_same(loaded: LabelledData, expected: LabelledData) -> None:
    assert loaded.views.keys() == expected.views.keys()
    for modality, view in expected.views.items():
        np.testing.assert_array_equal(dense(loaded.views[modality]), dense(view))
        assert sparse.issparse(loaded.views[modality]) == sparse.issparse(view)
    np.testing.assert_array_equal(loaded.labels, expected.labels)
    assert loaded.labels.dtype == np.uint8
    assert loaded.categories == expected.categories


def names_of(data: LabelledData) -> list[list[str]]:
    return [[data.categories[j] for j in np.flatnonzero(row)] for row in data.labels]


def sparse_rows(view) -> list[dict]:
    return [
        {"indices": view.indices[a:b].tolist(), "values": view.data[a:b].tolist()}
        for a, b in zip(view.indptr[:-1], view.indptr[1:], strict=True)
    ]


def write_jsonl(path: Path, data: LabelledData = DATA) -> None:
    image, text = data.views["image"].tolist(), sparse_rows(data.views["text"])
    items = [
        {"views": {"image": image[i], "text": text[i]}, "categories": names}
        for i, names in enumerate(names_of(data))
    ]
    path.write_text("".join(json.dumps(item) + "\n" for item in items))


def write_parquet(path: Path, data: LabelledData = DATA, *, fixed: bool = True) -> None:
    image = data.views["image"]
    flat = pa.array(image.ravel())
    column = pa.FixedSizeListArray.from_arrays(flat, image.shape[1]) if fixed else image.tolist()
    table = pa.table(
        {
            "key": list(range(len(data))),
            "image": column,
            "text": sparse_rows(data.views["text"]),
            "categories": names_of(data),
        }
    )
    pq.write_table(table, path)


def write_savez(path: Path, data: LabelledData = DATA, **more) -> None:
    text = data.views["text"]
    arrays = {
        "image": data.views["image"],
        "text_data": text.data,
        "text_indices": text.indices,
        "text_indptr": text.indptr,
        "text_shape": text.shape,
        "text_vocabulary": np.array([f"word {j}" for j in range(text.shape[1])]),
        "labels": data.labels,
        "category_names": np.array(data.categories),
    }
    np.savez(path, **{name: array for name, array in (arrays | more).items() if array is not None})


def cells(names) -> np.ndarray:
    column = np.empty(len(names), dtype=object)
    column[:] = names
    return column


def matlab_variables(data: LabelledData = DATA) -> dict:
    return {
        "image": data.views["image"],
        "text": sparse.csc_array(data.views["text"], dtype=np.float64),
        "labels": data.labels.astype(np.float64),
        "category_names": cells(data.categories),
    }


def write_v5(path: Path, variables: dict, *, compress: bool = False) -> None:
    matrices = {
        name: sparse.csc_matrix(value) if sparse.issparse(value) else value
        for name, value in variables.items()
    }
    scipy.io.savemat(path, matrices, do_compression=compress)


def write_v73(path: Path, variables: dict, *, compress: bool = False) -> None:
    """As MATLAB does it: a block of its own first, and every matrix transposed."""
    options = {"compression": "gzip", "chunks": True} if compress else {}
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in variables.items():
            if sparse.issparse(value):
                columns = sparse.csc_array(value)
                group = file.create_group(name)
                group.attrs["MATLAB_sparse"] = np.uint64(columns.shape[0])
                group["jc"] = columns.indptr.astype(np.uint64)
                if columns.nnz:
                    group["ir"] = columns.indices.astype(np.uint64)
                    group["data"] = columns.data
            elif value.dtype == object:
                for number, text in enumerate(value):
                    file[f"#refs#/{name}{number}"] = np.array([[ord(c)] for c in text], np.uint16)
                references = [file[f"#refs#/{name}{number}"].ref for number in range(len(value))]
                file.create_dataset(name, data=[references], dtype=h5py.ref_dtype)
            elif value.dtype.kind == "U":
                rows = [[ord(c) for c in text.ljust(value.dtype.itemsize // 4)] for text in value]
                file[name] = np.array(rows, np.uint16).T
                file[name].attrs["MATLAB_class"] = np.bytes_("char")
            else:
                file.create_dataset(name, data=value.T, **options)


def write_mat5(path: Path) -> None:
    write_v5(path, matlab_variables())


def write_mat5_compressed(path: Path) -> None:
    write_v5(path, matlab_variables(), compress=True)


def write_mat73(path: Path) -> None:
    write_v73(path, matlab_variables())


def write_mat73_compressed(path: Path) -> None:
    write_v73(path, matlab_variables(), compress=True)


WRITERS = {
    "savez.npz": write_savez,
    "lines.jsonl": write_jsonl,
    "table.parquet": write_parquet,
    "v5.mat": write_mat5,
    "v5-compressed.mat": write_mat5_compressed,
    "v73.mat": write_mat73,
    "v73-compressed.mat": write_mat73_compressed,
}
