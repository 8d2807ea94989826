"""Results as files: NetCDF or Zarr, which bring any result back in another process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stationary.errors import MissingExtra, StatementError
from stationary.io.codec import Decoder, Encoder

#: Endings of files that hold results.
ENDINGS = (".nc", ".zarr")

# The largest statement that is read: one of a million terms.
_LONGEST = 200_000_000

_VERSION = 1


def is_result_file(path: Any) -> bool:
    """Tell by its ending whether a file holds a result."""
    return isinstance(path, (str, Path)) and str(path).endswith(ENDINGS)


def save_result(result: Any, path: Any) -> None:
    """Write a result: its arrays as variables, all else as text in one attribute."""
    if not is_result_file(path):
        raise StatementError(
            f"a result of the kind {type(result).__name__} cannot be written to '{path}'.",
            f"Expected a name that ends in {' or '.join(ENDINGS)}.",
            'Give one, as in st.save(motion, "run.nc").',
        )
    xarray = _xarray()
    encode = Encoder()
    root = encode(result, "")
    content = {
        "version": _VERSION, "root": root, "nodes": encode.nodes, "objects": encode.objects,
    }  # fmt: skip
    variables, lengths = {}, {}
    for name, array in encode.arrays.items():
        axes = [lengths.setdefault(n, f"axis_{n}") for n in array.shape]
        # An axis occurs once in a variable; one of a square array needs a second name.
        named = [a if a not in axes[:i] else f"{a}_{i}" for i, a in enumerate(axes)]
        variables[name] = (named, array.astype("i1") if array.dtype.kind == "b" else array)
    dataset = xarray.Dataset(variables, attrs={"stationary": json.dumps(content)})
    if str(path).endswith(".zarr"):
        _require("zarr", "Zarr")
        # Metadata of all arrays in one file are outside its standard, and warned of.
        dataset.to_zarr(path, mode="w", consolidated=False)
    else:
        dataset.to_netcdf(path, engine="scipy")


def load_result(path: Any) -> Any:
    """Read a result that `save_result` wrote."""
    xarray, zarr = _xarray(), str(path).endswith(".zarr")
    if zarr:
        _require("zarr", "Zarr")
    if not Path(path).exists():
        raise StatementError(
            f"there is no file '{path}'.", "Found nothing there.", "Check its name."
        )
    how = {"engine": "zarr", "consolidated": False} if zarr else {"engine": "scipy"}
    try:
        with xarray.open_dataset(path, decode_cf=False, **how) as opened:
            text = opened.attrs["stationary"]
            if not isinstance(text, str) or len(text) > _LONGEST:
                raise ValueError("too long")
            content = json.loads(text)
            arrays = {str(name): opened[name].values for name in opened.variables}
        if content["version"] != _VERSION:
            raise ValueError(f"version {content['version']}")
        return Decoder(content["nodes"], content["objects"], arrays)(content["root"])
    except (StatementError, MissingExtra):
        raise
    except Exception as cause:  # Whatever a damaged file does to the libraries that read it.
        raise StatementError(
            f"'{path}' holds no result.",
            f"Found {type(cause).__name__}: {str(cause)[:100]}.",
            "Expected a file that st.save has written; write it again.",
        ) from None


def _xarray() -> Any:
    _require("xarray", "files of results")
    import xarray

    return xarray


def _require(package: str, what: str) -> None:
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise MissingExtra(
            f"{what} need{'' if what.endswith('s') else 's'} {package}.",
            "It is not installed.",
            "Run: pip install 'stationary[tables]'"
            if package == "xarray"
            else f"Run: pip install {package}, or save as .nc.",
        )
