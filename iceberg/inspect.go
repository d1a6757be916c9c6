package iceberg

import (
	"context"
	"fmt"

	"github.com/lakescan/lakescan/iceberg/inspect"
	"github.com/lakescan/lakescan/iceberg/plan"
)

// MetadataTable names a view of a table's metadata.
type MetadataTable string

// Metadata tables. Snapshots, History and Refs need the metadata document alone; Manifests also the manifest list of the
// snapshot; Files and Partitions its manifests.
const (
	MetadataSnapshots  MetadataTable = "snapshots"
	MetadataHistory    MetadataTable = "history"
	MetadataRefs       MetadataTable = "refs"
	MetadataManifests  MetadataTable = "manifests"
	MetadataFiles      MetadataTable = "files"
	MetadataPartitions MetadataTable = "partitions"
)

// MetadataTables lists them.
var MetadataTables = []MetadataTable{MetadataSnapshots, MetadataHistory, MetadataRefs, MetadataManifests, MetadataFiles, MetadataPartitions}

// InspectSpec says of which snapshot, and how.
type InspectSpec struct {
	Version Version // ignored by snapshots, history and refs
	Limit   int64   // rows of files that are enough, so that no more manifests are read than they take; 0 = all
	Fetcher Fetcher // nil = inline on the table's store
}

// Inspect shows the table's metadata as Arrow batches, which are lent. Snapshots and history load all snapshots first, at
// most one request.
func (t *Table) Inspect(ctx context.Context, of MetadataTable, s InspectSpec) (*inspect.Result, error) {
	switch of {
	case MetadataSnapshots, MetadataHistory, MetadataRefs:
		full, err := t.WithAllSnapshots(ctx)
		if err != nil {
			return nil, err
		}
		switch of {
		case MetadataSnapshots:
			return inspect.Snapshots(full.meta), nil
		case MetadataHistory:
			return inspect.History(full.meta), nil
		}
		return inspect.Refs(full.meta), nil
	case MetadataManifests, MetadataFiles, MetadataPartitions:
	default:
		return nil, fmt.Errorf("iceberg: no metadata table %q: want one of %v", of, MetadataTables)
	}
	at, sel, err := t.Select(ctx, s.Version)
	if err != nil {
		return nil, err
	}
	cfg := &plan.Config{Table: at.meta, Snapshot: sel.Snapshot, Schema: sel.Schema, Fetcher: s.Fetcher, Cache: at.cache()}
	if cfg.Fetcher == nil {
		cfg.Fetcher = inline{at.store}
	}
	switch of {
	case MetadataManifests:
		return inspect.Manifests(cfg), nil
	case MetadataFiles:
		return inspect.Files(cfg, s.Limit), nil
	}
	return inspect.Partitions(cfg), nil
}
