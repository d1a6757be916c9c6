"""Ten selective queries: which data files and row groups are asked of the store, and how many bytes, by lakescan, DuckDB's Iceberg reader and PyIceberg.
usage: selective.py NAMESPACE   (tables of load.py; NAMESPACE.lineitem_by_month is made of them if it is not there)
Each reader goes through a proxy of this script that writes down path and range of every request. A file counts if a byte of it was asked for. A row
group counts if the column that the condition tests was fetched, whatever fetched it: a row group that came along with the footer was read as well.
Bytes are those of data files. Exit 1 if rows differ, or lakescan read more files or row groups than another reader.
env: REST_URI S3_DIRECT AWS_* LAKESCAN (program)"""
import collections, http.client, http.server, importlib.util, json, os, pathlib, re, subprocess, sys, tempfile, threading, urllib.parse
import duckdb, pyarrow.parquet as pq
from pyiceberg.catalog import load_catalog
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.transforms import MonthTransform

NS = sys.argv[1]
LAKESCAN = os.environ.get("LAKESCAN", str((pathlib.Path(__file__).parent / "../../bin/lakescan").resolve()))
DIRECT = os.environ["S3_DIRECT"].split("//")[1]
QUERIES = [  # table, column whose chunks are looked at, condition; what it tries
    ("lineitem", "l_orderkey", "l_orderkey = {k}", "one key of a sorted column"),
    ("lineitem", "l_orderkey", "l_orderkey BETWEEN {k} AND {k} + 100", "a short range"),
    ("lineitem", "l_orderkey", "l_orderkey IN (1, {k})", "two keys"),
    ("lineitem", "l_orderkey", "l_orderkey < 1000 AND l_shipdate >= DATE '1995-01-01'", "a sorted and another column"),
    ("lineitem", "l_orderkey", "l_orderkey < 500 OR l_orderkey = {k}", "OR"),
    ("orders", "o_orderkey", "o_orderkey > {k} AND o_orderkey <= {k} + 50", "an open range"),
    ("customer", "c_name", "c_name = 'Customer#000001000'", "a text"),
    ("lineitem", "l_shipdate", "l_shipdate > DATE '2000-01-01'", "nothing"),
    ("lineitem_by_month", "l_shipdate", "l_shipdate = DATE '1994-03-15'", "a day of a table by month"),
    ("lineitem_by_month", "l_shipdate", "l_shipdate >= DATE '1994-02-20' AND l_shipdate < DATE '1994-04-01'", "two months"),
]

class Proxy(http.server.ThreadingHTTPServer):
    daemon_threads = True
    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.log, self.lock = [], threading.Lock()
        self.url = "http://127.0.0.1:%d" % self.server_port
        threading.Thread(target=self.serve_forever, daemon=True).start()
    def taken(self):
        with self.lock: log, self.log = self.log, []
        return log

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        up = http.client.HTTPConnection(DIRECT)
        try:
            up.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for k, v in self.headers.items():
                if k.lower() != "connection": up.putheader(k, v)
            up.endheaders(body or None)
            r = up.getresponse()
            data = r.read()
            with self.server.lock: self.server.log.append((self.command, self.path.split("?")[0], r.getheader("Content-Range"), len(data), r.status))
            self.send_response(r.status)
            for k, v in r.getheaders():
                if k.lower() not in ("transfer-encoding", "connection", "content-length"): self.send_header(k, v)
            self.send_header("Content-Length", r.getheader("Content-Length") if self.command == "HEAD" else str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError): self.close_connection = True
        finally: up.close()
    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = forward

def catalog(endpoint):
    return load_catalog("c", **{"type": "rest", "uri": os.environ["REST_URI"], "s3.endpoint": endpoint, "s3.access-key-id": os.environ["AWS_ACCESS_KEY_ID"], "s3.secret-access-key": os.environ["AWS_SECRET_ACCESS_KEY"], "s3.region": os.environ["AWS_REGION"]})

class Layout:
    """Where the column chunks of the data files are."""
    def __init__(self, cat): self.cat, self.files = cat, {}
    def of(self, table):
        t = self.cat.load_table(f"{NS}.{table}")
        for task in t.scan().plan_files():
            path = task.file.file_path.split("://")[1]
            if path not in self.files:
                with t.io.new_input(task.file.file_path).open() as f: self.files[path] = pq.ParquetFile(f).metadata
        return self.files
    def read(self, log, column):
        """Files, row groups and bytes of a log."""
        ranges, size = collections.defaultdict(list), 0
        for method, path, content, n, status in log:
            path = urllib.parse.unquote(path).lstrip("/")
            if path not in self.files or method != "GET" or status >= 300: continue
            m = re.match(r"bytes (\d+)-(\d+)", content or "")
            ranges[path].append((int(m[1]), int(m[2]) + 1) if m else (0, n)); size += n
        groups = 0
        for path, spans in ranges.items():
            md = self.files[path]
            for g in range(md.num_row_groups):
                for c in (md.row_group(g).column(i) for i in range(md.num_columns)):
                    if c.path_in_schema == column:
                        at = c.dictionary_page_offset or c.data_page_offset
                        groups += covers(spans, at, at + c.total_compressed_size)
        return len(ranges), groups, size

def covers(spans, lo, hi):
    for a, b in sorted(spans):
        if a <= lo < b: lo = b
    return lo >= hi

def by_lakescan(table, where, proxy):
    p = subprocess.run([LAKESCAN, "query", f"select * from {NS}.{table} where {where}", "-o", "arrow", "--uri", os.environ["REST_URI"], "--endpoint-url", proxy, "--path-style", "on"], capture_output=True, cwd=tempfile.gettempdir(),
                       env=os.environ | {"LAKESCAN_S3_ACCESS_KEY_ID": os.environ["AWS_ACCESS_KEY_ID"], "LAKESCAN_S3_SECRET_ACCESS_KEY": os.environ["AWS_SECRET_ACCESS_KEY"]})
    if p.returncode: raise RuntimeError(p.stderr.decode())
    import pyarrow as pa
    return pa.ipc.open_stream(p.stdout).read_all().num_rows

def by_duckdb(table, where, proxy):
    con = duckdb.connect(config={"threads": 2, "autoinstall_known_extensions": False, "autoload_known_extensions": False})
    for e in ("httpfs", "avro", "iceberg"):
        con.load_extension(str(pathlib.Path(importlib.util.find_spec(f"duckdb_extension_{e}").origin).parent / "extensions" / f"v{duckdb.__version__}" / f"{e}.duckdb_extension"))
    con.execute("create secret (type s3, key_id '{AWS_ACCESS_KEY_ID}', secret '{AWS_SECRET_ACCESS_KEY}', endpoint '{host}', url_style 'path', use_ssl false, region '{AWS_REGION}')".format(host=proxy.split("//")[1], **os.environ))
    con.execute(f"attach '' as ice (type iceberg, endpoint '{os.environ['REST_URI']}', authorization_type 'none', access_delegation_mode 'none')")
    return con.execute(f"select * from ice.{NS}.{table} where {where}").to_arrow_table().num_rows

def by_pyiceberg(table, where, proxy):
    from pyiceberg.expressions import parser
    text = re.sub(r"DATE ('[^']*')", r"\1", where)
    text = re.sub(r"(\w+) BETWEEN (\d+) AND (\d+)", r"\1 >= \2 AND \1 <= \3", text)
    return catalog(proxy).load_table(f"{NS}.{table}").scan(row_filter=parser.parse(text)).to_arrow().num_rows

def prepare(cat):
    if cat.table_exists(f"{NS}.lineitem_by_month"): return
    rows = cat.load_table(f"{NS}.lineitem").scan(row_filter=AlwaysTrue(), limit=500_000).to_arrow()
    t = cat.create_table(f"{NS}.lineitem_by_month", schema=rows.schema)
    with t.update_spec() as u: u.add_field("l_shipdate", MonthTransform(), "month")
    t.append(rows)

def main():
    cat, proxy = catalog(os.environ["S3_DIRECT"]), Proxy()
    prepare(cat)
    layout = Layout(cat)
    key = int(cat.load_table(f"{NS}.orders").metadata.current_snapshot().summary["total-records"]) * 2 // 32 * 32 + 1
    readers = [("lakescan", by_lakescan), ("DuckDB", by_duckdb), ("PyIceberg", by_pyiceberg)]
    print(f"{NS}: files / row groups / KiB of data files asked for"); print(" | ".join([f"{'condition':75} {'of':>8}"] + [f"{n:>16}" for n, _ in readers] + ["rows"]))
    bad = []
    for table, column, where, _ in QUERIES:
        where = re.sub(r"\{k\}( \+ (\d+))?", lambda m: str(key + int(m[2] or 0)), where)
        before = set(layout.files); layout.of(table)
        mine = [md for p, md in layout.files.items() if f"/{table}/" in p or p not in before]
        got = []
        for _, ask in readers:
            proxy.taken()
            n = ask(table, where, proxy.url)
            got.append((n, layout.read(proxy.taken(), column)))
        (rows, (files, groups, _)), rest = got[0], got[1:]
        if any(n != rows for n, _ in rest): bad.append(f"{where}: rows {[n for n, _ in got]}")
        if any(files > f or groups > g for _, (f, g, _) in rest): bad.append(f"{table}: {where}: lakescan reads more")
        print(" | ".join([f"{table + ': ' + where:75} {len(mine):>3}/{sum(m.num_row_groups for m in mine):<4}"] + [f"{f:>4} {g:>4} {b // 1024:>6}" for _, (f, g, b) in got] + [str(rows)]), flush=True)
    for b in bad: print(b)
    proxy.shutdown()
    sys.exit(bool(bad))

main()
