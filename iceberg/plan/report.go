package plan

import (
	"sync"

	"github.com/lakescan/lakescan/iceberg/manifest"
	"github.com/lakescan/lakescan/source"
)

// Reason why a manifest or a file is not read.
type Reason uint8

// Reasons. A manifest is skipped by its counts of live files, by its partition summaries, or, one of deletes, since no data
// is left that it could be for; a file is pruned by its partition or by its metrics.
const (
	ByCounts Reason = iota
	ByPartition
	ByNoData
	ByMetrics
	numReasons
)

// String is the reason in a word.
func (r Reason) String() string {
	return [...]string{"no live files", "partition", "no data left", "metrics"}[r]
}

// Counts are the figures of one plan. Files are live entries.
type Counts struct {
	Manifests        int // in the snapshot
	DeleteManifests  int // of which of deletes
	ManifestsRead    int
	ManifestsCached  int // of which from memory
	ManifestBytes    int64
	ManifestsSkipped [numReasons]int
	DataFiles        int // seen in the manifests read
	DataRows         int64
	FilesPruned      [numReasons]int
	RowsPruned       [numReasons]int64
	VectorFiles      int // deletion vectors and other delete files seen
	PositionFiles    int
	EqualityFiles    int
	Tasks            int
	TaskRows         int64
	TaskBytes        int64 // sizes of the tasks' files, as far as known
	TasksFiltered    int   // tasks with a row filter left
	TasksWithDeletes int
	Waits            int  // times that a manifest was not there when it was wanted
	Complete         bool // planning reached the end
}

// Report gathers the counts of one range over Tasks. It may be read at any time.
type Report struct {
	mu struct {
		sync.Mutex
		Counts
	}
}

// Counts so far.
func (r *Report) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.Counts
}

func (r *Report) add(f func(c *Counts)) {
	r.mu.Lock()
	f(&r.mu.Counts)
	r.mu.Unlock()
}

func (r *Report) manifest(f *manifest.File) {
	r.add(func(c *Counts) {
		c.Manifests++
		if f.Deletes {
			c.DeleteManifests++
		}
	})
}

func (r *Report) skipped(_ *manifest.File, why Reason) {
	r.add(func(c *Counts) { c.ManifestsSkipped[why]++ })
}

func (r *Report) fetched(bytes int, cached, waited bool) {
	r.add(func(c *Counts) {
		c.ManifestsRead++
		c.ManifestBytes += int64(bytes)
		if cached {
			c.ManifestsCached++
		}
		if waited {
			c.Waits++
		}
	})
}

func (r *Report) deleteFile(e *manifest.Entry) {
	r.add(func(c *Counts) {
		switch {
		case e.Content == manifest.EqualityDeletes:
			c.EqualityFiles++
		case e.Format == manifest.Puffin:
			c.VectorFiles++
		default:
			c.PositionFiles++
		}
	})
}

func (r *Report) pruned(e *manifest.Entry, why Reason) {
	r.add(func(c *Counts) {
		c.DataFiles++
		c.DataRows += e.Rows
		c.FilesPruned[why]++
		c.RowsPruned[why] += e.Rows
	})
}

func (r *Report) task(t *source.Task) {
	r.add(func(c *Counts) {
		c.DataFiles++
		c.DataRows += t.Rows
		c.Tasks++
		c.TaskRows += t.Rows
		c.TaskBytes += max(t.File.Size, 0)
		if t.Filter != nil {
			c.TasksFiltered++
		}
		if !t.Deletes.Empty() {
			c.TasksWithDeletes++
		}
	})
}

func (r *Report) complete() { r.add(func(c *Counts) { c.Complete = true }) }
