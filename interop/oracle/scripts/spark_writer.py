"""Writes whole tables with Spark, for the oracle: the steps and answers of pyiceberg_writer.py. Deletes and updates are merge-on-read: position delete files in
format version 2, deletion vectors and row lineage in version 3. env: SPARK_JARS (iceberg-spark-runtime). One JVM serves all tables."""
import glob, io, json, os, re, sys

out = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
import pyarrow as pa
from pyspark.sql import SparkSession

spark = None


def session(warehouse):
    global spark
    if spark: return
    b = SparkSession.builder.master("local[1]").config("spark.jars", os.environ["SPARK_JARS"])
    for k, v in {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog", "spark.sql.catalog.ice.type": "hadoop", "spark.sql.catalog.ice.warehouse": warehouse,
        "spark.sql.shuffle.partitions": "1", "spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC", "spark.driver.memory": "1g", "spark.sql.parquet.inferTimestampNTZ.enabled": "true"}.items(): b = b.config(k, v)
    spark = b.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")


def name(n): return "`" + n.replace("`", "``") + "`"


def sql_type(t):
    if isinstance(t, dict):
        if t["type"] == "struct": return "struct<" + ", ".join(f"{name(f['name'])}: {sql_type(f['type'])}" for f in t["fields"]) + ">"
        if t["type"] == "list": return f"array<{sql_type(t['element'])}>"
        return f"map<{sql_type(t['key'])}, {sql_type(t['value'])}>"
    return {"long": "bigint", "timestamp": "timestamp_ntz", "timestamptz": "timestamp"}.get(t, t)


def transform(f):
    m = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", f["transform"])
    kind, n, c = m[1], m[2], name(f["column"])
    if kind == "identity": return c
    return f"{kind}({n}, {c})" if n else f"{kind}({c})"


def write(req):
    warehouse = os.path.dirname(req["dir"])
    session(warehouse)
    t = f"ice.oracle.{req['table']}"
    for s in req["steps"]:
        do = s["do"]
        if do == "create":
            columns = ", ".join(f"{name(f['name'])} {sql_type(f['type'])}{' not null' if f['required'] else ''}" for f in s["schema"]["fields"])
            parts = ", ".join(map(transform, s["spec"]))
            spark.sql(f"create table {t} ({columns}) using iceberg {'partitioned by (' + parts + ')' if parts else ''} tblproperties ('format-version'='{s['version']}', "
                      "'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', 'write.distribution-mode'='none', 'write.spark.fanout.enabled'='true')")
        elif do == "append": spark.read.parquet(s["rows"]).writeTo(t).append()
        elif do == "delete": spark.sql(f"delete from {t} where id in ({', '.join(map(str, s['ids']))})")
        elif do == "update": spark.sql(f"update {t} set id = id + 0 where id in ({', '.join(map(str, s['ids']))})")
        elif do == "upgrade": spark.sql(f"alter table {t} set tblproperties ('format-version'='3')")
        elif do == "add":
            f = s["field"]["fields"][0]
            spark.sql(f"alter table {t} add column {name(f['name'])} {sql_type(f['type'])}")
        elif do == "rename": spark.sql(f"alter table {t} rename column {name(s['from'])} to {name(s['to'])}")
        elif do == "drop": spark.sql(f"alter table {t} drop column {name(s['from'])}")
        elif do == "partition":
            for f in s["from"]: spark.sql(f"alter table {t} drop partition field {f.get('spark', transform(f))}")
            for f in s["to"]: spark.sql(f"alter table {t} add partition field {transform(f)}")
    found = glob.glob(os.path.join(warehouse, "oracle", req["table"], "metadata", "v*.metadata.json"))
    return max(found, key=lambda p: int(re.search(r"v(\d+)\.metadata", p)[1]))


def answer(location):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, pa.schema([], metadata={"location": location})): pass
    body = sink.getbuffer()
    out.write(json.dumps({"bytes": len(body)}).encode() + b"\n")
    out.write(body)


for line in sys.stdin:
    try: answer(write(json.loads(line)))
    except BaseException as e: out.write(json.dumps({"error": f"{type(e).__name__}: {str(e)[:600]}"}).encode() + b"\n")
    out.flush()
if spark: spark.stop()
os._exit(0)
