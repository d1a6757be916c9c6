package main

import (
	"fmt"
	"path/filepath"
)

// deletes measures scans of tables with many deletes.
func (b *bench) deletes() error {
	if err := b.positions(); err != nil {
		return err
	}
	return b.equality()
}

func (b *bench) positions() error {
	rows := b.size(1_000_000)
	location, err := b.local("positions", func(dir, base string) (string, error) { return positionTable(dir, base, 6, rows) })
	if err != nil {
		return err
	}
	rs, err := b.compare(task{Kind: "scan", Location: location}, b.engines()...)
	if err != nil {
		return err
	}
	cpu, peer := median(rs["lakescan"], cpuOf), median(rs["iceberg-go"], cpuOf)
	b.report.add(row{
		Measure: fmt.Sprintf("%d rows, %d position deletes: CPU", 6*rows, 3*rows), Measured: fmt.Sprintf("%.3f s", cpu), Peers: peers(rs, "s", cpuOf),
		Target: "less than iceberg-go", Verdict: verdict(cpu < peer), Figures: rs,
	})
	b.report.add(row{Measure: "the same: peak RSS", Measured: fmt.Sprintf("%.0f MB", median(rs["lakescan"], rssOf)), Peers: peers(rs, "MB", rssOf)})
	return b.once("position delete files", "positions1", func(dir, base string) (string, error) { return positionTable(dir, base, 6, min(rows, 50_000)) }, 6)
}

func (b *bench) equality() error {
	rows, keys := b.size(1_000_000), b.size(2_000)
	var cpus []float64
	var base float64
	commits := []int{0, 50, 100, 200}
	for _, n := range commits {
		location, err := b.local(fmt.Sprintf("equality%d", n), func(dir, base string) (string, error) { return equalityTable(dir, base, rows, n, keys) })
		if err != nil {
			return err
		}
		engines := []string{"lakescan", "iceberg-go"} // PyIceberg refuses equality deletes
		rs, err := b.compare(task{Kind: "scan", Location: location}, engines...)
		if err != nil {
			return err
		}
		cpu := median(rs["lakescan"], cpuOf)
		if n == 0 {
			base = cpu
			b.report.add(row{Measure: fmt.Sprintf("%d rows without deletes: CPU", rows), Measured: fmt.Sprintf("%.3f s", cpu), Peers: peers(rs, "s", cpuOf), Figures: rs})
			continue
		}
		cpus = append(cpus, cpu)
		x := row{
			Measure: fmt.Sprintf("%d equality-delete files of %d keys over %d rows: CPU", n, keys, rows), Measured: fmt.Sprintf("%.3f s", cpu),
			Peers: peers(rs, "s", cpuOf) + "; PyIceberg has no equality deletes", Figures: rs,
		}
		if limit, ok := map[int]float64{50: 0.3, 100: 0.6}[n]; ok {
			x.Target, x.Verdict = fmt.Sprintf("<= %.1f s", limit), verdict(cpu <= limit)
		}
		b.report.add(x)
		if k := len(cpus); k > 1 {
			ratio := cpus[k-1] / cpus[k-2]
			b.report.add(row{
				Measure:  fmt.Sprintf("the same against %d files", commits[k-1]),
				Measured: fmt.Sprintf("%.2fx (%.2fx without the scan itself)", ratio, (cpus[k-1]-base)/(cpus[k-2]-base)), Target: "<= 2.3x", Verdict: verdict(ratio <= 2.3),
			})
		}
		if n == 200 {
			b.report.add(row{Measure: "the same: peak RSS", Measured: fmt.Sprintf("%.0f MB", median(rs["lakescan"], rssOf)), Peers: peers(rs, "MB", rssOf)})
		}
	}
	return b.once("equality-delete files", "equality1", func(dir, base string) (string, error) {
		return equalityTable(dir, base, b.size(1_000_000), b.size(200), keys)
	}, b.size(200))
}

// once counts how often each delete file is asked for.
func (b *bench) once(what, name string, write func(dir, base string) (string, error), files int) error {
	dir := filepath.Join(b.dir, name)
	if _, err := write(dir, "s3://bench/"+name); err != nil {
		return err
	}
	s, err := newServer()
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.load(dir, name); err != nil {
		return err
	}
	s.reset(0)
	if _, err := b.start(task{Engine: "lakescan", Kind: "scan", Location: "s3://bench/" + name + "/" + metadataName, Endpoint: "http://" + s.addr}); err != nil {
		return err
	}
	t := s.traffic()
	b.report.add(row{
		Measure: fmt.Sprintf("requests for %d %s", files, what), Measured: fmt.Sprintf("%d, %d of them repeated", t.Deletes, t.Repeated),
		Target: "one a file", Verdict: verdict(t.Deletes == files), Figures: t,
	})
	return nil
}
