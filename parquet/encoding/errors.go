package encoding

import (
	"errors"
	"fmt"
)

// ErrCorrupt is the class of every fault found by this package.
var ErrCorrupt = errors.New("encoding: corrupt")

// Faults, each ErrCorrupt.
var (
	errShort  = fmt.Errorf("%w: values missing", ErrCorrupt)
	errRun    = fmt.Errorf("%w: run of no values", ErrCorrupt)
	errVarint = fmt.Errorf("%w: bad varint", ErrCorrupt)
	errWidth  = fmt.Errorf("%w: bit width out of range", ErrCorrupt)
	errLevel  = fmt.Errorf("%w: level above its maximum", ErrCorrupt)
	errIndex  = fmt.Errorf("%w: index beyond the dictionary", ErrCorrupt)
	errDelta  = fmt.Errorf("%w: bad delta block sizes", ErrCorrupt)
	errSplit  = fmt.Errorf("%w: streams of unlike length", ErrCorrupt)
)
