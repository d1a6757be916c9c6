"""The 22 TPC-H queries by lakescan, DuckDB and ClickHouse: are the rows equal, and what do they cost. usage: run.py NAMESPACE FOLDER [--latency 0,50,100] [--check] [--queries 1,6] [--reps N] [--out FILE.json]
FOLDER holds the tables' data files (see load.py). lakescan runs as a process a query, its start included, and so does DuckDB's own program (duckdb-cli); the others' figures leave theirs out.
  files     lakescan, DuckDB's program, DuckDB in a process that runs (read_parquet), ClickHouse (chdb) over the local files
  N ms      lakescan and DuckDB's own Iceberg reader through a toxiproxy that adds N ms to every answer of the store
The texts of the queries are DuckDB's. Judge of equality: DuckDB over the files. Of several repetitions the least CPU and the least wall count. Exit 1 if any rows differ.
env: REST_URI S3_DIRECT TOXI (control address) AWS_* LAKESCAN (program) THREADS (2) PROXY (host:port to listen on)"""
import argparse, importlib.util, json, math, os, pathlib, re, select, socket, subprocess, sys, tempfile, time, urllib.error, urllib.request
import duckdb, pyarrow as pa

HERE = pathlib.Path(__file__).parent
ap = argparse.ArgumentParser()
ap.add_argument("namespace"); ap.add_argument("folder", type=pathlib.Path)
ap.add_argument("--latency", default="0,50,100"); ap.add_argument("--check", action="store_true", help="equality only")
ap.add_argument("--queries", default=""); ap.add_argument("--reps", type=int, default=1); ap.add_argument("--out", default="")
ap.add_argument("--limit", type=float, default=60, help="seconds a query may take")
A = ap.parse_args(); A.folder = A.folder.resolve()
LAKESCAN = os.environ.get("LAKESCAN", str((HERE / "../../bin/lakescan").resolve()))
S3, TOXI = os.environ["S3_DIRECT"], os.environ.get("TOXI", "http://127.0.0.1:8474")
TABLES = {p.name for p in A.folder.iterdir()}
LATENCIES = [] if A.check else [int(x) for x in A.latency.split(",") if x]

def queries():
    con = duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False})
    ext = pathlib.Path(importlib.util.find_spec("duckdb_extension_tpch").origin).parent / "extensions" / f"v{duckdb.__version__}" / "tpch.duckdb_extension"
    con.load_extension(str(ext)); con.load_extension("json")
    only = {int(q) for q in A.queries.split(",") if q}
    return {n: (sql, spots(con, sql)) for n, sql in con.execute("select query_nr, query from tpch_queries() order by 1").fetchall() if not only or n in only}

def spots(con, sql):
    """Where the table names stand, by DuckDB's parser."""
    found = []
    def walk(n):
        if isinstance(n, dict):
            if n.get("type") == "BASE_TABLE" and n["table_name"] in TABLES: found.append((n["query_location"], n["table_name"]))
            n = n.values()
        elif not isinstance(n, list): return
        for x in n: walk(x)
    walk(json.loads(con.execute("select json_serialize_sql(?)", [sql]).fetchone()[0]))
    return sorted(set(found), reverse=True)

def renamed(sql, spots, name):
    for at, table in spots:
        assert sql[at:at + len(table)].lower() == table, sql[at:]
        new = name(table)
        alias = re.match(r"\s*(?!where|group|order|on|join|left|inner|limit)(as\s+)?[a-z]\w*", sql[at + len(table):], re.I)
        sql = sql[:at] + new + ("" if alias else f" AS {table}") + sql[at + len(table):]
    return sql

class Peer:
    """A process of peer.py that is started again when it hangs or dies."""
    def __init__(self, *args, **env): self.args, self.env, self.p = args, env, None
    def run(self, sql, out=None):
        if self.p is None:
            self.p = subprocess.Popen([sys.executable, "-W", "ignore", str(HERE / "peer.py"), *self.args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ | self.env, text=True)
        self.p.stdin.write(json.dumps({"sql": sql, "out": out}) + "\n"); self.p.stdin.flush()
        ready, _, _ = select.select([self.p.stdout], [], [], A.limit)
        line = self.p.stdout.readline() if ready else ""
        if not line:
            self.p.kill(); self.p.wait(); self.p = None
            return {"error": f"more than {A.limit:.0f} s" if not ready else "died"}
        return json.loads(line)
    def close(self):
        if self.p: self.p.stdin.close(); self.p.wait()

def lakescan(sql, out, endpoint=S3):
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as f, tempfile.TemporaryFile() as err:
        f.write(sql); f.flush()
        t0 = time.monotonic()
        p = subprocess.Popen([LAKESCAN, "query", "-f", f.name, "-o", "arrow", "--out", out, "--uri", os.environ["REST_URI"], "--endpoint-url", endpoint, "--path-style", "on", "--threads", os.environ.get("THREADS", "2"), "--timeout", f"{A.limit:.0f}s"],
                             stderr=err, cwd=tempfile.gettempdir(), env=os.environ | {"LAKESCAN_S3_ACCESS_KEY_ID": os.environ["AWS_ACCESS_KEY_ID"], "LAKESCAN_S3_SECRET_ACCESS_KEY": os.environ["AWS_SECRET_ACCESS_KEY"]})  # a lakescan.yaml nearby does not matter
        _, status, use = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        if p.returncode:
            err.seek(0)
            return {"error": err.read().decode()[:200]}
        return {"wall": time.monotonic() - t0, "cpu": use.ru_utime + use.ru_stime}

def program(sql):
    """DuckDB's own program over the files: a process a query, its start included, as lakescan's."""
    cli = pathlib.Path(importlib.util.find_spec("duckdb_cli").origin).parent / "duckdb"
    views = "".join(f"create view {t} as select * from read_parquet('{A.folder}/{t}/*.parquet');\n" for t in sorted(TABLES))
    with tempfile.TemporaryFile("w+") as f:
        f.write(f"set threads={os.environ.get('THREADS', '2')};\n{views}{sql.rstrip().rstrip(';')};\n"); f.seek(0)
        t0 = time.monotonic()
        p = subprocess.Popen([cli, "-init", os.devnull, "-bail", "-csv"], stdin=f, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, use = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        return {"error": f"exit {p.returncode}"} if p.returncode else {"wall": time.monotonic() - t0, "cpu": use.ru_utime + use.ru_stime}

def rows(file):
    with pa.memory_map(file) as f:
        try: t = pa.ipc.open_file(f).read_all()
        except pa.ArrowInvalid: f.seek(0); t = pa.ipc.open_stream(f).read_all()
        cells = [c.to_pylist() for c in t.columns]
    plain = [tuple(c) for c in zip(*cells)]
    return sorted(plain, key=lambda r: [str(v) if not isinstance(v, float) else f"{v:.6e}" for v in r])

def equal(got, want):
    return len(got) == len(want) and all(len(g) == len(w) and all(math.isclose(a, b, rel_tol=1e-9) if isinstance(a, float) and isinstance(b, float) else a == b for a, b in zip(g, w)) for g, w in zip(got, want))

class Proxy:
    """A proxy of our own name in the toxiproxy that is there."""
    def __init__(self):
        self.name = f"tpch-{os.getpid()}"
        listen = os.environ.get("PROXY") or "127.0.0.1:%d" % free_port()
        self.url = "http://" + listen
        self.call("POST", "/proxies", {"name": self.name, "listen": listen, "upstream": S3.split("//")[1], "enabled": True})
    def call(self, method, path, body=None):
        req = urllib.request.Request(TOXI + path, method=method, data=json.dumps(body).encode() if body is not None else None, headers={"Content-Type": "application/json"})
        return urllib.request.urlopen(req).read()
    def latency(self, ms):
        try: self.call("DELETE", f"/proxies/{self.name}/toxics/lat")
        except urllib.error.HTTPError: pass
        if ms: self.call("POST", f"/proxies/{self.name}/toxics", {"name": "lat", "type": "latency", "stream": "downstream", "attributes": {"latency": ms, "jitter": 0}})
    def close(self): self.call("DELETE", f"/proxies/{self.name}")

def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]

def best(f):
    runs = [f() for _ in range(A.reps)]
    bad = [r for r in runs if "error" in r]
    return bad[0] if bad else {k: min(r[k] for r in runs) for k in ("wall", "cpu")}

def show(r): return "      n/a    " if "error" in r else f"{r['wall']:6.2f} {r['cpu']:6.2f}"

def mean(pairs):
    pairs = [(a, b) for a, b in pairs if a and b]
    return (math.exp(sum(math.log(a / b) for a, b in pairs) / len(pairs)), len(pairs)) if pairs else (float("nan"), 0)

def main():
    tmp = tempfile.mkdtemp(prefix="lakescan-tpch-")
    got, want = f"{tmp}/got.arrow", f"{tmp}/want.arrow"
    files, click = Peer("duckdb-files", str(A.folder)), Peer("chdb-files", str(A.folder))
    proxy = Proxy() if LATENCIES else None
    ice = Peer("duckdb-iceberg", A.namespace, S3_ENDPOINT=proxy.url) if proxy else None
    head = ["query equal"] if A.check else ["query equal", "lakescan files", "DuckDB program", " DuckDB files", "   ClickHouse"] + [f"{who} {ms:3} ms" for ms in LATENCIES for who in ("lakescan", "  DuckDB")]
    print(f"{A.namespace}: seconds of wall and CPU" if not A.check else A.namespace); print(" | ".join(head))
    all_, wrong = {}, []
    try:
        for n, (sql, at) in queries().items():
            q = {"duckdb": best(lambda: files.run(sql, want))}
            iceberg = renamed(sql, at, lambda t: f"{A.namespace}.{t}")
            first = lakescan(iceberg, got)
            ok = "error" not in first and equal(rows(got), rows(want))
            if not ok: wrong.append((n, first.get("error", "rows differ")))
            if not A.check:
                local = renamed(sql, at, lambda t: f"'{A.folder}/{t}/*.parquet'")
                q["lakescan"] = best(lambda: lakescan(local, got))
                if "error" not in q["lakescan"] and not equal(rows(got), rows(want)): wrong.append((n, "over the files, rows differ"))
                q["program"] = best(lambda: program(sql))
                q["click"] = best(lambda: click.run(sql))
                for ms in LATENCIES:
                    proxy.latency(ms)
                    q[f"lakescan{ms}"] = best(lambda: lakescan(iceberg, got, proxy.url))
                    q[f"duckdb{ms}"] = best(lambda: ice.run(sql))
            all_[n] = q
            cells = [show(q[k]) for k in ["lakescan", "program", "duckdb", "click"] + [w + str(ms) for ms in LATENCIES for w in ("lakescan", "duckdb")]] if not A.check else []
            print(" | ".join([f"q{n:<4} {'yes' if ok else 'NO':<5}"] + cells), flush=True)
    finally:
        for p in (files, click, ice, proxy):
            if p: p.close()
    for n, why in wrong: print(f"q{n}: {why}")
    print(f"equal: {len(all_) - len({n for n, _ in wrong})} of {len(all_)}")
    if not A.check: summary(all_)
    if A.out: pathlib.Path(A.out).write_text(json.dumps(all_))
    sys.exit(1 if wrong else 0)

def summary(all_):
    def ratio(a, b, what, only=lambda q: True):
        return mean([(q[a].get(what), q[b].get(what)) for q in all_.values() if only(q)])
    print("geometric means, lakescan / other:")
    for a, b, what, name in [("lakescan", "duckdb", "cpu", "CPU, files, DuckDB without its start (aim 1.0, falsified above 1.3)"), ("lakescan", "program", "cpu", "CPU, files, DuckDB's program, both with their start"), ("lakescan", "duckdb", "wall", "wall, files, DuckDB"), ("lakescan", "click", "cpu", "CPU, files, ClickHouse")] + \
            [(f"lakescan{ms}", f"duckdb{ms}", w, f"{'CPU' if w == 'cpu' else 'wall'}, {ms} ms, DuckDB's Iceberg reader") for ms in LATENCIES for w in ("wall", "cpu")]:
        r, n = ratio(a, b, what)
        print(f"  {r:5.2f}  {name} ({n} queries)")
    for ms in LATENCIES:
        if not ms: continue
        bound = lambda q: "error" not in q[f"duckdb{ms}"] and q["duckdb"]["wall"] < q[f"duckdb{ms}"]["wall"] / 2
        r, n = ratio(f"lakescan{ms}", f"duckdb{ms}", "wall", bound)
        slower = [f"q{k}" for k, q in all_.items() if "wall" in q[f"lakescan{ms}"] and "wall" in q[f"duckdb{ms}"] and q[f"lakescan{ms}"]["wall"] > q[f"duckdb{ms}"]["wall"]]
        print(f"  {r:5.2f}  wall, {ms} ms, the {n} scan-bound ones: DuckDB waits more than half of its time for the store (aim 0.5); slower on: {' '.join(slower) or 'none'}")

main()
