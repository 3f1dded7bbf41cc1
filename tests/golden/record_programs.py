"""Records what the programs in ``tests/programs/scripts`` print under PyTorch 2.13, in ``scripts/*.txt`` beside this
file.

Run it by hand where PyTorch is installed; names of programs as arguments choose some of them.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent

for program in sorted((HERE.parent / "programs" / "scripts").glob("*.py")):
    if sys.argv[1:] and program.stem not in sys.argv[1:]:
        continue
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, str(program)], cwd=folder, capture_output=True, text=True, encoding="utf-8", check=True
        )
    (HERE / "scripts" / f"{program.stem}.txt").write_text(done.stdout, encoding="utf-8")
    print(f"{program.stem}: {done.stdout.count(chr(10))} lines")
