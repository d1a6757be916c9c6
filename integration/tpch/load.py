"""Makes the TPC-H tables with DuckDB's generator and writes them with PyIceberg through the REST catalog. usage: load.py SF NAMESPACE FOLDER
The data files are copied to FOLDER/TABLE/, so that other readers see the very same Parquet bytes. Big tables become several files.
env: REST_URI S3_DIRECT AWS_* (S3_DIRECT: the store itself, without latency)"""
import importlib.util, os, pathlib, shutil, sys
import duckdb
from pyiceberg.catalog import load_catalog

sf, namespace, folder = float(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
files = {"lineitem": 12, "orders": 6, "partsupp": 4, "part": 2, "customer": 2}  # a few files each, as tables that grow have
con = duckdb.connect(config={"threads": 2, "autoinstall_known_extensions": False, "autoload_known_extensions": False})
ext = pathlib.Path(importlib.util.find_spec("duckdb_extension_tpch").origin).parent / "extensions" / f"v{duckdb.__version__}" / "tpch.duckdb_extension"
con.load_extension(str(ext))
con.execute(f"call dbgen(sf={sf})")
cat = load_catalog("c", **{"type": "rest", "uri": os.environ["REST_URI"], "s3.endpoint": os.environ["S3_DIRECT"], "s3.access-key-id": os.environ["AWS_ACCESS_KEY_ID"],
                           "s3.secret-access-key": os.environ["AWS_SECRET_ACCESS_KEY"], "s3.region": os.environ["AWS_REGION"]})
cat.create_namespace_if_not_exists(namespace)
for (name,) in con.execute("select table_name from duckdb_tables() order by 1").fetchall():
    rows = con.execute(f"select * from {name}").fetch_arrow_table()
    if cat.table_exists(f"{namespace}.{name}"):
        cat.drop_table(f"{namespace}.{name}")
    table = cat.create_table(f"{namespace}.{name}", schema=rows.schema, properties={"format-version": "2", "write.parquet.compression-codec": "zstd", "write.parquet.row-group-limit": "122880"})
    step = -(-rows.num_rows // files.get(name, 1))
    with table.transaction() as tx:
        for at in range(0, rows.num_rows, step):
            tx.append(rows.slice(at, step))
    shutil.rmtree(folder / name, ignore_errors=True)
    (folder / name).mkdir(parents=True)
    table = cat.load_table(f"{namespace}.{name}")
    for i, task in enumerate(table.scan().plan_files()):
        with table.io.new_input(task.file.file_path).open() as src:
            (folder / name / f"{i:05d}.parquet").write_bytes(src.read())
    print(name, rows.num_rows, flush=True)
