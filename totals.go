package lakescan

import "github.com/lakescan/lakescan/source"

// ScanTotals are the figures of all scans of a client so far, those under way included.
type ScanTotals struct {
	source.Stats           // counts are summed; Depth is the deepest look-ahead of the scans under way, 0 without one; Wall and Floor are sums too
	Scans, Running int64   // ever opened, and open now
	LastEta        float64 // of the scan that was closed last; 0 = none yet, or not known
}

// Totals adds up the scans of this client.
func (c *Client) Totals() ScanTotals {
	c.mu.Lock()
	t := c.mu.done
	open := make([]*source.Reader, 0, len(c.mu.scans))
	for r := range c.mu.scans {
		open = append(open, r)
	}
	c.mu.Unlock()
	for _, r := range open {
		t.add(r.Stats())
	}
	t.Scans, t.Running = t.Scans+int64(len(open)), int64(len(open))
	return t
}

// add sums one scan into the totals.
func (t *ScanTotals) add(s source.Stats) {
	wall, floor := t.Wall+s.Wall, t.Floor+s.Floor
	s.DepthLog = nil
	t.Stats = t.Stats.Add(s)
	t.Wall, t.Floor = wall, floor
}

// scanning remembers an open scan.
func (c *Client) scanning(r *source.Reader) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.scans == nil {
		c.mu.scans = map[*source.Reader]struct{}{}
	}
	c.mu.scans[r] = struct{}{}
}

// scanned moves a closed scan to the totals.
func (c *Client) scanned(r *source.Reader) {
	s := r.Stats()
	s.Depth = 0
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.mu.scans, r)
	c.mu.done.add(s)
	c.mu.done.Scans++
	c.mu.done.LastEta = s.Eta()
}
