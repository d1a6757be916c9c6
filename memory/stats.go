package memory

import "sync/atomic"

type counters struct {
	limiterCalls, publications, forcedSpills, shortfalls, unbalanced atomic.Int64
}

// Stats of a budget, for metrics. Held may lag a live Reporter by less than one step.
type Stats struct {
	Limit, Total int64
	Held         [5]int64 // by Class
	// MemoryLimiterCalls, MemoryPublications, MemoryForcedSpills, MemoryShortfallEpisodes, MemoryUnbalanced
	LimiterCalls, Publications, ForcedSpills, ShortfallEpisodes, Unbalanced int64
}

// Stats may be read at any time.
func (b *Budget) Stats() Stats {
	if b == nil {
		return Stats{}
	}
	s := Stats{
		Limit: b.limit.Load(), Total: b.total.Load(),
		LimiterCalls: b.counters.limiterCalls.Load(), Publications: b.counters.publications.Load(),
		ForcedSpills: b.counters.forcedSpills.Load(), ShortfallEpisodes: b.counters.shortfalls.Load(),
		Unbalanced: b.counters.unbalanced.Load(),
	}
	for c := range s.Held {
		s.Held[c] = b.classes[c].Load()
	}
	return s
}
