package plan

// Sizes of the window of manifests in flight.
const (
	firstWindow = 4
	maxWindow   = 32
	wholeWindow = 128 // of a plan that is decoded whole anyway
	// firstBytes: a plan that is read to its end starts with as many manifests as are no larger together.
	firstBytes = 8 << 20
	// maxWindowBytes bounds the bytes of manifests in flight, beyond the one that is waited for.
	maxWindowBytes = 64 << 20
)

// window says which manifests may be asked for: those of the barrier at once, of the others a number that doubles with each
// wait, from as many as firstBytes allow (from one, if the consumer may stop early), since a wait says that the window was too small to hide the latency. It doubles once a round trip: only when one was
// waited for that had been asked for since it doubled last. Manifests are asked for and used in order.
//
//	0 ………… head ………… next ………… n
//	used    in flight  not asked for
type window struct {
	lengths []int64 // -1 = unknown
	barrier int     // the first so many are wanted before anything else
	size    int
	most    int // greatest size
	head    int
	next    int
	doubled int // next at the time of the last doubling
	bytes   int64
}

func newWindow(lengths []int64, barrier int, lazy bool) *window {
	w := &window{lengths: lengths, barrier: barrier, size: 1, most: maxWindow}
	if !lazy {
		w.size, w.most = firstSize(lengths[barrier:])
	}
	return w
}

// firstSize is how many manifests a plan that is read to its end asks for at first, and how many it may ask for later. A
// length that is not known counts as a quarter of firstBytes.
func firstSize(lengths []int64) (size, most int) {
	sum := int64(0)
	for _, n := range lengths {
		if n < 0 {
			n = firstBytes / firstWindow
		}
		if sum += n; sum > firstBytes {
			break
		}
		size++
	}
	most = maxWindow
	if size == len(lengths) && sum <= smallPlan {
		most = wholeWindow
	}
	return min(max(size, firstWindow), most), most
}

func (w *window) length(i int) int64 { return max(w.lengths[i], 0) }

// admit returns the next manifest to ask for, if one may be asked for now.
func (w *window) admit() (i int, ok bool) {
	inFlight := w.next - w.head
	limit := w.size + max(0, w.barrier-w.head)
	if w.next == len(w.lengths) || inFlight > 0 && (inFlight >= min(limit, w.most) || w.bytes+w.length(w.next) > maxWindowBytes) {
		return 0, false
	}
	w.bytes += w.length(w.next)
	w.next++
	return w.next - 1, true
}

// used says that the manifest at the head is done with; waited, that it was not there when it was wanted.
func (w *window) used(waited bool) {
	if waited && w.head >= w.doubled {
		w.size = min(2*w.size, w.most)
		w.doubled = w.next
	}
	w.bytes -= w.length(w.head)
	w.head++
}

// drained reports that all are used.
func (w *window) drained() bool { return w.head == len(w.lengths) }
