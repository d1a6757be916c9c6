package parquet

import (
	"strconv"
	"strings"
)

// writerFaults are known errors of old writers, by the footer's created_by. Every entry states its reason.
type writerFaults struct {
	// binaryStatistics: bounds of binary columns were ordered by signed bytes.
	// parquet-mr before 1.8.2 and parquet-cpp before 1.3.0 (PARQUET-251, ARROW-1354).
	binaryStatistics bool
	// chunkSlack: total_compressed_size left out the header of the dictionary page, at most 100 bytes.
	// parquet-mr before 1.2.9 (PARQUET-816).
	chunkSlack int64
	// floatBounds: bounds of dictionary-encoded floats with NaN among them depend on where the NaN stands, and may exclude
	// values that are there. parquet-go to 0.32.0 at least, and its former self (TestBoundsOfParquetGo).
	floatBounds bool
	// bloom: filters may lack values that are there, after a dictionary was given up for PLAIN among others.
	// parquet-go to 0.32.0 at least (TestBloomFiltersOfParquetGo).
	bloom bool
}

func faultsOf(createdBy string) (w writerFaults) {
	app, version := writer(createdBy)
	switch app {
	case "parquet-mr":
		w.binaryStatistics = version.before(1, 8, 2)
		if version.before(1, 2, 9) {
			w.chunkSlack = 100
		}
	case "parquet-cpp":
		w.binaryStatistics = version.before(1, 3, 0)
	case "github.com/parquet-go/parquet-go", "github.com/segmentio/parquet-go":
		w.floatBounds, w.bloom = true, true
	case "":
		w.binaryStatistics = true // nothing is known of the writer
		w.chunkSlack = 100
	}
	return w
}

type version [3]int

// before compares with major.minor.patch; a version that could not be read counts as old.
func (v version) before(major, minor, patch int) bool {
	o := version{major, minor, patch}
	for i := range v {
		if v[i] != o[i] {
			return v[i] < o[i]
		}
	}
	return false
}

// writer splits "parquet-mr version 1.8.1 (build …)" as the format's documentation of created_by asks.
func writer(createdBy string) (app string, v version) {
	app, rest, ok := strings.Cut(strings.TrimSpace(createdBy), " version ")
	if !ok {
		app, _, _ = strings.Cut(app, " ")
		return strings.ToLower(app), v
	}
	number, _, _ := strings.Cut(rest, " ")
	for i, part := range strings.SplitN(number, ".", 3) {
		digits := part
		if j := strings.IndexFunc(part, func(r rune) bool { return r < '0' || r > '9' }); j >= 0 {
			digits = part[:j]
		}
		v[i], _ = strconv.Atoi(digits)
	}
	return strings.ToLower(app), v
}
