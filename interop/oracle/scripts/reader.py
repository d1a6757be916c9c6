"""Reads tables for the oracle with DuckDB's Iceberg extension and with PyIceberg, and writes tables with PyIceberg; one process serves many tables.
stdin: one JSON request a line {"op", "metadata", "queries": [...]}; stdout: for each query a JSON line {"bytes"} and so many bytes of an Arrow stream, or {"error"}.
A query of op duckdb is a SQL condition ("" = none), one of op pyiceberg a tree [op, column, type, literals] or null."""
import datetime, decimal, importlib.util, io, json, os, pathlib, struct, sys, uuid, warnings

warnings.filterwarnings("ignore")
out = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # whatever a library prints goes to stderr
import duckdb, pyarrow as pa

pa.set_cpu_count(1)

def connect():
    con = duckdb.connect(config={"threads": 1, "autoinstall_known_extensions": False, "autoload_known_extensions": False})
    for e in ("httpfs", "avro", "iceberg"):
        folder = pathlib.Path(importlib.util.find_spec(f"duckdb_extension_{e}").origin).parent / "extensions" / f"v{duckdb.__version__}"
        con.load_extension(str(folder / f"{e}.duckdb_extension"))
    con.execute("set timezone='UTC'")
    return con


con = connect()

from pyiceberg import expressions as E
from pyiceberg.expressions import literals as L
from pyiceberg.table import StaticTable
import pyiceberg


def literal(typ, v):
    kind = typ.split("(")[0].split("[")[0]
    if kind == "boolean": return L.BooleanLiteral(v)
    if kind in ("int", "long"): return L.LongLiteral(int(v))
    if kind == "float": return L.FloatLiteral(float(v))
    if kind == "double": return L.DoubleLiteral(float(v))
    if kind == "decimal": return L.DecimalLiteral(decimal.Decimal(v))
    if kind == "date": return L.DateLiteral(int(v))
    if kind == "time": return L.TimeLiteral(int(v))
    if kind in ("timestamp", "timestamptz"): return L.TimestampLiteral(int(v))
    if kind in ("timestamp_ns", "timestamptz_ns"): return L.TimestampNanoLiteral(int(v)) if hasattr(L, "TimestampNanoLiteral") else L.LongLiteral(int(v))
    if kind == "string": return L.StringLiteral(v)
    if kind == "uuid": return L.UUIDLiteral(bytes.fromhex(v))
    if kind == "fixed": return L.FixedLiteral(bytes.fromhex(v))
    return L.BinaryLiteral(bytes.fromhex(v))


def expression(t):
    if t is None: return E.AlwaysTrue()
    op = t[0]
    if op == "and": return E.And(*map(expression, t[1:]))
    if op == "or": return E.Or(*map(expression, t[1:]))
    if op == "not": return E.Not(expression(t[1]))
    _, name, typ, lits = t
    col, lits = E.Reference(name), [literal(typ, v) for v in lits]
    if op == "between": return E.And(E.GreaterThanOrEqual(col, lits[0]), E.LessThanOrEqual(col, lits[1]))
    if op in ("in", "not in"): return (E.In if op == "in" else E.NotIn)(col, set(lits))
    if op in ("is null", "is not null", "is nan"): return {"is null": E.IsNull, "is not null": E.NotNull, "is nan": E.IsNaN}[op](col)
    cls = {"=": E.EqualTo, "<>": E.NotEqualTo, "<": E.LessThan, "<=": E.LessThanOrEqual, ">": E.GreaterThan, ">=": E.GreaterThanOrEqual, "prefix": E.StartsWith, "not prefix": E.NotStartsWith}[op]
    return cls(col, lits[0])


def answer(table):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as w: w.write_table(table)
    body = sink.getbuffer()
    out.write(json.dumps({"bytes": len(body)}).encode() + b"\n")
    out.write(body)


def fail(e):
    out.write(json.dumps({"error": f"{type(e).__name__}: {str(e)[:600]}"}).encode() + b"\n")


def read_duckdb(req):
    global con
    source = "iceberg_scan('" + req["metadata"].replace("'", "''") + "'" + (f", snapshot_from_id={req['snapshot']}" if req["snapshot"] else "") + ")"
    for where in req["queries"]:
        try: answer(con.execute(f"select * from {source}" + (f" where {where}" if where else "")).to_arrow_table())
        except BaseException as e:
            fail(e)
            if isinstance(e, (duckdb.FatalException, duckdb.InternalException)): con = connect()  # an internal error closes the database for good
        out.flush()


def read_pyiceberg(req):
    try: table, fault = StaticTable.from_metadata(req["metadata"]), None
    except BaseException as e: table, fault = None, e
    for tree in req["queries"]:
        try:
            if fault: raise fault
            answer(table.scan(row_filter=expression(tree), snapshot_id=req["snapshot"] or None).to_arrow())
        except BaseException as e: fail(e)


def versions(req):
    answer(pa.table({"reader": ["duckdb", "pyiceberg", "pyarrow"], "version": [duckdb.__version__, pyiceberg.__version__, pa.__version__]}))


ops = {"duckdb": read_duckdb, "pyiceberg": read_pyiceberg, "versions": versions}
for line in sys.stdin:
    req = json.loads(line)
    ops[req["op"]](req)
    out.flush()
os._exit(0)
