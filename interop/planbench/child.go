package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// task is what a child process does, as JSON in its argument: one engine, one measurement, one process.
type task struct {
	Engine   string // lakescan | iceberg-go | pyiceberg
	Kind     string // plan | metadata | scan | limit
	Location string // of the metadata file, or a table's name if URI is set
	Below    int64  // plan: keep the files that may hold c1 < Below; 0 = all
	Metered  bool   // plan: bounds and counts of ten columns as well
	Heap     bool   // plan: collect garbage now and then and look at what lives (spoils CPU)
	NoCache  bool   // plan: keep no manifests in memory
	Limit    int64  // limit: rows
	Filtered bool   // limit: with a filter that every row passes, which the planner cannot know
	URI      string // of a REST catalog
	Endpoint string // of an S3
}

// result is a child's answer.
type result struct {
	Wall    float64 // s, from before the catalog is opened to the end
	First   float64 // s until the first task
	CPU     float64 // s of user and system time in that span
	Count   int64   // tasks, rows or snapshots
	Sum     int64   // of the ids, for scans
	Alloc   uint64  // bytes allocated
	Live    uint64  // bytes of heap after a collection, above the start, at most
	RSS     float64 // MB, peak of the process
	BodyLen int64   // metadata: bytes of the document
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// peakRSS is in MB, of this program alone: what getrusage tells begins with the size of the process that started it.
func peakRSS() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kB, _ := strconv.ParseFloat(strings.Fields(rest + " 0")[0], 64)
	return kB / 1024
}

// liveHeap is what a collection leaves.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC() // what finalizers and weak pointers held goes in the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// child runs a task and prints its result.
func child(text string) error {
	var t task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return err
	}
	run := map[string]func(task, *result) error{
		"lakescan plan": lakescanPlan, "lakescan metadata": lakescanMetadata, "lakescan scan": lakescanScan, "lakescan limit": lakescanScan,
		"iceberg-go plan": icebergGoPlan, "iceberg-go metadata": icebergGoMetadata, "iceberg-go scan": icebergGoScan,
	}[t.Engine+" "+t.Kind]
	if run == nil {
		return fmt.Errorf("no such task: %s %s", t.Engine, t.Kind)
	}
	var r result
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	cpu := cpuSeconds()
	start := time.Now()
	if err := run(t, &r); err != nil {
		return err
	}
	r.Wall = time.Since(start).Seconds()
	r.CPU, r.RSS = cpuSeconds()-cpu, peakRSS()
	runtime.ReadMemStats(&after)
	r.Alloc = after.TotalAlloc - before.TotalAlloc
	return json.NewEncoder(os.Stdout).Encode(r)
}
