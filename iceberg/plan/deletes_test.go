package plan

import (
	"testing"

	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/source/deletes"
)

func TestVectorsKnowTheirNeighbours(t *testing.T) {
	t.Parallel()
	x := newDeleteIndex(nil, 0)
	for i, file := range []string{"a", "b", "a", "a"} {
		x.vectors[string(rune('p'+i))] = &vector{Vector: deletes.Vector{File: object.Info{Location: object.Location{Recorded: file}}, Offset: int64(100 - 10*i)}}
	}
	x.freeze()
	x.count = 4
	set, err := x.find([]byte("p"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := set.Vector.Neighbours
	if len(n) != 3 || n[0].Offset != 70 || n[1].Offset != 80 || n[2] != set.Vector {
		t.Errorf("neighbours %+v", n)
	}
	if x.vectors["q"].Neighbours != nil {
		t.Error("a vector alone in its file has neighbours")
	}
}
