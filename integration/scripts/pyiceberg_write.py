"""Writes integration.readings with PyIceberg: 12 appends over a partitioned table (identity and day), a column added and one renamed on the way, nulls, NaN, odd
names, decimals, nested values. usage: pyiceberg_write.py ; env: REST_URI S3_ENDPOINT AWS_*"""
import datetime as dt, decimal, os, random
import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform, IdentityTransform
from pyiceberg.types import (BooleanType, DateType, DecimalType, DoubleType, IntegerType, ListType, LongType, MapType, NestedField, StringType, StructType, TimestamptzType, UUIDType)

cat = load_catalog("c", **{"type": "rest", "uri": os.environ["REST_URI"], "s3.endpoint": os.environ["S3_ENDPOINT"], "s3.access-key-id": os.environ["AWS_ACCESS_KEY_ID"],
                           "s3.secret-access-key": os.environ["AWS_SECRET_ACCESS_KEY"], "s3.region": os.environ["AWS_REGION"]})
cat.create_namespace_if_not_exists("integration")
schema = Schema(
    NestedField(1, "id", LongType(), required=True), NestedField(2, "site", StringType()), NestedField(3, "at", TimestamptzType()), NestedField(4, "value", DoubleType()),
    NestedField(5, "price", DecimalType(12, 3)), NestedField(6, "ok", BooleanType()), NestedField(7, "day of", DateType()), NestedField(8, "n", IntegerType()),
    NestedField(9, "tags", ListType(20, StringType(), element_required=False)), NestedField(10, "pos", StructType(NestedField(21, "x", DoubleType()), NestedField(22, "y", IntegerType()))),
    NestedField(11, "kv", MapType(23, StringType(), 24, LongType(), value_required=False)))
spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "site"), PartitionField(3, 1001, DayTransform(), "at_day"))
t = cat.create_table("integration.readings", schema=schema, partition_spec=spec, properties={"format-version": "2"})

def batch(rng, first, n, arrow):
    def maybe(v): return None if rng.random() < 0.1 else v
    rows = [{"id": first + i, "site": rng.choice(["a", "b", None]), "at": dt.datetime(2026, 1, 1 + rng.randrange(3), rng.randrange(24), tzinfo=dt.timezone.utc), "value": maybe(rng.choice([1.5, float("nan"), -0.0, 1e300, rng.random()])),
             "price": maybe(decimal.Decimal(rng.randrange(-10**9, 10**9)).scaleb(-3)), "ok": maybe(rng.random() < 0.5), "day of": maybe(dt.date(1969, 12, 30) + dt.timedelta(rng.randrange(5))), "n": maybe(rng.randrange(-5, 5)),
             "tags": maybe([maybe("t%d" % k) for k in range(rng.randrange(3))]), "pos": maybe({"x": maybe(rng.random()), "y": maybe(rng.randrange(9))}), "kv": maybe([("k%d" % k, maybe(k)) for k in range(rng.randrange(3))])} for i in range(n)]
    for r in rows:
        for f in arrow: r.setdefault(f.name, maybe(rng.randrange(100)))
    return pa.Table.from_pylist([{f.name: r[f.name] for f in arrow} for r in rows], schema=arrow)

rng = random.Random(7)
for k in range(12):
    if k == 6:
        with t.update_schema() as u: u.add_column("late", LongType())
    t.append(batch(rng, k * 500, 500, t.schema().as_arrow()))
print(t.scan().count())
