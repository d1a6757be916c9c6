package source

import (
	"context"
	"fmt"

	"github.com/lakescan/lakescan/parquet"
)

// deleteSets loads the delete files of a scan.
type deleteSets struct{}

func (deleteSets) begin(_ context.Context, t *Task) error {
	if d := t.Deletes; d.Vector != nil || len(d.Positions) > 0 || len(d.Equality) > 0 {
		return fmt.Errorf("%w: delete files", parquet.ErrUnsupported)
	}
	return nil
}

func (deleteSets) load(context.Context, *Task, int64) (applied, error) { return nil, nil }

func (deleteSets) close() {}
