"""Records what the programs of ``tests/func/programs`` say under PyTorch 2.13: ``python
tests/golden/record_func.py``.
"""

import json
import pathlib
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.func.programs import PROGRAMS  # noqa: E402
from tests.func.test_programs import heard  # noqa: E402

golden = {name: heard(program, torch) for name, program in PROGRAMS.items()}
(ROOT / "tests/golden/func.json").write_text(json.dumps(golden, indent=1) + "\n")
