"""DuckDB as a peer: a request a line on stdin, {"path": p, "columns": [names] or null}; the answer {"cpu": seconds, "rows": n} is the CPU of this
process, one thread, for the least and the greatest value of every column, and the sum of numbers: decoding, and as little else as makes
it read everything."""
import json, resource, sys
import duckdb

con = duckdb.connect(config={"threads": 1, "autoinstall_known_extensions": False, "autoload_known_extensions": False})


def cpu():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


for line in sys.stdin:
    q = json.loads(line)
    types = con.execute("describe select * from read_parquet(?)", [q["path"]]).fetchall()
    parts = ["count(*)"]
    for name, typ, *_ in types:
        if q["columns"] and name not in q["columns"]: continue
        parts += [f'min("{name}")', f'max("{name}")']
        if typ in ("BIGINT", "INTEGER", "DOUBLE", "FLOAT") or typ.startswith("DECIMAL"): parts.append(f'sum("{name}")')
    start = cpu()
    rows = con.execute(f"select {', '.join(parts)} from read_parquet(?)", [q["path"]]).fetchone()[0]
    print(json.dumps({"cpu": cpu() - start, "rows": rows}), flush=True)
