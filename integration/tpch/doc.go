// Package tpch asks the 22 TPC-H queries of tables that PyIceberg wrote, and compares rows and cost with other engines over the same data
// files. load.py makes the tables, run.py asks; the test runs both against the servers of internal/rig.
package tpch
