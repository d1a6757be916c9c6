package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/lakescan/lakescan/config"
)

// progress is one line on stderr, redrawn at most ten times a second and gone before anything else is printed.
type progress struct {
	w     io.Writer
	text  func() string
	done  chan struct{}
	wg    sync.WaitGroup
	once  sync.Once
	drawn bool
}

// The line appears after this time, so that quick commands stay quiet.
const (
	progressDelay = 500 * time.Millisecond
	progressStep  = 100 * time.Millisecond
)

// newProgress starts the line if it is wanted; nil otherwise, on which stop may be called.
func (a *app) newProgress(cmd *cobra.Command, text func() string) *progress {
	quiet, _ := cmd.Flags().GetBool("quiet")
	mode := a.cfg.Text(config.KeyProgress)
	if quiet || a.jsonError || mode == "never" || mode == "auto" && (!a.errTTY || lookup(a.env, "TERM") == "dumb") {
		return nil
	}
	p := &progress{w: a.stderr, text: text, done: make(chan struct{})}
	p.wg.Go(p.loop)
	return p
}

func (p *progress) loop() {
	wait := time.NewTimer(progressDelay)
	defer wait.Stop()
	for {
		select {
		case <-p.done:
			if p.drawn {
				_, _ = io.WriteString(p.w, "\r\x1b[K")
			}
			return
		case <-wait.C:
			_, _ = io.WriteString(p.w, "\r"+p.text()+"\x1b[K")
			p.drawn = true
			wait.Reset(progressStep)
		}
	}
}

// stop erases the line and waits until that is done; idempotent.
func (p *progress) stop() {
	if p == nil {
		return
	}
	p.once.Do(func() {
		close(p.done)
		p.wg.Wait()
	})
}

// meterText is the line of a scan: files, bytes, rate, look-ahead.
func (s *session) meterText() func() string {
	began := time.Now()
	return func() string {
		files, depth := s.files()
		n := s.fetched()
		parts := []string{}
		if files > 0 {
			parts = append(parts, fmt.Sprintf("%d files", files))
		}
		parts = append(parts, config.HumanSize(n))
		if d := time.Since(began).Seconds(); d > 0 {
			parts = append(parts, config.HumanSize(int64(float64(n)/d))+"/s")
		}
		if st := s.client.Requests(); st.InFlight > 0 {
			parts = append(parts, fmt.Sprintf("%d in flight", st.InFlight))
		}
		if depth > 0 {
			parts = append(parts, fmt.Sprintf("depth %d", depth))
		}
		return strings.Join(parts, "  ")
	}
}
