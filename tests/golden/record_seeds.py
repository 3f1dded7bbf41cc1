"""Record what the six demo programs print with PyTorch, for two seeds: writes seeds.json beside this file.

python tests/golden/record_seeds.py          (needs PyTorch 2.13)
"""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE.parent.parent / "src" / "pullback" / "demos"


def printed(program: Path, seed: int) -> str:
    code = f"import torch\ntorch.manual_seed({seed})\n{program.read_text(encoding='utf-8')}"
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    programs = sorted(PROGRAMS.glob("*.py"))
    recorded = {program.stem: {seed: printed(program, seed) for seed in (0, 1)} for program in programs}
    (HERE / "seeds.json").write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")
