package source

import (
	"errors"

	"github.com/lakescan/lakescan/failpoints"
)

var (
	fpClaimPause   = failpoints.New("source/claim_pause")   // sleep, pause, error: between a task and its place in the window
	fpOpenPause    = failpoints.New("source/open_pause")    // sleep, pause, error: before a file is opened; key = its location
	fpFooterShort  = failpoints.New("source/footer_short")  // error: the first read brings the trailer alone; key = the file's location
	fpConsumerSlow = failpoints.New("source/consumer_slow") // sleep, pause: before a step of a consumer
	fpCancelAt     = failpoints.New("source/cancel_at")     // error: the scan is cancelled as a slot enters a state; key = the state. Under the scan's lock: neither sleep nor pause
)

var errCancelAt = errors.New("source: cancelled by a failpoint")

// set moves a slot; mu is held.
func (s *scan) set(sl *slot, to state) {
	s.mu.set(sl, to)
	if fpCancelAt.DoKey(s.ctx, to.String()) != nil {
		s.cancel(errCancelAt)
	}
}
