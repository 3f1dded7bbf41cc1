"""Fail unless every entry of a conformance report passed every check that counts.

python scripts/all_conform.py report.json        (written by conformance.py with --json)
"""

import json
import sys
from pathlib import Path

report = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
bad = [
    f"{name}: {check}: {result.get('reason', result['status'])}"
    for name, entry in report["entries"].items()
    for check, result in entry["checks"].items()
    if check != "errors" and result["status"] not in ("pass", "n/a")
]
print("\n".join(bad) or f"all {len(report['entries'])} operators of tests/conformance.txt conform")
sys.exit(bool(bad))
