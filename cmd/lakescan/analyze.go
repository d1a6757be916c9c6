package main

import (
	"fmt"
	"strings"

	"github.com/lakescan/lakescan/config"
	"github.com/lakescan/lakescan/query/render"
	"github.com/lakescan/lakescan/source"
)

// ranLines are what --explain=analyze adds to a block.
func ranLines(b scanBlock) (lines [][2]string) {
	st, ok := b.Ran.(*source.Stats)
	if !ok {
		return nil
	}
	add := func(name, format string, args ...any) {
		lines = append(lines, [2]string{name, fmt.Sprintf(format, args...)})
	}
	add("rows", "%s in %s", render.Thousands(b.Rows), seconds(st.Wall.Milliseconds()))
	add("groups", "%s of %s row groups read", render.Thousands(st.RowGroups-st.Pruned), render.Thousands(st.RowGroups))
	add("requests", "%s, %s, %s between ranges; footer tails %d hit, %d short", render.Thousands(st.Requests), config.HumanSize(st.Bytes),
		config.HumanSize(st.OverReadBytes), st.TailHits, st.TailMiss)
	add("waits", "%s for bytes, %s for decoding", seconds(st.FetchWait.Milliseconds()), seconds(st.DecodeWait.Milliseconds()))
	add("prefetch", "%d used, %d unused, %d cancelled", st.Used, st.Unused, st.Cancelled)
	if len(st.DepthLog) > 0 {
		add("depth", "%s  most %d", spark(st.DepthLog), st.DepthMax)
	}
	if st.Floor > 0 && st.Wall > 0 {
		add("eta", "%.2f (floor %s)", float64(st.Floor)/float64(st.Wall), seconds(st.Floor.Milliseconds()))
	}
	return lines
}

// spark draws the depth over its changes, a bar each, at most 40.
func spark(log []source.DepthChange) string {
	const bars = "▁▂▃▄▅▆▇█"
	top := 1
	for _, c := range log {
		top = max(top, c.Depth)
	}
	step := (len(log) + 39) / 40
	var b strings.Builder
	for i := 0; i < len(log); i += step {
		b.WriteRune([]rune(bars)[min(7, max(0, log[i].Depth)*7/top)])
	}
	return b.String()
}
