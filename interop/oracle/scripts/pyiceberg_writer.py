"""Writes whole tables with PyIceberg, for the oracle. stdin: one JSON request a line {"dir", "steps": [...]}; stdout: a JSON line {"bytes"} and so many bytes of
an Arrow stream without rows whose schema metadata has the location of the table's metadata, or {"error"}."""
import io, json, os, sys, warnings

warnings.filterwarnings("ignore")
out = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
import pyarrow as pa, pyarrow.parquet as pq
from pyiceberg import transforms
from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.expressions import In
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import CommitTableResponse, Table


class Files(NoopCatalog, MetastoreCatalog):
    """A catalog of one table, which knows no more than where its newest metadata is."""

    def create(self, schema, spec, location, version):
        staged = self._create_staged_table(("oracle", "t"), schema, location, spec, properties={"format-version": str(version)})
        self._write_metadata(staged.metadata, staged.io, staged.metadata_location)
        return self.at(staged)

    def at(self, staged):
        self.table = Table(("oracle", "t"), staged.metadata, staged.metadata_location, staged.io, self)
        return self.table

    def load_table(self, identifier): return self.table

    def commit_table(self, table, requirements, updates):
        staged = self._update_and_stage_table(self.table, ("oracle", "t"), requirements, updates)
        if self.table.metadata != staged.metadata:
            self._write_metadata(staged.metadata, staged.io, staged.metadata_location)
            self.at(staged)
        return CommitTableResponse(metadata=self.table.metadata, metadata_location=self.table.metadata_location)


def write(req):
    catalog = Files("oracle", warehouse="file://" + req["dir"])
    t = None
    for s in req["steps"]:
        do = s["do"]
        if do == "create":
            schema = Schema.model_validate(s["schema"])
            fields = [PartitionField(schema.find_field(f["column"]).field_id, 1000 + i, transforms.parse_transform(f["transform"]), f["name"]) for i, f in enumerate(s["spec"])]
            t = catalog.create(schema, PartitionSpec(*fields), "file://" + req["dir"], s["version"])
        elif do == "append":
            rows = pq.ParquetFile(s["rows"]).read()
            t.append(rows)
        elif do == "delete": t.delete(In("id", s["ids"]))
        elif do == "add":
            f = Schema.model_validate(s["field"]).fields[0]
            with t.update_schema() as u: u.add_column((f.name,), f.field_type)
        elif do == "rename":
            with t.update_schema() as u: u.rename_column((s["from"],), s["to"])
        elif do == "drop":
            with t.update_schema() as u: u.delete_column((s["from"],))
        elif do == "partition":
            with t.update_spec() as u:
                for f in s["from"]: u.remove_field(f["name"])
                for f in s["to"]: u.add_field(f["column"], transforms.parse_transform(f["transform"]), f["name"])
        t = catalog.table
    return t.metadata_location


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
os._exit(0)
