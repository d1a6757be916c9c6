package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lakescan/lakescan/object"
)

// A data read that fails ends the scan with its error, whichever read of the file it is and whatever of the file has landed: the units whose
// bytes will never come are not waited for. What was delivered before is a prefix of the rows.
func TestAFailedReadEndsTheScan(t *testing.T) {
	t.Parallel()
	files := make([]fakeFile, 4)
	for i := range files {
		files[i] = fakeFile{rounds: 1, waves: []int64{3000, 3000}, units: 3, rows: 5, columns: 1}
	}
	files[2].late = 100
	counter := &fakeStore{}
	g := newRig(t, 16, 100<<20, files, counter)
	all, err := values(g.open(t.Context(), g.tasks(), Off, nil).All())
	if err != nil {
		t.Fatal(err)
	}
	g.check()
	for _, d := range depths {
		for _, request := range counter.requests {
			for _, slow := range []bool{false, true} { // the failure comes first, or after the file's other reads
				t.Run(fmt.Sprintf("depth=%v,%s,slow=%v", d, request, slow), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						g := newRig(t, 16, 100<<20, files, &fakeStore{read: func(ctx context.Context, loc object.Location, r object.Range) error {
							wait := time.Millisecond
							failing := fmt.Sprintf("%s[%d,%d)", loc.Key, r.Off, r.Off+r.Len) == request
							if failing == slow {
								wait = time.Second
							}
							if err := sleep(ctx, wait); err != nil || !failing {
								return err
							}
							return errFake
						}})
						reader := g.open(t.Context(), g.tasks(), d, nil)
						got, err := values(reader.All())
						var fe *FileError
						if !errors.Is(err, errFake) || !errors.As(err, &fe) || fe.Location != request[:2] {
							t.Errorf("got %v, want the failure of %s", err, request)
						}
						if len(got) >= len(all) || !slices.Equal(got, all[:len(got)]) {
							t.Errorf("rows %v are no prefix of the table's", got)
						}
						reader.Close()
						g.check()
					})
				})
			}
		}
	}
}
