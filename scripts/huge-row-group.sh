#!/usr/bin/env bash
# Scans one row group of a gibibyte under a small memory budget, with and without a page index, from a store that answers after a while
# (a local HTTP server, LATENCY milliseconds), and shows wall time, requests and the peak of resident memory (case L56).
# usage: scripts/huge-row-group.sh [MiB] [budget]     LAKESCAN = a built program (default: builds one), LATENCY (100)
set -euo pipefail
cd "$(dirname "$0")/.."
mib=${1:-1024} budget=${2:-64MiB}
. integration/env.sh
python=${LAKESCAN_PYTHON:-$LAKESCAN_TOOLS/python/bin/python}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ -z "${LAKESCAN:-}" ]; then
  LAKESCAN=$dir/lakescan
  CGO_ENABLED=0 go build -o "$LAKESCAN" ./cmd/lakescan
fi
"$python" - "$dir" "$mib" <<'PY'
import sys, numpy as np, pyarrow as pa, pyarrow.parquet as pq
folder, mib = sys.argv[1], int(sys.argv[2])
step, parts = 1 << 17, mib // 4                      # 4 MiB a step: 4 columns of 8 bytes
rng = np.random.default_rng(56)
schema = pa.schema([(n, pa.int64()) for n in "abcd"])
tables = [pa.table([pa.array(rng.integers(0, 1 << 62, step)) for _ in schema], schema) for _ in range(parts)]
whole = pa.concat_tables(tables)
for index in (True, False):
    pq.write_table(whole, f"{folder}/{'index' if index else 'plain'}.parquet", row_group_size=1 << 40, use_dictionary=False, compression="snappy", write_page_index=index)
PY
cat >"$dir/run.py" <<'PY'
import http.server, json, os, re, subprocess, sys, threading, time
folder, lakescan, budget, latency = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]) / 1000
requests, sent, lock = 0, 0, threading.Lock()

class Store(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def do_HEAD(self): self.answer(False)
    def do_GET(self): self.answer(True)
    def answer(self, body):
        global requests, sent
        path = folder + "/" + os.path.basename(self.path.split("?")[0])
        size = os.path.getsize(path)
        m = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        first, last = 0, size - 1
        if m and m[1]: first, last = int(m[1]), min(int(m[2] or last), last)
        elif m: first = max(0, size - int(m[2]))
        with lock: requests, sent = requests + 1, sent + (last - first + 1 if body else 0)
        time.sleep(latency)
        self.send_response(206 if m else 200)
        for k, v in {"Content-Length": last - first + 1, "ETag": '"1"', "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT", "Accept-Ranges": "bytes", "Content-Type": "binary/octet-stream"}.items(): self.send_header(k, str(v))
        if m: self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.end_headers()
        if body:
            with open(path, "rb") as f: self.connection.sendfile(f, first, last - first + 1)

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Store)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
env = {**os.environ, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "AWS_REGION": "us-east-1"}
bad = 0
for kind in ("index", "plain"):
    requests = sent = 0
    start = time.time()
    p = subprocess.Popen([lakescan, "scan", f"s3://huge/{kind}.parquet", "--endpoint-url", f"http://127.0.0.1:{server.server_port}", "--path-style", "on",
                          "--memory", budget, "--output", "arrow", "--max-rows", "0"], stdout=subprocess.PIPE, env=env)
    n = first = 0
    while b := p.stdout.read1(1 << 20):
        n += len(b)
        if not first and n > 1 << 16: first = time.time() - start
    _, status, used = os.wait4(p.pid, 0)
    bad |= status
    print(f"{'with a page index' if kind == 'index' else 'without one':18} {os.path.getsize(f'{folder}/{kind}.parquet') >> 20} MiB in one row group, budget {budget}, {latency * 1000:.0f} ms: exit {os.waitstatus_to_exitcode(status)}, "
          f"{time.time() - start:.1f} s, first row {first:.2f} s, {requests} requests, {sent >> 20} MiB fetched, {n >> 20} MiB of Arrow, {used.ru_utime + used.ru_stime:.1f} s of CPU, peak resident {used.ru_maxrss >> 10} MiB", flush=True)
sys.exit(1 if bad else 0)
PY
"$python" "$dir/run.py" "$dir" "$LAKESCAN" "$budget" "${LATENCY:-100}"
