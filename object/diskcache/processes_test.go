package diskcache_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/lakescan/lakescan/failpoints"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/diskcache"
	"github.com/lakescan/lakescan/object/mem"
	"github.com/lakescan/lakescan/object/objecttest"
)

const (
	childDir   = "DISKCACHE_TEST_DIR"
	childSeed  = "DISKCACHE_TEST_SEED"
	childKill  = "DISKCACHE_TEST_KILL"
	childLimit = 2 << 20
	childFiles = 40
	childSize  = 100_000
)

// child reads random ranges of objects whose bytes follow from their names, and says if one was wrong.
func child() int {
	seed, _ := strconv.ParseUint(os.Getenv(childSeed), 10, 64) // set by the parent
	if n := os.Getenv(childKill); n != "" {
		if err := failpoints.Arm("diskcache/write=" + n + "*off->kill"); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	cache, err := diskcache.Open(diskcache.Config{Dir: os.Getenv(childDir), MaxBytes: childLimit})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	below := mem.New()
	var locs []object.Location
	var contents [][]byte
	for i := range childFiles {
		loc, err := object.ParseLocation(fmt.Sprintf("s3://b/f%d", i))
		if err != nil {
			fmt.Println(err)
			return 1
		}
		data := objecttest.Bytes(childSize + i)
		below.Put(loc.Recorded, data)
		locs, contents = append(locs, loc), append(contents, data)
	}
	s := cache.Over(below, here)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 1500 {
		i := rng.IntN(childFiles)
		r := object.Range{Off: rng.Int64N(8) * 10_000, Len: 1 + rng.Int64N(20_000)}
		got, _, err := s.Read(context.Background(), locs[i], r, nil, object.ReadOptions{Size: int64(len(contents[i]))})
		if err != nil || !bytes.Equal(got, contents[i][r.Off:r.Off+r.Len]) {
			fmt.Printf("%s [%s]: %d wrong bytes, %v\n", locs[i].Recorded, r, len(got), err)
			return 1
		}
	}
	fmt.Printf("%+v\n", cache.Stats())
	return 0
}

// Several processes share a folder, write and evict at the same time, and are killed in the middle of a write: every byte that any of them reads is
// right, and the folder stays in bounds.
func TestProcessesShareAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const processes = 4
	for round := range 2 {
		type run struct {
			cmd *exec.Cmd
			out *bytes.Buffer
		}
		var runs []run
		for i := range processes {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), childDir+"="+dir, fmt.Sprintf("%s=%d", childSeed, round*processes+i))
			if i == 0 {
				cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", childKill, 30+20*round))
			}
			out := &bytes.Buffer{}
			cmd.Stdout, cmd.Stderr = out, out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			runs = append(runs, run{cmd, out})
		}
		for i, r := range runs {
			err := r.cmd.Wait()
			if killed := err != nil && strings.Contains(err.Error(), "killed"); killed != (i == 0) || err != nil && !killed {
				t.Errorf("process %d: %v: %s", i, err, r.out)
			}
		}
	}
	if _, total := files(t, dir); total > childLimit+processes*childLimit/16+childSize {
		t.Errorf("%d bytes on disk, the limit is %d", total, childLimit)
	}
}
