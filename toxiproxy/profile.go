package toxiproxy

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Profile is a link: what a client sees of it, and where the figures come from.
type Profile struct {
	Name      string `json:"name"`
	LatencyMS int    `json:"latency_ms"`              // added to the first byte of each answer
	JitterMS  int    `json:"jitter_ms,omitempty"`     // chunks wait in line: jitter costs bandwidth, so it is no clean figure
	RateKBps  int    `json:"rate_kb_per_s,omitempty"` // of each connection; 0 = not limited
	Source    string `json:"source"`
}

//go:embed profiles.json
var profilesJSON []byte

// Profiles are the embedded link profiles, in file order.
func Profiles() []Profile {
	var list []Profile
	if err := json.Unmarshal(profilesJSON, &list); err != nil {
		panic(fmt.Sprintf("toxiproxy: profiles.json: %v", err)) // embedded at build time, kept right by a test
	}
	return list
}

// FindProfile returns a profile by name, or an error that lists the names.
func FindProfile(name string) (Profile, error) {
	list := Profiles()
	if i := slices.IndexFunc(list, func(p Profile) bool { return p.Name == name }); i >= 0 {
		return list[i], nil
	}
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = p.Name
	}
	return Profile{}, fmt.Errorf("toxiproxy: no link profile %q (have %s)", name, strings.Join(names, ", "))
}

// Latency is a profile that only delays answers.
func Latency(ms int) Profile {
	return Profile{Name: fmt.Sprintf("latency-%dms", ms), LatencyMS: ms, Source: "synthetic"}
}

func (p Profile) toxics() []Toxic {
	var list []Toxic
	add := func(kind string, attributes map[string]any) {
		list = append(list, Toxic{Name: kind, Type: kind, Stream: "downstream", Toxicity: 1, Attributes: attributes})
	}
	if p.LatencyMS > 0 || p.JitterMS > 0 {
		add("latency", map[string]any{"latency": p.LatencyMS, "jitter": p.JitterMS})
	}
	if p.RateKBps > 0 {
		add("bandwidth", map[string]any{"rate": p.RateKBps})
	}
	return list
}
