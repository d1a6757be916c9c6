"""A child of planbench: one task for PyIceberg, JSON in, JSON out. Time and CPU start after the imports."""
import json, resource, sys, time

import pyarrow.compute as pc
import pyiceberg.io.pyarrow  # imported late by the library itself
from pyiceberg.expressions import AlwaysTrue, LessThan
from pyiceberg.table import StaticTable

t = json.loads(sys.argv[1])


def cpu():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


StaticTable.from_metadata(t["Location"]).io.new_input(t["Location"]).open().close()  # what is paid once a process
r = dict(Wall=0.0, First=0.0, CPU=0.0, Count=0, Sum=0, Alloc=0, Live=0, RSS=0.0, BodyLen=0)
start, spent = time.monotonic(), cpu()
table = StaticTable.from_metadata(t["Location"])
if t["Kind"] == "metadata":
    r["Count"] = len(table.metadata.snapshots)
    r["Sum"] = int((cpu() - spent) * 1e6)
elif t["Kind"] == "plan":
    rows = LessThan("c1", t["Below"]) if t["Below"] else AlwaysTrue()
    for task in table.scan(row_filter=rows).plan_files():
        if not r["Count"]:
            r["First"] = time.monotonic() - start
        r["Count"] += 1
else:
    for batch in table.scan(selected_fields=("id",)).to_arrow_batch_reader():
        if not r["Count"]:
            r["First"] = time.monotonic() - start
        r["Count"] += batch.num_rows
        r["Sum"] += pc.sum(batch["id"]).as_py() or 0
r["Wall"], r["CPU"] = time.monotonic() - start, cpu() - spent
r["RSS"] = int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 1024
print(json.dumps(r))
