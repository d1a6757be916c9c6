package main

import (
	"fmt"
	"path/filepath"
	"time"
)

const (
	planEntries   = 100_000
	planManifests = 40
)

// plan measures the planning of local tables.
func (b *bench) plan() error {
	entries := b.size(planEntries)
	location, err := b.local("plan", func(dir, base string) (string, error) { return planTable(dir, base, entries, planManifests) })
	if err != nil {
		return err
	}
	entries = entries / planManifests * planManifests
	all, err := b.compare(task{Kind: "plan", Location: location}, b.engines()...)
	if err != nil {
		return err
	}
	cpu := median(all["lakescan"], cpuOf)
	peer := median(all["iceberg-go"], cpuOf)
	b.report.add(row{
		Measure: fmt.Sprintf("plan %d entries in %d manifests, no filter: CPU", entries, planManifests), Measured: fmt.Sprintf("%.3f s", cpu),
		Peers: peers(all, "s", cpuOf), Target: "<= 0.50 s and <= 0.13x iceberg-go", Verdict: verdict(cpu <= 0.50 && cpu <= 0.13*peer), Figures: all,
	})
	three, err := b.compare(task{Kind: "plan", Location: location, Below: 3000}, b.engines()...)
	if err != nil {
		return err
	}
	cpu3, peer3 := median(three["lakescan"], cpuOf), median(three["iceberg-go"], cpuOf)
	b.report.add(row{
		Measure: "the same, a filter that keeps 3 files: CPU", Measured: fmt.Sprintf("%.3f s", cpu3),
		Peers: peers(three, "s", cpuOf), Target: "<= 0.45 s and <= 0.3x iceberg-go", Verdict: verdict(cpu3 <= 0.45 && cpu3 <= 0.3*peer3), Figures: three,
	})
	metered, err := b.compare(task{Kind: "plan", Location: location, Metered: true}, "lakescan")
	if err != nil {
		return err
	}
	each, with := cpu/float64(entries)*1e6, median(metered["lakescan"], cpuOf)/float64(entries)*1e6
	b.report.add(row{Measure: "per entry", Measured: fmt.Sprintf("%.2f us", each), Target: "<= 4.5 us", Verdict: verdict(each <= 4.5)})
	b.report.add(row{Measure: "per entry, with bounds and counts of 10 columns", Measured: fmt.Sprintf("%.2f us", with), Target: "<= 5 us", Verdict: verdict(with <= 5), Figures: metered})
	alloc := median(all["lakescan"], func(r result) float64 { return float64(r.Alloc) / 1e6 })
	b.report.add(row{
		Measure: "allocated", Measured: fmt.Sprintf("%.1f MB", alloc), Peers: peers(map[string][]result{"lakescan": all["lakescan"], "iceberg-go": all["iceberg-go"]}, "MB", func(r result) float64 { return float64(r.Alloc) / 1e6 }),
		Target: "<= 60 MB", Verdict: verdict(alloc <= 60),
	})
	b.report.add(row{Measure: "peak RSS of the process", Measured: fmt.Sprintf("%.0f MB", median(all["lakescan"], rssOf)), Peers: peers(all, "MB", rssOf)})
	return nil
}

// memory compares what lives while plans of different sizes are consumed.
func (b *bench) memory() error {
	var live, rss []float64
	for i, entries := range []int{b.size(planEntries), b.size(10 * planEntries)} {
		name := fmt.Sprintf("memory%d", i)
		manifests := planManifests
		if i == 1 {
			manifests *= 10
		}
		location, err := b.local(name, func(dir, base string) (string, error) { return planTable(dir, base, entries, manifests) })
		if err != nil {
			return err
		}
		for _, noCache := range []bool{false, true} {
			heap, err := b.compare(task{Kind: "plan", Location: location, Heap: true, NoCache: noCache}, "lakescan")
			if err != nil {
				return err
			}
			plain, err := b.compare(task{Kind: "plan", Location: location, NoCache: noCache}, "lakescan")
			if err != nil {
				return err
			}
			live = append(live, median(heap["lakescan"], func(r result) float64 { return float64(r.Live) / 1e6 }))
			rss = append(rss, median(plain["lakescan"], rssOf))
			x := row{
				Measure:  fmt.Sprintf("plan of %d files, tasks consumed, %s: live heap above start; RSS", entries, map[bool]string{false: "manifest cache of 64 MiB", true: "no manifest cache"}[noCache]),
				Measured: fmt.Sprintf("%.1f MB; %.0f MB", live[len(live)-1], rss[len(rss)-1]), Figures: plain,
			}
			switch {
			case i == 0 && !noCache:
				x.Target, x.Verdict = "live <= 24 MB", verdict(live[0] <= 24)
			case i == 1 && noCache:
				x.Target, x.Verdict = "does not grow with the files: live within 2 MB and RSS within 1.25x of the smaller table's", verdict(live[3] <= live[1]+2 && rss[3] <= 1.25*rss[1])
			case i == 1:
				x.Target, x.Verdict = "the cache's 64 MiB more at most", verdict(live[2] <= live[1]+72)
			}
			b.report.add(x)
		}
	}
	return nil
}

// latency measures planning through a catalog and a store that answer late.
func (b *bench) latency() error {
	s, err := newServer()
	if err != nil {
		return err
	}
	defer s.Close()
	for _, c := range []struct {
		name               string
		entries, manifests int
		latency            time.Duration
	}{{"far", b.size(planEntries), planManifests, milliseconds(50)}, {"seventyone", 71 * 10, 71, milliseconds(30)}} {
		dir := filepath.Join(b.dir, c.name)
		if _, err := planTable(dir, "s3://bench/"+c.name, c.entries, c.manifests); err != nil {
			return err
		}
		if err := s.load(dir, c.name); err != nil {
			return err
		}
		if err := b.far(s, c.name, c.manifests, c.latency); err != nil {
			return err
		}
	}
	return nil
}

// rounds that no plan through a REST catalog can do without: its configuration, the table, the list, the manifests.
const leastRounds = 4

func (b *bench) far(s *server, name string, manifests int, latency time.Duration) error {
	t := task{Engine: "lakescan", Kind: "plan", Location: name, URI: "http://" + s.addr, Endpoint: "http://" + s.addr}
	var runs []result
	var seen traffic
	for range b.pairs {
		s.reset(latency)
		r, err := b.start(t)
		if err != nil {
			return err
		}
		runs, seen = append(runs, r), s.traffic()
	}
	wall, cpu, first := median(runs, wallOf), median(runs, cpuOf), median(runs, func(r result) float64 { return r.First })
	l := latency.Seconds()
	title := fmt.Sprintf("%d manifests at %v", manifests, latency)
	if bound := leastRounds*l + cpu; name == "far" {
		b.report.add(row{
			Measure: title + ": wall against 4 rounds x latency + CPU", Measured: fmt.Sprintf("%.3f s, bound %.3f s: %.2fx", wall, bound, wall/bound),
			Target: "<= 1.3x", Verdict: verdict(wall <= 1.3*bound), Figures: runs,
		})
	} else {
		rest := wall - 3*l
		b.report.add(row{
			Measure: title + ": wall beyond config, table and list", Measured: fmt.Sprintf("%.3f s (in all %.3f s)", rest, wall),
			Target: "<= 0.20 s", Verdict: verdict(rest <= 0.20), Figures: runs,
		})
	}
	b.report.add(row{
		Measure: title + ": first task, config included", Measured: fmt.Sprintf("%.3f s = %.1f rounds", first, first/l),
		Target: "<= 4 rounds + 50 ms", Verdict: verdict(first <= leastRounds*l+0.050),
	})
	b.report.add(row{
		Measure:  title + ": requests of the plan",
		Measured: fmt.Sprintf("%d, of which %d manifests, %d HEAD, %d lists; %.2f MB; %d in a chain", seen.Requests, seen.Manifests, seen.Heads, seen.Lists, float64(seen.Bytes)/1e6, seen.Rounds),
		Target:   "config 1, table 1, list 1, 1 a manifest; no HEAD, no listing", Verdict: verdict(seen.Requests == manifests+3 && seen.Manifests == manifests && seen.Heads+seen.Lists == 0), Figures: seen,
	})
	return nil
}

// limit counts the manifests that a limited scan reads.
func (b *bench) limit() error {
	files := b.size(800)
	dir := filepath.Join(b.dir, "limit")
	if _, err := smallTable(dir, "s3://bench/limit", files, 100); err != nil {
		return err
	}
	s, err := newServer()
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.load(dir, "limit"); err != nil {
		return err
	}
	for _, filtered := range []bool{false, true} {
		s.reset(milliseconds(20))
		r, err := b.start(task{Engine: "lakescan", Kind: "limit", Location: "s3://bench/limit/" + metadataName, Endpoint: "http://" + s.addr, Limit: 10, Filtered: filtered})
		if err != nil {
			return err
		}
		if r.Count != 10 {
			return fmt.Errorf("%d rows of a limit of 10", r.Count)
		}
		n := s.traffic().Manifests
		b.report.add(row{
			Measure:  fmt.Sprintf("limit 10 over %d manifests of one file%s: manifests read", files, map[bool]string{false: "", true: ", with a filter"}[filtered]),
			Measured: fmt.Sprint(n), Target: "<= 8", Verdict: verdict(n <= 8), Figures: s.traffic(),
		})
	}
	return nil
}

// metadata measures the load of a table with many snapshots.
func (b *bench) metadata() error {
	snapshots := b.size(10_000)
	location, err := b.local("metadata", func(dir, base string) (string, error) { return snapshotTable(dir, base, snapshots) })
	if err != nil {
		return err
	}
	body, err := readFile(filepath.Join(b.dir, "metadata", metadataName))
	if err != nil {
		return err
	}
	rs, err := b.compare(task{Kind: "metadata", Location: location}, b.engines()...)
	if err != nil {
		return err
	}
	parse := func(r result) float64 { return float64(r.Sum) / 1e3 }
	cpu, live := median(rs["lakescan"], parse), median(rs["lakescan"], func(r result) float64 { return float64(r.Live) / float64(len(body)) })
	b.report.add(row{
		Measure: fmt.Sprintf("load a table with %d snapshots (%.1f MB) and find one: CPU", snapshots, float64(len(body))/1e6), Measured: fmt.Sprintf("%.1f ms", cpu),
		Peers: peers(rs, "ms", parse), Target: "<= 60 ms", Verdict: verdict(cpu <= 60), Figures: rs,
	})
	b.report.add(row{Measure: "the same: live heap", Measured: fmt.Sprintf("%.2fx of the body", live), Target: "<= 2x", Verdict: verdict(live <= 2)})
	return nil
}
