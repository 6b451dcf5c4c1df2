"""Files that MATLAB itself wrote, versions 5.3 to 7.4: SciPy carries them for its own tests."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from dataset_files import dense
from scipy import sparse

from omhash.datasets.matlab_files import open_matlab
from omhash.errors import DataFileError

FOLDER = Path(scipy.io.__file__).parent / "matlab" / "tests" / "data"
if not FOLDER.is_dir():
    pytest.skip("this SciPy came without its test data", allow_module_level=True)


@pytest.mark.parametrize(
    "name",
    sorted(path.name for path in FOLDER.glob("test*_[5-7].*_*.mat") if "hdf5" not in path.name),
)
def test_version_5_as_scipy_reads_it(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy's own, on variables without a name
        expected = scipy.io.loadmat(FOLDER / name, spmatrix=False)
    with open_matlab(FOLDER / name) as file:
        assert set(file.names) <= expected.keys()
        for variable in file.names:
            value = expected[variable]
            if (sparse.issparse(value) or value.ndim == 2) and value.dtype.kind in "fiub":
                np.testing.assert_array_equal(dense(file.array(variable)), dense(value))
            else:
                with pytest.raises(DataFileError, match=rf"{name}: '{variable}'"):
                    file.array(variable)
            if value.dtype.kind == "U":
                assert file.texts(variable) == [text.rstrip() for text in value]


def test_version_73():
    with open_matlab(FOLDER / "testhdf5_7.4_GLNX86.mat") as file:
        assert file.names == ("testdouble",)
        np.testing.assert_allclose(file.array("testdouble"), [np.arange(9) * np.pi / 4])
