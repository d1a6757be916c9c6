// Package lab is the latency laboratory behind `lakescan bench`: it scans over links of chosen latency, jitter and bandwidth, at chosen
// look-ahead depths, and keeps every sample raw.
//
//	Matrix   what is varied, read from YAML, and its cells
//	Job      one scan of one cell; Do runs it, in a process of its own so that CPU and memory are that scan's alone
//	Stack    the store and the link before it: Served is ours, in a process of its own; Proxied is somebody's, behind a toxiproxy
//	Runner   interleaves the cells, appends samples to a folder, and goes on where it was broken off
//	Floor    the physical limit and the model that measurements are held against
//
// Reports are package lab/report; this one draws nothing. Nothing of the scan path imports it. A Runner belongs to one goroutine and
// runs one job at a time: two would share the processors and disturb each other.
package lab
