package source

import (
	"context"

	"github.com/lakescan/lakescan/parquet"
)

// partBytes is about what is fetched at once of a row group that is larger than that by far.
const partBytes = 2 * waveBytes

// part cuts row groups that are much larger than a wave, so that neither the first row nor the memory waits for all of their bytes.
// That takes the places of their pages, one round if they did not come with the tail; a row group of a file that does not tell them
// becomes a stream.
func (c *parquetFile) part(ctx context.Context) error {
	var demands []demand
	large := false
	size := c.format.partBytes()
	if size <= 0 {
		return nil
	}
	for i, g := range c.groups {
		if g.bytes < 2*size {
			continue
		}
		large = true
		for _, r := range c.reader.Offsets(g.rg) {
			if rest, ok := c.missing(r); ok {
				demands = append(demands, demand{rest, i})
			}
		}
	}
	if !large {
		return nil
	}
	spans, _, wasted := coalesce(demands, gapOf(c.format.hop()), len(c.groups))
	c.format.stats.overRead.Add(wasted)
	if err := c.file.getAll(ctx, spans, c.hold); err != nil {
		return err
	}
	ev := &pieces{list: c.held}
	var groups []group
	for _, g := range c.groups {
		if g.bytes < 2*size {
			groups = append(groups, g)
			continue
		}
		c.reader.Prune(g.rg, ev) // takes the places in
		if !c.reader.Indexed(g.rg) {
			g.streamed = true
			groups = append(groups, g)
			continue
		}
		for _, sel := range c.reader.Parts(g.rg, g.sel, size) {
			p := group{rg: g.rg, sel: sel}
			c.measure(&p)
			groups = append(groups, p)
		}
	}
	c.groups = groups
	return nil
}

// partBytes is what a part has; 0 or less = row groups stay whole.
func (p *parquetFormat) partBytes() int64 {
	if p.cfg.partBytes != 0 {
		return p.cfg.partBytes
	}
	return partBytes
}

// measure counts the bytes of a group's selection.
func (c *parquetFile) measure(g *group) {
	g.bytes, g.rest = 0, 0
	for part, sum := range map[parquet.Part]*int64{parquet.PartFilter: &g.bytes, parquet.PartRest: &g.rest} {
		for _, r := range c.reader.Ranges(g.rg, part, g.sel, parquet.Cost{}) {
			*sum += r.Len
		}
	}
	g.bytes += g.rest
}
