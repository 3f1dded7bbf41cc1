"""Records what the programs of ``tests/autograd/programs`` say under PyTorch 2.13: ``python
tests/golden/record_autograd.py``.
"""

import json
import pathlib
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.autograd.programs import PROGRAMS  # noqa: E402
from tests.autograd.test_programs import heard  # noqa: E402

golden = {name: heard(program, torch) for name, program in PROGRAMS.items()}
(ROOT / "tests/golden/autograd.json").write_text(json.dumps(golden, indent=1) + "\n")
