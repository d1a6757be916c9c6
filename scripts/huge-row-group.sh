#!/usr/bin/env bash
# Scans one row group of a gibibyte under a small memory budget, with and without a page index, and shows the peak of resident memory (case L56).
# usage: scripts/huge-row-group.sh [MiB] [budget]     LAKESCAN = a built program (default: builds one)
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
for kind in index plain; do
  f=$dir/$kind.parquet
  echo "$kind: $(stat -c %s "$f") bytes in one row group, budget $budget"
  "$python" - "$LAKESCAN" scan "$f" --memory "$budget" --output arrow --max-rows 0 <<'PY'
import os, resource, subprocess, sys, time
start = time.time()
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, env={**os.environ, "GOGC": os.environ.get("GOGC", "100")})
n = 0
while b := p.stdout.read(1 << 20): n += len(b)
code = p.wait()
print(f"  exit {code}, {n} bytes of Arrow, {time.time() - start:.1f} s, peak resident {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024} MiB")
sys.exit(code)
PY
done
