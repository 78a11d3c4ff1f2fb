"""Runs every bench, one after the other."""

import importlib
import sys
from pathlib import Path

NOT_BENCHES = {"__init__", "__main__", "material", "soak"}

for path in sorted(Path(__file__).parent.glob("*.py")):
    if path.stem in NOT_BENCHES or (len(sys.argv) > 1 and path.stem not in sys.argv[1:]):
        continue
    module = importlib.import_module(f"bench.{path.stem}")
    print(f"\n== {path.stem}: {(module.__doc__ or '').strip()}", flush=True)
    sys.argv = [path.stem]
    module.main()
