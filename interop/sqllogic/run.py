"""SQL logic tests of duckdb-iceberg that only read the tables of its repository, by lakescan. usage: run.py REPO [--only TEXT] [-v]
REPO is a checkout of github.com/duckdb/duckdb-iceberg, or its git directory; nothing of it is kept here. iceberg_scan('FOLDER') becomes the newest
metadata document of the folder, opened where it lies now; snapshot_from_id becomes AT (VERSION => id). A test counts as passed if all of its records
that apply pass; a record that does not apply is counted by its reason. Exit 1 if any record fails. env: LAKESCAN (program)"""
import argparse, collections, glob, hashlib, json, os, pathlib, re, subprocess, sys, tempfile

ap = argparse.ArgumentParser()
ap.add_argument("repo", type=pathlib.Path); ap.add_argument("--only", default=""); ap.add_argument("-v", action="store_true", help="each failure in full, each reason")
A = ap.parse_args()
LAKESCAN = os.environ.get("LAKESCAN", str((pathlib.Path(__file__).parent / "../../bin/lakescan").resolve()))
# Where lakescan means to differ, by file: (words of the statement, why).
KNOWN = {
    "column_mapping_delete.test": ("a is null and b is null", "a required column that a file has under no name is an error, not NULL"),
    "case_sensitive_names.test": ("", "columns whose names differ by case: lakescan adds their place in the schema, DuckDB _1"),
    "legacy_bare_deletion_vector.test": ("statement error", "a deletion vector without a Puffin file around it is read by its recorded offset; DuckDB wants a setting for that"),
    "timestamptz_ns_type.test": ("describe", "a type of a later DuckDB than the linked one"),
}
SCAN = re.compile(r"iceberg_scan\s*\(((?:[^()']|'[^']*')*)\)", re.I)

class NotApplicable(Exception): pass

def records(text):
    """(line, kind, words, sql, expected) of every record; expected is None where none is given."""
    lines, i = text.splitlines(), 0
    while i < len(lines):
        words = lines[i].split()
        if not words or words[0].startswith("#"):
            i += 1
            continue
        at, i, sql, want = i + 1, i + 1, [], None
        if words[0] in ("statement", "query"):
            while i < len(lines) and lines[i].strip() and lines[i].strip() != "----":
                sql.append(lines[i]); i += 1
            if i < len(lines) and lines[i].strip() == "----":
                want, i = [], i + 1
                while i < len(lines) and lines[i].strip():
                    want.append(lines[i]); i += 1
        yield at, words[0], words[1:], "\n".join(sql), want

def version_of(doc):
    """Files are named vN or N-uuid."""
    m = re.match(r"v?(\d+)", pathlib.Path(doc).name)
    return int(m[1]) if m else -1

def document(folder, options):
    """The metadata document that the options choose, by the rules of the tests' own reader."""
    unknown = set(options) - {"allow_moved_paths", "snapshot_from_id", "snapshot_from_timestamp", "version"}
    if unknown: raise NotApplicable("option of another reader: " + ", ".join(sorted(unknown)))
    if str(folder).endswith(".metadata.json"): return folder
    if "://" in str(folder): raise NotApplicable("data outside of the repository")
    docs = glob.glob(f"{folder}/metadata/*.metadata.json")
    if not docs: raise NotApplicable("data that is not in the repository" if "generated" in str(folder) or not folder.exists() else "no uncompressed metadata document")
    hint, want = folder / "metadata/version-hint.text", options.get("version", "")
    if not want and hint.exists(): want = hint.read_text().strip()
    if want and want != "?":
        docs = [d for d in docs if pathlib.Path(d).name in (f"v{want}.metadata.json", f"{want}.metadata.json")]
        if not docs: raise NotApplicable("the option names a version that is not there")
    elif not want: raise NotApplicable("no version hint, and the test wants that refused")
    return pathlib.Path(max(docs, key=version_of))

def mapped(sql, root, views):
    """The text for lakescan, and its --map-location arguments."""
    for name, body in views.items():
        sql = re.sub(rf"(?<![\w.])(?:\w+\.)*{re.escape(name)}(?![\w.(])", lambda _: f"({body})", sql)
    moves = {}
    def scan(m):
        args = re.findall(r"\s*(?:(\w+)\s*:?=>?\s*)?('[^']*'|[^,\s]+)", m[1])
        path = args[0][1].strip().strip("'")
        options = {k.lower(): v.strip().strip("'\"") for k, v in args[1:]}
        doc = document(root / path, options)
        location = json.loads(doc.read_text())["location"].rstrip("/")
        moves[location] = doc.parent.parent
        at = f" AT (VERSION => {options['snapshot_from_id']})" if "snapshot_from_id" in options else ""
        if "snapshot_from_timestamp" in options: raise NotApplicable("a time that DuckDB casts itself")
        alias = re.match(r"\s*(?:as\s+)?(?!where|group|order|limit|on|join|inner|left|union|using|cross|semi|anti|full|right|having|qualify|natural)\w", sql[m.end():], re.I)
        if at and alias: raise NotApplicable("a version and an alias")
        return f"'{doc}'" + ("" if alias else " AS iceberg_scan") + at
    out = SCAN.sub(scan, sql)
    if re.search(r"\biceberg_\w+\s*\(", out, re.I): raise NotApplicable("metadata functions (lakescan snapshots, files, manifests …)")
    return out, [x for k, v in moves.items() for x in ("--map-location", f"{k}={v}")]

def ask(sql, maps):
    return subprocess.run([LAKESCAN, "query", "-c", sql, "-o", "ndjson", "--timeout", "60s", *maps], capture_output=True, text=True, cwd=tempfile.gettempdir(), env={k: v for k, v in os.environ.items() if k == "PATH"} | {"HOME": "/nonexistent"})

def cell(v): return "NULL" if v is None else "(empty)" if v == "" else str(v)

def same(got, want):
    if want.startswith("<REGEX>:"): return re.fullmatch(want[8:], got, re.S) is not None
    if want.startswith("<!REGEX>:"): return re.fullmatch(want[9:], got, re.S) is None
    if got == want or {got, want} in ({"true", "1"}, {"false", "0"}): return True
    try: return "." in got + want and abs(float(got) - float(want)) <= 1e-6 * max(abs(float(got)), abs(float(want)))  # DuckDB's own runner allows 1 %
    except ValueError: return False

def check_rows(words, sql, want, maps):
    p = ask(f"SELECT COLUMNS(*)::VARCHAR FROM ({sql.rstrip().rstrip(';')}\n)", maps)
    if p.returncode: return p.stderr.strip()
    rows = [[cell(v) for _, v in json.loads(line, object_pairs_hook=list)] for line in p.stdout.splitlines()]
    mode, want = (words[1] if len(words) > 1 else "nosort"), want or []
    if mode == "rowsort": rows.sort()
    values = sorted(v for r in rows for v in r) if mode == "valuesort" else [v for r in rows for v in r]
    if len(want) == 1 and (m := re.match(r"(\d+) values hashing to (\w+)", want[0])):
        return None if (len(values), hashlib.md5("".join(v + "\n" for v in values).encode()).hexdigest()) == (int(m[1]), m[2]) else "another hash"
    columns = len(words[0])
    flat = [c for line in want for c in line.split("\t")] if columns > 1 and not len(want) == len(values) else want
    if mode == "rowsort" and len(flat) == len(want): flat = [c for r in sorted([flat[i:i + columns] for i in range(0, len(flat), columns)]) for c in r]
    elif mode == "rowsort": flat = [c for r in sorted(line.split("\t") for line in want) for c in r]
    elif mode == "valuesort": flat.sort()
    if len(flat) == len(values) and all(map(same, values, flat)): return None
    return f"rows differ: {values[:12]} not {flat[:12]}"

REFUSED = re.compile(r"^\s*(set|reset|pragma|attach|use|load|install|call|create|insert|update|delete|drop|alter|copy|begin|commit|rollback|explain|detach|truncate|merge)\b", re.I)

def record(kind, words, sql, want, root, views, state):
    """None = passes, text = what is wrong."""
    sql = re.sub(r"(\{WORKING_DIRECTORY\}|__WORKING_DIRECTORY__)/?", "", sql)
    view = re.match(r"\s*create\s+(?:or\s+replace\s+)?view\s+([\w.]+)\s+as\s+(.*?);?\s*$", sql, re.I | re.S)
    if view:
        mapped(view[2], root, views)
        views[view[1].split(".")[-1]] = view[2]
        return None
    if zone := re.match(r"\s*set\s+timezone\s*=\s*'([^']+)'", sql, re.I):
        state["zone"] = zone[1]
        return None
    if made := re.match(r"\s*create\s+.*?table\s+(?:\w+\.)*(\w+)", sql, re.I): state["made"].add(made[1])
    if REFUSED.match(sql): raise NotApplicable("a statement that is no SELECT (settings, DDL, EXPLAIN)")
    if any(re.search(rf"\b{t}\b", sql) for t in state["made"]): raise NotApplicable("a table that an earlier statement makes")
    if re.search(r"\bfilename\b", sql): raise NotApplicable("DuckDB's column filename")
    if "duckdb_logs" in sql: raise NotApplicable("log of another engine")
    sql, maps = mapped(sql, root, views)
    if not maps: raise NotApplicable("reads no table of the repository")
    maps += ["--tz", state["zone"]]
    if kind == "query": return check_rows(words, sql, want, maps)
    p = ask(sql, maps)
    if words[:1] == ["ok"]: return p.stderr.strip() if p.returncode else None
    return None if p.returncode else "an error was expected"

def run(path, root, why):
    """(passed, failures) of one file."""
    passed, failures, views, gone, state = 0, [], {}, False, {"zone": "UTC", "made": set()}
    for at, kind, words, sql, want in records(path.read_text()):
        if kind in ("require-env", "mode", "foreach", "loop") and not gone:
            gone = {"require-env": "needs " + (words[0] if words else ""), "mode": "mode skip", "foreach": "loops", "loop": "loops"}[kind]
            if kind == "mode" and words[:1] != ["skip"]: gone = False
        if kind == "mode" and words[:1] == ["unskip"]: gone = False
        if kind not in ("statement", "query"): continue
        try:
            if gone: raise NotApplicable(gone)
            fault = record(kind, words, sql, want, root, views, state)
            text, reason = KNOWN.get(path.name, ("", ""))
            if fault is not None and reason and text in f"{kind} {words[0]} {sql}".lower(): raise NotApplicable(reason)
        except NotApplicable as e:
            why[str(e)] += 1
            continue
        if fault is None: passed += not re.match(r"\s*(create|set)\b", sql, re.I)
        else: failures.append((at, sql, fault))
    return passed, failures

def main():
    with tempfile.TemporaryDirectory() as tmp:
        root = A.repo.resolve()
        if not (root / "test").exists():
            subprocess.run(f"git --git-dir='{root}' archive HEAD test data | tar x -C {tmp}", shell=True, check=True)
            root = pathlib.Path(tmp)
        every = sorted(p for p in root.glob("test/**/*.test*") if A.only in str(p))
        tests = [p for p in every if "data/persistent" in p.read_text()]
        print(f"{len(every)} tests, {len(tests)} read tables of the repository; the others need a catalog, Spark's generated data or a cloud")
        total, passed, failed, bad, ran = collections.Counter(), 0, 0, 0, 0
        for path in tests:
            why = collections.Counter()
            ok, failures = run(path, root, why)
            total += why; passed += ok; failed += len(failures); bad += bool(failures); ran += bool(ok or failures)
            verdict = "FAIL" if failures else "pass" if ok else "n/a "
            print(f"{verdict} {ok:3} of {ok + len(failures):3}  {path.relative_to(root)}" + ("" if ok or failures or not why else "   " + "; ".join(why)), flush=True)
            for at, sql, fault in failures: print(f"       line {at}: {fault if A.v else fault.splitlines()[0][:200]}" + (f"\n{sql}" if A.v else ""))
        for reason, n in total.most_common(): print(f"  {n:4} records do not apply: {reason}")
        print(f"tests passed: {ran - bad} of {ran} that apply; records passed: {passed} of {passed + failed}")
        sys.exit(bool(failed))

main()
