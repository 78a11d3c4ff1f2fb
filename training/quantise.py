"""Turns what the GPU trained into the files of the package: 8-bit ONNX, of the same graph."""

import argparse
import hashlib
from pathlib import Path

import numpy as np

from training import onnx_weights

FOLDER = Path(__file__).parents[1] / "src" / "memolith" / "retrieval" / "embedding" / "model"


def trained(folder: Path, name: str) -> onnx_weights.Weights:
    """The weights of a network, from the files that `training.train` wrote."""
    weights: onnx_weights.Weights = {}
    for path in sorted(folder.glob(f"{name}.*.npz")):
        with np.load(path) as stored:
            weights |= {key: stored[key].astype(np.float32) for key in stored.files}
    return weights


def averaged(
    base: onnx_weights.Weights, new: onnx_weights.Weights, share: float
) -> onnx_weights.Weights:
    """The mean of both networks; what only the new one has is taken as it is."""
    mixed = dict(new)
    for name, old in base.items():
        if name in new:
            mixed[name] = share * new[name] + (1 - share) * old
    return mixed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trained", type=Path, help="folder with bi.*.npz and judge.*.npz")
    parser.add_argument("--base", type=Path, required=True, help="all-MiniLM-L6-v2 as 8-bit ONNX")
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--share", type=float, default=0.9, help="share of the trained weights")
    options = parser.parse_args()
    base = onnx_weights.read(options.base)
    bi = averaged(base, trained(options.trained, "bi"), options.share)
    onnx_weights.write(options.base, bi, options.out / "embedder.onnx")
    judge = trained(options.trained, "judge")
    onnx_weights.write_judge(options.base, judge, options.out / "judge.onnx")
    for name in ("embedder.onnx", "judge.onnx"):
        written = (options.out / name).read_bytes()
        print(f"{name}: {len(written):,} bytes, sha256 {hashlib.sha256(written).hexdigest()}")


if __name__ == "__main__":
    main()
