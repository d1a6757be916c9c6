package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lakescan/lakescan/config"
	"github.com/lakescan/lakescan/iceberg"
	"github.com/lakescan/lakescan/iceberg/meta"
	"github.com/lakescan/lakescan/internal/exit"
)

func addVersion(cmd *cobra.Command) {
	cmd.Flags().String("at", "", "the table as it was at this `time`: 2026-08-01T00:00Z, or -1h")
	cmd.Flags().String("snapshot", "", "the table at this snapshot `id`")
	cmd.Flags().String("ref", "", "the table at this branch or tag `name`")
}

// version reads --at, --snapshot and --ref, of which one may be given.
func (a *app) version(cmd *cobra.Command) (v iceberg.Version, err error) {
	var given []string
	for _, name := range []string{"at", "snapshot", "ref"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			given = append(given, "--"+name)
		}
	}
	if len(given) > 1 {
		return v, exit.Usagef("%s exclude each other", strings.Join(given, " and "))
	}
	v.Ref, _ = cmd.Flags().GetString("ref")
	if id, _ := cmd.Flags().GetString("snapshot"); id != "" {
		if v.Snapshot, err = meta.ParseSnapshotID(id); err != nil || v.Snapshot == 0 {
			return v, exit.Usagef("--snapshot %s is not the id of a snapshot", id).WithHint("lakescan snapshots TABLE")
		}
	}
	if at, _ := cmd.Flags().GetString("at"); at != "" {
		v.AsOf, err = parseAt(at, a.started, a.cfg.Zone(), a.cfg.Origin(config.KeyZone) != "default")
	}
	return v, err
}

// parseAt reads an instant. A text without a zone counts only if the user named one.
func parseAt(text string, now time.Time, zone *time.Location, zoneGiven bool) (time.Time, error) {
	if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+") {
		d, err := time.ParseDuration(text)
		if err != nil {
			return time.Time{}, exit.Usagef("--at %s is not a duration such as -1h30m", text)
		}
		return now.Add(d), nil
	}
	const space = " "
	s := strings.Replace(text, space, "T", 1)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02Z07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	for _, layout := range []string{"2006-01-02T15:04:05.999999999", "2006-01-02T15:04", "2006-01-02"} {
		t, err := time.ParseInLocation(layout, s, zone)
		if err != nil {
			continue
		}
		if !zoneGiven {
			return time.Time{}, exit.Usagef("--at %s has no time zone", text).WithHint("write %sZ, or give --tz", s)
		}
		return t, nil
	}
	return time.Time{}, exit.Usagef("--at %s is not a time such as 2026-08-01T00:00Z or -1h", text)
}
