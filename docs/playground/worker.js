// Python, in a thread of its own: it gets programs, and answers with what they print and with their explained pass.
const RUN = `
import io, linecache, sys, traceback
import pullback

pullback.install()


def _run(code, write):
    """The error in which a program ended, its line, and the page of its last backward pass."""

    class Out(io.TextIOBase):
        def write(self, text):
            write(text)
            return len(text)

    linecache.cache["program.py"] = len(code), None, code.splitlines(keepends=True), "program.py"
    pullback.manual_seed(0)
    error, line, stdout = None, None, sys.stdout
    e = pullback.explain()
    sys.stdout = Out()
    try:
        with e:
            exec(compile(code, "program.py", "exec"), {"__name__": "__main__"})
    except ModuleNotFoundError as missing:
        if missing.name in ("scipy", "ml_dtypes", "rich"):
            return {"missing": missing.name}
        error = missing
    except BaseException as raised:
        error = raised
    finally:
        sys.stdout = stdout
    if error is not None:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == "program.py"]
        line = error.lineno if isinstance(error, SyntaxError) else frames[-1].lineno if frames else None
        error = "".join(traceback.format_exception_only(error)).rstrip()
    page = e.to_html() if e.passes else None
    return {"error": error, "line": line, "page": page}
`;

let ready;

async function load(base) {
  const { loadPyodide } = await import(base + "pyodide.mjs");
  const py = await loadPyodide({ indexURL: base });
  await py.loadPackage("numpy", { messageCallback() {} });
  const response = await fetch("pullback.zip");
  if (!response.ok) throw new Error(`pullback.zip: ${response.status}`);
  py.unpackArchive(await response.arrayBuffer(), "zip", { extractDir: "/lib/python3.13/site-packages" });
  py.runPython(RUN);
  return py;
}

async function run(py, code) {
  const write = (text) => postMessage({ kind: "output", text });
  await py.loadPackagesFromImports(code, { messageCallback() {} });
  for (;;) {
    const result = py.globals.get("_run")(code, write);
    const { missing, ...answer } = result.toJs({ dict_converter: Object.fromEntries });
    result.destroy();
    if (!missing) return answer;
    postMessage({ kind: "restarted", missing });
    await py.loadPackage(missing, { messageCallback() {} });
  }
}

onmessage = async ({ data }) => {
  try {
    if (data.kind === "load") {
      ready = load(data.base);
      await ready;
      postMessage({ kind: "ready" });
    } else {
      postMessage({ kind: "done", ...(await run(await ready, data.code)) });
    }
  } catch (error) {
    postMessage({ kind: "failed", error: String(error) });
  }
};
