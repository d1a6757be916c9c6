"""The judge: runs one statement in DuckDB with its own Iceberg extension and writes the result as an Arrow stream to a file. The table function is DuckDB's; nothing of
lakescan takes part. usage: duckdb_rows.py SQL OUT ; env: REST_URI S3_ENDPOINT AWS_* ; the catalog is attached as ice"""
import importlib.util, os, pathlib, sys
import duckdb, pyarrow as pa

con = duckdb.connect(config={"threads": 2, "autoinstall_known_extensions": False, "autoload_known_extensions": False})
for e in ("httpfs", "avro", "iceberg"):
    folder = pathlib.Path(importlib.util.find_spec(f"duckdb_extension_{e}").origin).parent / "extensions" / f"v{duckdb.__version__}"
    con.load_extension(str(folder / f"{e}.duckdb_extension"))
con.execute("set timezone='UTC'")
con.execute("create secret (type s3, key_id '{AWS_ACCESS_KEY_ID}', secret '{AWS_SECRET_ACCESS_KEY}', endpoint '{host}', url_style 'path', use_ssl false, region '{AWS_REGION}')".format(host=os.environ["S3_ENDPOINT"].split("//")[1], **os.environ))
con.execute(f"attach '' as ice (type iceberg, endpoint '{os.environ['REST_URI']}', authorization_type 'none', access_delegation_mode 'none')")
table = con.execute(sys.argv[1]).fetch_arrow_table()
with pa.ipc.new_stream(sys.argv[2], table.schema) as out:
    out.write_table(table)
