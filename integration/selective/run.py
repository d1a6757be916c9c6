"""One per cent of the rows of a 150 MB Parquet file by lakescan, DuckDB and Polars over a store that answers late: what is fetched, how soon the first row
is there, and are the rows equal. usage: run.py [--latency 100] [--rows 3194880] [--reps 3] [--queries …] [--engines …] [--files …] [--out FILE.json]
  files     plain: row groups of 122,880 rows, as PyArrow writes them; indexed: the same with a page index
  queries   clustered: a range of the column that the file is sorted by; bursts: 32 runs of neighbouring rows; scattered: rows here and there
Every run is a process of its own; its figures begin after imports (lakescan: with its start). Requests and bytes are counted by a proxy in front of the
toxiproxy that adds the latency. Of several repetitions the one with the median wall counts. Exit 1 if rows differ.
env: S3_DIRECT TOXI (control address) AWS_* LAKESCAN (program) THREADS (2)"""
import argparse, json, os, pathlib, resource, socket, statistics, subprocess, sys, tempfile, threading, time, urllib.error, urllib.request

COLUMNS = ["i1", "d1", "s1", "s2", "cat"]
BUCKET = "selective"
S3 = os.environ["S3_DIRECT"]
KEY, SECRET = os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
THREADS = os.environ.get("THREADS", "2")

def queries(rows):
    first, n = rows // 2 + 1000, rows // 100
    return {"clustered": f"i1 between {first} and {first + n - 1}", "bursts": "burst >= 0", "scattered": f"i2 < {(1 << 20) // 100}"}

# The file

def table(rows):
    import numpy as np, pyarrow as pa
    rng = np.random.default_rng(51)
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz0123456789", dtype=np.uint8)
    words = letters[rng.integers(0, 26, (500, 8))]
    def strings():
        m = np.empty((rows, 20), dtype=np.uint8)
        m[:, :8], m[:, 8:] = words[rng.integers(0, 500, rows)], letters[26 + rng.integers(0, 10, (rows, 12))]
        return pa.StringArray.from_buffers(rows, pa.py_buffer(np.arange(0, 20 * (rows + 1), 20, dtype=np.int32)), pa.py_buffer(m.tobytes()))
    at = np.arange(rows, dtype=np.int64)
    step = rows // 32
    return pa.table({
        "i1": at, "i2": rng.integers(0, 1 << 20, rows), "i3": rng.integers(0, 1 << 40, rows),
        "d1": np.round(rng.normal(100, 20, rows), 2), "d2": rng.integers(0, 100000, rows) / 100.0,
        "dt": pa.array((20000 + rng.integers(0, 2, rows)).astype(np.int32), pa.date32()),
        "ts": pa.array(20000 * 86_400_000_000 + np.sort(rng.integers(0, 86_400_000_000, rows)) // 1000 * 1000, pa.timestamp("us", tz="UTC")),
        "s1": strings(), "s2": strings(),
        "cat": pa.array(np.array(["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"])[rng.integers(0, 8, rows)]),
        "burst": np.where(at % step < step // 100, at, -1)})

def prepare(rows):
    """Writes the files and uploads them, unless they are there."""
    import pyarrow.fs as fs, pyarrow.parquet as pq
    store = fs.S3FileSystem(access_key=KEY, secret_key=SECRET, endpoint_override=S3.split("//")[1], scheme="http", region="us-east-1", allow_bucket_creation=True)
    store.create_dir(BUCKET)
    made, sizes = None, {}
    for name in ("plain", "indexed"):
        path = f"{BUCKET}/{name}-{rows}.parquet"
        if store.get_file_info(path).type == fs.FileType.NotFound:
            made = made or table(rows)
            with tempfile.NamedTemporaryFile(suffix=".parquet") as f:
                pq.write_table(made, f.name, compression="zstd", row_group_size=122_880, write_page_index=name == "indexed")
                with open(f.name, "rb") as src, store.open_output_stream(path) as dst:
                    while b := src.read(8 << 20): dst.write(b)
        sizes[name] = store.get_file_info(path).size
    return sizes

# The store: counter -> toxiproxy -> S3

def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]

class Slow:
    """A proxy of our own name in the toxiproxy that is there."""
    def __init__(self, ms):
        self.name, self.port = f"selective-{os.getpid()}", free_port()
        self.call("POST", "/proxies", {"name": self.name, "listen": f"127.0.0.1:{self.port}", "upstream": S3.split("//")[1], "enabled": True})
        if ms: self.call("POST", f"/proxies/{self.name}/toxics", {"name": "lat", "type": "latency", "stream": "downstream", "attributes": {"latency": ms, "jitter": 0}})
    def call(self, method, path, body=None):
        req = urllib.request.Request(os.environ.get("TOXI", "http://127.0.0.1:8474") + path, method=method, data=json.dumps(body).encode() if body is not None else None, headers={"Content-Type": "application/json"})
        return urllib.request.urlopen(req).read()
    def close(self): self.call("DELETE", f"/proxies/{self.name}")

class Counter:
    """Passes connections on and counts requests (no client sends one before the answer to the one before) and bytes of answers."""
    def __init__(self, upstream):
        self.upstream, self.lock = upstream, threading.Lock()
        self.reset()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()
    def reset(self):
        with self.lock: self.requests = self.heads = self.bytes = 0
    def accept(self):
        while True:
            try: client, _ = self.listener.accept()
            except OSError: return
            server = socket.create_connection(("127.0.0.1", self.upstream))
            for a, b, up in ((client, server, True), (server, client, False)):
                a.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self.copy, args=(a, b, up), daemon=True).start()
    def copy(self, a, b, up):
        try:
            while data := a.recv(256 << 10):
                with self.lock:
                    if up:
                        self.requests += data.startswith((b"GET ", b"HEAD "))
                        self.heads += data.startswith(b"HEAD ")
                    else: self.bytes += len(data)
                b.sendall(data)
        except OSError: pass
        finally:
            for s in (a, b):
                try: s.shutdown(socket.SHUT_RDWR)
                except OSError: pass

# The engines

class Tally:
    """Adds up batches as they come."""
    def __init__(self): self.start, self.first, self.rows, self.sum, self.text = time.monotonic(), None, 0, 0, 0
    def add(self, b):
        import pyarrow.compute as pc
        if b.num_rows == 0: return
        if self.first is None: self.first = time.monotonic() - self.start
        self.rows += b.num_rows
        self.sum += pc.sum(b["i1"]).as_py()
        self.text += sum(pc.sum(pc.binary_length(b[c].cast("string"))).as_py() for c in ("s1", "s2", "cat"))
    def result(self): return {"first": self.first or 0.0, "wall": time.monotonic() - self.start, "rows": self.rows, "check": [self.rows, self.sum, self.text]}

def duckdb(endpoint, file, where):
    import duckdb, importlib.util, pyarrow.compute
    con = duckdb.connect(config={"threads": int(THREADS), "autoinstall_known_extensions": False, "autoload_known_extensions": False})
    con.load_extension(str(pathlib.Path(importlib.util.find_spec("duckdb_extension_httpfs").origin).parent / "extensions" / f"v{duckdb.__version__}" / "httpfs.duckdb_extension"))
    con.execute(f"create secret (type s3, key_id '{KEY}', secret '{SECRET}', endpoint '{endpoint.split('//')[1]}', url_style 'path', use_ssl false, region 'us-east-1')")
    yield
    for b in con.execute(f"select {', '.join(COLUMNS)} from read_parquet('s3://{file}') where {where}").fetch_record_batch(): yield b

def polars(endpoint, file, where):
    os.environ["POLARS_MAX_THREADS"] = THREADS
    import polars as pl, pyarrow.compute
    yield
    options = {"aws_endpoint_url": endpoint, "aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "aws_region": "us-east-1", "aws_allow_http": "true"}
    frame = pl.scan_parquet(f"s3://{file}", storage_options=options).filter(pl.sql_expr(where)).select(COLUMNS)
    for df in frame.collect_batches():
        for b in df.to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches(): yield b

def peak():
    """MB; the figure of getrusage begins at that of the process which started this one."""
    with open("/proc/self/status") as f: return next(int(l.split()[1]) >> 10 for l in f if l.startswith("VmHWM"))

def child(engine, endpoint, file, where):
    """Runs in a process of its own."""
    batches = {"duckdb": duckdb, "polars": polars}[engine](endpoint, file, where)
    next(batches)
    before, t = resource.getrusage(resource.RUSAGE_SELF), Tally()
    for b in batches: t.add(b)
    after = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps(t.result() | {"cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, "rss": peak()}), flush=True)
    os._exit(0)

def lakescan(engine, endpoint, file, where):
    import pyarrow as pa, pyarrow.compute
    program = os.environ.get("LAKESCAN", str((pathlib.Path(__file__).parent / "../../bin/lakescan").resolve()))
    args = [program, "scan", f"s3://{file}", "--select", ",".join(COLUMNS), "--where", where]
    if engine == "lakescan-sql": args = [program, "query", f"select {', '.join(COLUMNS)} from 's3://{file}' where {where}", "--threads", THREADS]
    t = Tally()
    err = tempfile.TemporaryFile()
    p = subprocess.Popen(args + ["-o", "arrow", "--stats=json", "--endpoint-url", endpoint, "--path-style", "on", "--region", "us-east-1"], stdout=subprocess.PIPE, stderr=err, cwd=tempfile.gettempdir())
    with pa.ipc.open_stream(p.stdout) as r:
        for b in r: t.add(b)
    while p.stdout.read(1 << 16): pass
    _, status, use = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    err.seek(0)
    said = err.read().decode()
    if p.returncode: raise RuntimeError(f"lakescan: exit {p.returncode}: {said[:200]}")
    return t.result() | {"cpu": use.ru_utime + use.ru_stime, "rss": json.loads(said.splitlines()[-1])["process_peak"] >> 20}

def run(engine, endpoint, file, where):
    out = subprocess.run([sys.executable, "-W", "ignore", __file__, "child", engine, endpoint, file, where], stdout=subprocess.PIPE, timeout=300)
    if out.returncode or not out.stdout: raise RuntimeError(f"{engine}: exit {out.returncode}")
    return json.loads(out.stdout)

def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--latency", type=int, default=100); ap.add_argument("--rows", type=int, default=122_880 * 26); ap.add_argument("--reps", type=int, default=3)
    ap.add_argument("--queries", default="clustered,bursts,scattered"); ap.add_argument("--engines", default="lakescan,lakescan-sql,duckdb,polars"); ap.add_argument("--files", default="plain,indexed"); ap.add_argument("--out", default="")
    a = ap.parse_args()
    sizes, wheres, all_, wrong = prepare(a.rows), queries(a.rows), [], []
    slow = Slow(a.latency)
    try:
        counter = Counter(slow.port)
        print(f"1 % of {a.rows} rows, columns {', '.join(COLUMNS)}; {a.latency} ms; medians of {a.reps}")
        print(f"{'query':10} {'file':8} {'MB':>4}  {'engine':13} {'first s':>8} {'wall s':>8} {'requests':>8} {'MB read':>8} {'CPU s':>6} {'RSS MB':>7} {'rows':>7}")
        for q in a.queries.split(","):
            answers = {}
            for f in a.files.split(","):
                for e in a.engines.split(","):
                    runs = []
                    for _ in range(a.reps):
                        counter.reset()
                        try: r = (run if e in ("duckdb", "polars") else lakescan)(e, counter.url, f"{BUCKET}/{f}-{a.rows}.parquet", wheres[q])
                        except Exception as err:
                            r = {"first": 0, "wall": float("nan"), "rows": 0, "check": [str(err)[:200]], "cpu": 0, "rss": 0}
                        runs.append(r | {"query": q, "file": f, "engine": e, "requests": counter.requests, "heads": counter.heads, "bytes": counter.bytes})
                    r = sorted(runs, key=lambda r: r["wall"])[len(runs) // 2]
                    answers[e, f] = r["check"]
                    all_.append(r)
                    print(f"{q:10} {f:8} {sizes[f] / 1e6:4.0f}  {e:13} {r['first']:8.2f} {r['wall']:8.2f} {r['requests']:8} {r['bytes'] / 1e6:8.1f} {r['cpu']:6.2f} {r['rss']:7} {r['rows']:7}", flush=True)
            if len({str(v) for v in answers.values()}) != 1: wrong.append((q, answers))
    finally: slow.close()
    if a.out: pathlib.Path(a.out).write_text(json.dumps(all_, indent=1))
    for w in wrong: print("rows differ:", *w)
    sys.exit(bool(wrong))

if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]: child(*sys.argv[2:])
    main()
