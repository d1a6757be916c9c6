"""Writes the sample table of `lakescan demo` with Spark, as an independent writer: demo.trips, 70 data files in 12 monthly partitions, one position
delete file (format version 2), one deletion vector (after the upgrade to version 3), one column added on the way.
usage: demo_lake.py ; env: SPARK_JARS (iceberg-spark-runtime and iceberg-aws-bundle), S3_DIRECT, REST_URI, AWS_*. The bucket lakescan-demo must exist."""
import os
from pyspark.sql import SparkSession
b = SparkSession.builder.master("local[1]").config("spark.jars", os.environ["SPARK_JARS"])
for k, v in {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog", "spark.sql.catalog.ice.type": "rest",
    "spark.sql.catalog.ice.uri": os.environ["REST_URI"], "spark.sql.catalog.ice.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
    "spark.sql.catalog.ice.s3.endpoint": os.environ["S3_DIRECT"], "spark.sql.catalog.ice.s3.path-style-access": "true",
    "spark.sql.catalog.ice.client.region": "us-east-1", "spark.sql.shuffle.partitions": "1", "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.sql.session.timeZone": "UTC"}.items():
    b = b.config(k, v)
s = b.getOrCreate(); s.sparkContext.setLogLevel("ERROR"); q = s.sql
T = "ice.demo.trips"
q("create namespace if not exists ice.demo")
q(f"""create table {T} (trip_id bigint not null, pickup timestamp not null, region string, distance_km double, passengers int, fare decimal(8,2)) using iceberg
      partitioned by (months(pickup)) location 's3://lakescan-demo/demo/trips'
      tblproperties ('format-version'='2','write.delete.mode'='merge-on-read','write.parquet.compression-codec'='zstd','write.metadata.metrics.default'='full')""")
def rows(first, months, per, tip):
    # a row is a pure function of its trip_id, so that the table can be written again and compared
    q(f"""insert into {T} select trip_id, make_timestamp(2025, cast(1 + pmod(trip_id, {months}) as int), cast(1 + pmod(trip_id, 28) as int), cast(pmod(trip_id * 7, 24) as int), cast(pmod(trip_id * 13, 60) as int), pmod(trip_id * 17, 60)) as pickup,
        case when pmod(trip_id, 97) = 0 then null else element_at(array('north','south','east','west','centre'), cast(1 + pmod(trip_id * 31 + trip_id div 12, 5) as int)) end,
        round(0.5 + pmod(trip_id * 2654435761, 30000) / 1000.0D, 3), cast(1 + pmod(trip_id, 5) as int), cast(3 + pmod(trip_id * 40503, 4700) / 100.0 as decimal(8,2)) {tip}
        from (select id + {first} as trip_id from range(0, {per * months}, 1, 1)) order by pickup""")
n = 0
for _ in range(5):  # 60 files
    rows(n, 12, 1000, ""); n += 12000
q(f"delete from {T} where region = 'north' and pickup >= timestamp'2025-03-01' and pickup < timestamp'2025-04-01' and trip_id < 6000")
q(f"alter table {T} add column tip decimal(8,2)")
rows(n, 10, 1000, ", cast(pmod(trip_id, 500) / 100.0 as decimal(8,2))"); n += 10000  # 10 files
q(f"alter table {T} set tblproperties ('format-version'='3')")
q(f"delete from {T} where pmod(trip_id, 7) = 3 and pickup >= timestamp'2025-07-01' and pickup < timestamp'2025-08-01' and trip_id >= 60000")
for r in q(f"select region, count(*), sum(fare), sum(tip) from {T} group by region order by region").collect(): print(r)
