// Run a part of the tests in WebAssembly: Pyodide in Node, with NumPy's wheel and Pullback's, and without kernels.
//
// node scripts/wasm.mjs [NUMPY.whl] [pytest options]
//
// Without NumPy's wheel for Pyodide it is fetched from Pyodide's distribution. npm and pip fetch the rest; PYTHON says
// which Python has pip (python3). tests/wasm.txt lists the tests. PULLBACK_WASM keeps what was fetched in a folder.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

const PYODIDE = "pyodide@0.28.3";
const PACKAGES = ["pytest", "pluggy", "iniconfig", "packaging", "pygments", "rich", "markdown-it-py", "mdurl"];
const root = path.dirname(import.meta.dirname);
const [numpy, options] = process.argv[2]?.endsWith(".whl")
  ? [path.resolve(process.argv[2]), process.argv.slice(3)]
  : [null, process.argv.slice(2)];

const kept = process.env.PULLBACK_WASM;
const folder = kept ? path.resolve(kept) : fs.mkdtempSync(path.join(os.tmpdir(), "pullback-wasm-"));
const run = (program, ...args) => execFileSync(program, args, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
const pip = (...args) => run(process.env.PYTHON ?? "python3", "-m", "pip", "-q", ...args);

let code;
try {
  if (!fs.existsSync(path.join(folder, "node_modules"))) {
    run("npm", "install", "--silent", "--prefix", folder, PYODIDE);
    pip("download", "-d", folder, "--no-deps", "--only-binary=:all:", "--python-version=3.13", ...PACKAGES);
  }
  pip("wheel", "-w", folder, "--no-deps", root);
  const module = createRequire(path.join(folder, "node_modules", "x")).resolve("pyodide/pyodide.mjs");
  const { loadPyodide } = await import(pathToFileURL(module));
  const py = await loadPyodide();
  if (!numpy) await py.loadPackage("numpy");
  const wheels = fs.readdirSync(folder).filter((name) => name.endsWith(".whl"));
  for (const wheel of [...(numpy ? [numpy] : []), ...wheels.map((name) => path.join(folder, name))]) {
    py.unpackArchive(new Uint8Array(fs.readFileSync(wheel)), "wheel", { extractDir: "/lib/python3.13/site-packages" });
  }
  py.FS.mkdirTree("/pullback");
  py.mountNodeFS("/pullback", root);
  const tests = fs.readFileSync(path.join(root, "tests", "wasm.txt"), "utf8");
  const lines = tests.split("\n").filter((line) => line && !line.startsWith("#"));
  py.globals.set("arguments", py.toPy([...lines, ...options]));
  code = py.runPython(`
import os, sys, time

start = time.perf_counter()
import numpy
middle = time.perf_counter()
import pullback
end = time.perf_counter()
print(f"import numpy: {middle - start:.2f} s, then import pullback: {end - middle:.2f} s")

os.chdir("/pullback")
import pytest
sys.stdout.reconfigure(line_buffering=True)
# Time is not what is tested here, and files of the checkout are not written.
int(pytest.main(["-q", "-p", "no:cacheprovider", "--capture=sys", "--override-ini=pythonpath=", *arguments]))
`);
} finally {
  if (!kept) fs.rmSync(folder, { recursive: true });
}
process.exit(code);
