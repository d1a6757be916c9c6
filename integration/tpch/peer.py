"""One engine in one process: a JSON job a line in ({"sql", "out"}), a JSON answer a line out ({"wall", "cpu"} in seconds, or {"error"}).
usage: peer.py duckdb-files FOLDER | duckdb-iceberg NAMESPACE | chdb-files FOLDER ; env: REST_URI S3_ENDPOINT AWS_*
Every job gets a new connection, so metadata is cold; imports, extensions and views are not counted."""
import importlib, importlib.util, json, os, pathlib, resource, sys, time

kind, where = sys.argv[1], sys.argv[2]
THREADS = int(os.environ.get("THREADS", "2"))

def duck():
    import duckdb
    return duckdb.connect(config={"threads": THREADS, "autoinstall_known_extensions": False, "autoload_known_extensions": False})

def duckdb_files():
    con = duck()
    for t in sorted(pathlib.Path(where).iterdir()):
        con.execute(f"create view {t.name} as select * from read_parquet('{t}/*.parquet')")
    return lambda sql: con.execute(sql).to_arrow_table()

def duckdb_iceberg():
    con = duck()
    for e in ("httpfs", "avro", "iceberg"):
        p = pathlib.Path(importlib.util.find_spec(f"duckdb_extension_{e}").origin).parent / "extensions" / f"v{importlib.import_module('duckdb').__version__}" / f"{e}.duckdb_extension"
        con.load_extension(str(p))
    con.execute("create secret (type s3, key_id '{AWS_ACCESS_KEY_ID}', secret '{AWS_SECRET_ACCESS_KEY}', endpoint '{host}', url_style 'path', use_ssl false, region '{AWS_REGION}')".format(host=os.environ["S3_ENDPOINT"].split("//")[1], **os.environ))
    def run(sql):
        con.execute(f"attach '' as ice (type iceberg, endpoint '{os.environ['REST_URI']}', authorization_type 'none', access_delegation_mode 'none')")
        con.execute(f"use ice.{where}")
        return con.execute(sql).to_arrow_table()
    return run

def chdb_files():
    session = importlib.import_module("chdb").session.Session()
    for t in sorted(pathlib.Path(where).iterdir()):
        session.query(f"create or replace view {t.name} as select * from file('{t}/*.parquet', Parquet)")
    return lambda sql: session.query(sql.rstrip().rstrip(";") + f" settings max_threads={THREADS}, join_use_nulls=1, allow_experimental_correlated_subqueries=1", "ArrowStream").bytes()

make = {"duckdb-files": duckdb_files, "duckdb-iceberg": duckdb_iceberg, "chdb-files": chdb_files}[kind]
for line in sys.stdin:
    job = json.loads(line)
    try:
        run = make()
        r0, t0 = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
        table = run(job["sql"])
        wall, r1 = time.monotonic() - t0, resource.getrusage(resource.RUSAGE_SELF)
        if job.get("out"):
            import pyarrow as pa
            with pa.ipc.new_stream(job["out"], table.schema) as w:
                w.write_table(table)
        answer = {"wall": wall, "cpu": r1.ru_utime + r1.ru_stime - r0.ru_utime - r0.ru_stime}
    except Exception as e:
        answer = {"error": str(e).splitlines()[0][:200]}
    print(json.dumps(answer), flush=True)
