"""Runs every bench, one after the other."""

import importlib
import sys
from pathlib import Path

NOT_BENCHES = {
    "__init__",
    "__main__",
    "calibration",
    "filled",
    "floods",
    "material",
    "model_alone",
    "note_sets",
    "many_programs",
    "quick",
    "sentences",
    "soak",
}
chosen = sys.argv[1:]

for path in sorted(Path(__file__).parent.glob("*.py")):
    if path.stem in NOT_BENCHES or (chosen and path.stem not in chosen):
        continue
    module = importlib.import_module(f"bench.{path.stem}")
    print(f"\n== {path.stem}: {(module.__doc__ or '').strip()}", flush=True)
    sys.argv = [path.stem]
    module.main()
