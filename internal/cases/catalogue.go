package main

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

//go:embed cases.txt
var text string

// minNeighbours is the number of tests of related faults that a kind with neighbours has.
const minNeighbours = 2

// An item is a case or invariant: what its tests must show.
type item struct {
	ID, Kind, Title string
}

// catalogue is cases.txt.
type catalogue struct {
	Items      []item
	Neighbours []string // kinds
}

func parseCatalogue(text string) (catalogue, error) {
	var c catalogue
	seen := map[string]bool{}
	for n, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || strings.HasPrefix(f[0], "#"):
		case f[0] == "neighbours":
			c.Neighbours = append(c.Neighbours, f[1:]...)
		case len(f) < 3 || canonicalID(f[0]) != f[0]:
			return c, fmt.Errorf("cases.txt:%d: want id, kind and title: %q", n+1, line)
		case seen[f[0]]:
			return c, fmt.Errorf("cases.txt:%d: %s stands twice", n+1, f[0])
		default:
			seen[f[0]] = true
			c.Items = append(c.Items, item{ID: f[0], Kind: f[1], Title: strings.Join(f[2:], " ")})
		}
	}
	return c, nil
}

var (
	idForm    = regexp.MustCompile(`^([LIP])(\d{1,3})$`)
	neighbour = regexp.MustCompile(`^(?:Test|Fuzz)N_([A-Z]+)\d+_`)
	reported  = regexp.MustCompile(`(?m)^\|\s*(L\d+)\s*\|`)
	section   = regexp.MustCompile(`^## .*\(([A-Z]+)\)`)
)

// canonicalID writes an id as cases.txt does: L07, I9, P13. It is empty for what is none.
func canonicalID(s string) string {
	m := idForm.FindStringSubmatch(s)
	if m == nil {
		return ""
	}
	n, _ := strconv.Atoi(m[2]) // at most three digits
	if m[1] == "L" {
		return fmt.Sprintf("L%02d", n)
	}
	return m[1] + strconv.Itoa(n)
}

// carried returns the ids in the name of a test, and its kind if it is a neighbour.
func carried(name string) (ids []string, kind string) {
	if m := neighbour.FindStringSubmatch(name); m != nil {
		return nil, m[1]
	}
	rest, ok := strings.CutPrefix(name, "Test")
	if !ok {
		rest, _ = strings.CutPrefix(name, "Fuzz")
	}
	for part := range strings.SplitSeq(rest, "_") {
		id := canonicalID(part)
		if id == "" {
			break
		}
		ids = append(ids, id)
	}
	return ids, ""
}

// reportedCases reads the rows of a collection of reports: id -> kind.
func reportedCases(markdown string) map[string]string {
	kinds, kind := map[string]string{}, ""
	for line := range strings.SplitSeq(markdown, "\n") {
		if m := section.FindStringSubmatch(line); m != nil {
			kind = m[1]
		}
		if m := reported.FindStringSubmatch(line); m != nil {
			kinds[m[1]] = kind
		}
	}
	return kinds
}
