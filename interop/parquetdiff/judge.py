"""The other readers and one of the writers, as one process: a request a line on stdin (JSON), an answer a line on stdout.

  {"op": "write", "seed": n, "path": p}  PyArrow writes a random table; answers {"about": text}
  {"op": "read", "path": p, "out": q}    PyArrow and DuckDB read it; answers {"pyarrow": {column: error}, "duckdb": {column: error}}, and what
                                         could be read lies in q.pyarrow and q.duckdb as Arrow streams, as each reader gave it

Equal seeds give equal files.
"""
import datetime as dt, decimal, json, math, random, sys, uuid
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

decimal.getcontext().prec = 80
con = duckdb.connect(config={"threads": 1, "autoinstall_known_extensions": False, "autoload_known_extensions": False})
con.execute("set timezone='UTC'")

TEXT = ["", "a", "b", "lake", "\0", "\"quoted\" \\ and\ttab", "é", "日本語", "\U0001f600", "x" * 70, "prefix-1", "prefix-2", "prefix-10"]
FLOATS = [0.0, -0.0, 1.5, -2.25, math.nan, math.inf, -math.inf, 1e-45, 3.4e38]


def whole(bits, signed):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    def value(r):
        k = r.randrange(8)
        return low if k == 0 else high if k == 1 else max(low, min(high, r.randrange(-5, 40))) if k < 6 else r.randint(low, high)
    return value


def number(r): return r.choice(FLOATS) if r.randrange(2) else r.uniform(-1e6, 1e6)
def text(r): return r.choice(TEXT) if r.randrange(3) else "".join(r.choice("abcdefgh é") for _ in range(r.randrange(60)))
def octets(n=None): return lambda r: r.choice([b"\0", b"\xff", b"q"]) * (n or r.randrange(9)) if r.randrange(3) == 0 else r.randbytes(r.randrange(40) if n is None else n)
def units(low, high): return lambda r: r.choice([low, high, 0, -1 if low < 0 else 1]) if r.randrange(4) == 0 else r.randint(low, high)


def decimals(p):
    def value(r, s):
        top = 10 ** p - 1
        n = r.choice([0, top, -top, 1, -1]) if r.randrange(4) == 0 else r.randint(-top, top) if r.randrange(2) else r.randint(-99, min(top, 99))
        return decimal.Decimal(n).scaleb(-s)
    return value


def leaf(r, deep):
    """A type, and what draws a value of it."""
    k = r.randrange(22)
    if k < 8:
        bits, signed = [8, 16, 32, 64][k % 4], k < 4
        return [pa.int8, pa.int16, pa.int32, pa.int64, pa.uint8, pa.uint16, pa.uint32, pa.uint64][k](), whole(bits, signed)
    if k == 8: return pa.bool_(), lambda r: r.randrange(3) == 0
    if k == 9: return pa.float32(), number
    if k == 10: return pa.float64(), number
    if k == 11: return pa.float16(), lambda r: r.choice([0.0, -0.0, 1.5, math.nan, math.inf, -65504.0, 6e-8]) if r.randrange(2) else r.randrange(-2048, 2048)
    if k in (12, 13): return r.choice([pa.string(), pa.large_string()]), text
    if k == 14: return r.choice([pa.binary(), pa.large_binary()]), octets()
    if k == 15:
        n = r.choice([1, 4, 7, 16, 20])
        return pa.binary(n), octets(n)
    if k == 16: return pa.date32(), units(-719162, 2932896)  # years 1 to 9999
    if k == 17:
        u, top = r.choice([("ms", 86399999), ("us", 86399999999), ("ns", 86399999999999)])
        return (pa.time32 if u == "ms" else pa.time64)(u), units(0, top)
    if k in (18, 19):
        u, top = r.choice([("s", 9 * 10 ** 9), ("ms", 9 * 10 ** 12), ("us", 9 * 10 ** 15), ("ns", 9 * 10 ** 18)])  # INT96 may hold them, and PyArrow reads that as nanoseconds
        return pa.timestamp(u, r.choice([None, "UTC", "Europe/Paris"])), units(-top, top)
    if k == 20:
        p = r.choice([2, 4, 9, 10, 18, 19, 30, 38])
        s = r.randrange(p)
        draw = decimals(p)
        return pa.decimal128(p, s), lambda r: draw(r, s)
    if deep: return pa.int64(), whole(64, True)
    return r.choice([(pa.null(), lambda r: None), (pa.uuid(), lambda r: uuid.UUID(int=r.getrandbits(128)).bytes), (pa.dictionary(pa.int32(), pa.string()), text)])


def field(r, depth, deep=False):
    k = r.randrange(7) if depth > 0 else 0
    if k < 3: return leaf(r, deep)
    if k == 3 or k == 4:
        t, draw = field(r, depth - 1, True)
        some = maybe(draw, r.choice([0, 3, 10]))
        of = r.choice([pa.list_, pa.list_, pa.large_list])
        return of(pa.field("element", t)), lambda r: [some(r) for _ in range(r.choice([0, 0, 1, 2, 3, 9]))]
    if k == 5:
        parts = [(f"m{i}", *field(r, depth - 1, True), r.choice([0, 3, 10])) for i in range(1 + r.randrange(3))]
        draws = [(n, maybe(d, z)) for n, _, d, z in parts]
        return pa.struct([pa.field(n, t, z > 0) for n, t, _, z in parts]), lambda r: {n: d(r) for n, d in draws}
    kt, kd = r.choice([(pa.string(), text), (pa.int32(), whole(32, True)), (pa.int64(), whole(64, True))])
    t, draw = field(r, depth - 1, True)
    some = maybe(draw, r.choice([0, 3]))
    return pa.map_(kt, t), lambda r: list({kd(r): some(r) for _ in range(r.choice([0, 1, 2, 4]))}.items())


def maybe(draw, nulls): return draw if not nulls else lambda r: None if r.randrange(nulls) == 0 else draw(r)


def values(r, draw, nulls, rows, nullable):
    pattern = r.randrange(5) if nullable else 0
    pool = [draw(r) for _ in range(r.choice([1, 3, 40]))]
    few, start = r.randrange(2), r.randrange(rows + 1)
    def one(i):
        if pattern and (pattern == 1 and i % 7 == 0 or pattern == 2 and r.randrange(2) or pattern == 3 and i < start or pattern == 4 and r.randrange(50)): return None
        return r.choice(pool) if few else draw(r)
    return [one(i) for i in range(rows)]


def build(t, vs):
    if pa.types.is_float16(t):
        import numpy as np
        return pa.array([None if v is None else np.float16(v) for v in vs], t)
    if isinstance(t, pa.ExtensionType): return pa.ExtensionArray.from_storage(t, pa.array(vs, t.storage_type))
    return pa.array(vs, t)


def plain(t):
    """PyArrow makes float16 from numpy alone: inside other types it is float32."""
    if pa.types.is_float16(t): return pa.float32()
    if pa.types.is_struct(t): return pa.struct([f.with_type(plain(f.type)) for f in t])
    if pa.types.is_map(t): return pa.map_(t.key_type, plain(t.item_type))
    if pa.types.is_large_list(t): return pa.large_list(t.value_field.with_type(plain(t.value_type)))
    if pa.types.is_list(t): return pa.list_(t.value_field.with_type(plain(t.value_type)))
    return t


def layout(r, schema, rows):
    o = {"row_group_size": r.choice([rows + 1, max(1, rows // 3), 64]), "data_page_version": r.choice(["1.0", "2.0"]), "data_page_size": r.choice([32, 200, 2000, 1 << 20]),
         "write_batch_size": r.choice([1, 7, 50, 1024]), "write_page_index": r.randrange(2) == 0, "write_page_checksum": r.randrange(2) == 0, "write_statistics": r.randrange(8) != 0,
         "store_schema": r.randrange(3) == 0, "store_decimal_as_integer": r.randrange(2) == 0, "version": "2.6", "dictionary_pagesize_limit": r.choice([50, 1 << 20])}
    codecs = ["NONE", "SNAPPY", "GZIP", "BROTLI", "LZ4", "ZSTD"]
    o["compression"] = {f.name: r.choice(codecs) for f in schema} if r.randrange(3) == 0 and all(not pa.types.is_nested(f.type) for f in schema) else r.choice(codecs)
    flat = [f.name for f in schema if not (pa.types.is_nested(f.type) or pa.types.is_boolean(f.type) or pa.types.is_null(f.type))]
    if flat and r.randrange(3) == 0: o["bloom_filter_options"] = {n: {"ndv": r.choice([1, 100, 2000]), "fpp": 0.05} for n in flat if r.randrange(2)}
    if r.randrange(6) == 0: o["use_deprecated_int96_timestamps"] = True
    if r.randrange(2): return o
    o["use_dictionary"] = False
    encoding = {}
    for f in schema:
        t = f.type
        if pa.types.is_integer(t) or pa.types.is_date32(t) or pa.types.is_time(t): e = ["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"]
        elif pa.types.is_float32(t) or pa.types.is_float64(t) or pa.types.is_float16(t): e = ["PLAIN", "BYTE_STREAM_SPLIT"]
        elif pa.types.is_fixed_size_binary(t): e = ["PLAIN", "BYTE_STREAM_SPLIT", "DELTA_BYTE_ARRAY"]
        elif pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_binary(t) or pa.types.is_large_binary(t): e = ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]
        elif pa.types.is_boolean(t): e = ["PLAIN", "RLE"]
        else: continue
        encoding[f.name] = r.choice(e)
    if encoding: o["column_encoding"] = encoding
    return o


def write(seed, path):
    r = random.Random(seed)
    rows, nested = r.choice([0, 1, 9, 64, 300, 1200]), r.randrange(2) == 0
    fields, columns = [], []
    for i in range(1 + r.randrange(6)):
        t, draw = field(r, r.randrange(1, 4) if nested else 0)
        if pa.types.is_nested(t): t = plain(t)
        nullable = r.randrange(4) != 0 or pa.types.is_null(t)
        fields.append(pa.field(f"c{i}", t, nullable))
        columns.append(build(t, values(r, draw, 0, rows, nullable)))
    schema = pa.schema(fields)
    o = layout(r, schema, rows)
    about = f"{rows} rows, {schema.to_string(show_field_metadata=False)!r}, {o}"
    pq.write_table(pa.Table.from_arrays(columns, schema=schema), path, **o)
    return {"about": about}


def save(table, path):
    with pa.ipc.new_stream(path, table.schema) as out: out.write_table(table)


def attempt(read, names, path):
    """All columns at once; if that fails, those that can be read one by one, and why the others cannot."""
    refused = {}
    try: table = read(names)
    except Exception:
        columns = []
        for n in names:
            try: columns.append((n, read([n]).column(0)))
            except Exception as e: refused[n] = f"{type(e).__name__}: {e}"
        table = pa.table(dict(columns))
    save(table, path)
    return refused


def with_duckdb(names, path):
    return con.execute("select {} from read_parquet(?)".format(", ".join(f'"{n}"' for n in names)), [path]).to_arrow_table()


def read(path, out):
    file = pq.ParquetFile(path)
    names = file.schema_arrow.names
    return {"pyarrow": attempt(lambda some: file.read(some), names, out + ".pyarrow"), "duckdb": attempt(lambda some: with_duckdb(some, path), names, out + ".duckdb")}


for line in sys.stdin:
    q = json.loads(line)
    try: a = write(q["seed"], q["path"]) if q["op"] == "write" else read(q["path"], q["out"])
    except Exception as e: a = {"error": f"{type(e).__name__}: {e}"}
    print(json.dumps(a), flush=True)
