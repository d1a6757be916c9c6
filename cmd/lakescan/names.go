package main

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lakescan/lakescan"
)

// names completes tables and columns, for the prompt and for shells. What it learns is kept for a minute, a question takes at most a
// second, and whatever goes wrong in it is nobody's error: it then knows nothing.
type names struct {
	client *lakescan.Client
	mu     struct {
		sync.Mutex
		tables  map[string]known // by namespace, "" = the namespaces themselves
		columns map[string]known // by table
	}
}

type known struct {
	list []string
	at   time.Time
}

const (
	namesFor    = time.Minute
	namesWithin = time.Second
	namesMost   = 1000
)

func newNames(c *lakescan.Client) *names {
	n := &names{client: c}
	n.mu.tables, n.mu.columns = map[string]known{}, map[string]known{}
	return n
}

// keep answers from the map, or asks and remembers. Two who ask at once may both ask.
func (n *names) keep(ctx context.Context, in map[string]known, key string, ask func(context.Context) []string) []string {
	n.mu.Lock()
	k, ok := in[key]
	n.mu.Unlock()
	if ok && time.Since(k.at) < namesFor {
		return k.list
	}
	ctx, cancel := context.WithTimeout(ctx, namesWithin)
	defer cancel()
	list := ask(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	in[key] = known{list, time.Now()}
	return list
}

func (n *names) namespaces(ctx context.Context) []string {
	return n.keep(ctx, n.mu.tables, "", func(ctx context.Context) (out []string) {
		for ns, err := range n.client.Namespaces(ctx, "", nil) {
			if err != nil || len(out) == namesMost {
				break
			}
			out = append(out, joinName(ns))
		}
		return out
	})
}

// tables of a namespace, with it.
func (n *names) tables(ctx context.Context, namespace string) []string {
	return n.keep(ctx, n.mu.tables, namespace, func(ctx context.Context) (out []string) {
		ns, err := lakescan.SplitName(namespace)
		if err != nil {
			return nil
		}
		for id, err := range n.client.Tables(ctx, "", ns) {
			if err != nil || len(out) == namesMost {
				break
			}
			out = append(out, joinName(append(slices.Clone(id.Namespace), id.Name)))
		}
		return out
	})
}

func (n *names) columns(ctx context.Context, table string) []string {
	return n.keep(ctx, n.mu.columns, table, func(ctx context.Context) (out []string) {
		e, err := n.client.Columns(ctx, table)
		if err != nil {
			return nil
		}
		for _, f := range e.Fields() {
			out = append(out, joinName([]string{f.Name}))
		}
		return out
	})
}

// targets are the tables that a word may become: namespaces first, the tables of one behind its dot.
func (n *names) targets(ctx context.Context, word string) (out []string) {
	if i := strings.LastIndexByte(word, '.'); i > 0 {
		return startingWith(n.tables(ctx, word[:i]), word)
	}
	for _, ns := range startingWith(n.namespaces(ctx), word) {
		out = append(out, ns+".")
	}
	return out
}

func startingWith(list []string, word string) (out []string) {
	for _, s := range list {
		if len(s) >= len(word) && strings.EqualFold(s[:len(word)], word) {
			out = append(out, s)
		}
	}
	return out
}

// complete is liner's: the word before the cursor and what it may become.
func (n *names) complete(ctx context.Context, line string, pos int) (head string, words []string, tail string) {
	runes := []rune(line)
	pos = min(pos, len(runes))
	before, tail := string(runes[:pos]), string(runes[pos:])
	start := strings.LastIndexFunc(before, func(r rune) bool { return strings.ContainsRune(" \t\n(),;=<>+-*/", r) }) + 1
	head, word := before[:start], before[start:]
	last := ""
	if f := strings.Fields(head); len(f) > 0 {
		last = strings.ToLower(f[len(f)-1])
	}
	switch last {
	case "from", "join", `\d`, `\dt`:
		return head, n.targets(ctx, word), tail
	}
	for _, table := range tablesIn(line) {
		words = append(words, startingWith(n.columns(ctx, table), word)...)
	}
	if word != "" {
		words = append(words, startingWith(keywords, word)...)
	}
	slices.Sort(words)
	return head, slices.Compact(words), tail
}

// tablesIn finds the names behind FROM and JOIN.
func tablesIn(line string) (out []string) {
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n,();", r) })
	for i, w := range words {
		if i > 0 && (strings.EqualFold(words[i-1], "from") || strings.EqualFold(words[i-1], "join")) && strings.Contains(w, ".") {
			out = append(out, w)
		}
	}
	return out
}

var keywords = []string{
	"all", "and", "as", "asc", "at", "avg(", "between", "by", "case", "cast(", "count(", "count(*)", "cross join", "desc", "describe", "distinct", "else", "end", "except",
	"exists", "explain", "extract(", "false", "filter", "from", "full join", "group by", "having", "in", "inner join", "intersect", "interval", "is not null", "is null",
	"join", "lateral", "left join", "like", "limit", "max(", "min(", "not", "null", "offset", "on", "or", "order by", "over", "partition by", "qualify", "select",
	"sum(", "summarize", "then", "timestamp", "true", "union", "union all", "unnest(", "using", "values", "when", "where", "with",
}
