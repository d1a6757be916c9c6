package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/lakescan/lakescan/config"
	"github.com/lakescan/lakescan/failpoints"
	"github.com/lakescan/lakescan/internal/exit"
	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/query/render"
)

// app is one run of the program.
type app struct {
	streams
	stdout  *pipe
	stderr  io.Writer
	started time.Time
	redact  exit.Redactor
	log     *slog.Logger
	folder  string // where configuration is looked for; "" = the working folder and the user's own

	cfg       *config.Config // nil until the flags are read
	jsonError bool
	debug     bool
	interrupt atomic.Pointer[context.CancelCauseFunc] // what the first Ctrl-C ends instead of the run; of the prompt
	lateStats []byte                                  // a line of --stats=json that follows the error
}

// errQuiet ends the program as a success without a word: the reader of our output has gone.
var errQuiet = errors.New("stdout was closed")

// run is the program: it returns the exit code.
func run(args []string, s streams) exit.Code {
	signal.Ignore(syscall.SIGPIPE) // a write to a closed pipe is an error to be handled, not the end of the process
	a := &app{streams: s, started: time.Now(), stderr: s.err, log: slog.New(slog.DiscardHandler)}
	a.stdout = &pipe{w: s.out}
	a.jsonError = wantsJSONErrors(args, s.env)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	stop := a.catchSignals(cancel)
	defer stop()

	if err := a.armFailpoints(); err != nil {
		return a.finish(err)
	}
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	return a.finish(err)
}

// armFailpoints arms what the environment asks for, and never without a word: nobody should hunt a fault that he made himself.
func (a *app) armFailpoints() error {
	spec := lookup(a.env, failpoints.EnvVar)
	if spec == "" {
		return nil
	}
	if err := failpoints.Arm(spec); err != nil {
		return exit.Usagef("%s: %v", failpoints.EnvVar, err).WithHint("lakescan debug failpoints")
	}
	fmt.Fprintf(a.stderr, "lakescan: warning: faults are armed (%s): %s\n", failpoints.EnvVar, spec)
	return nil
}

// drain is how long a first Ctrl-C may take to end the work.
const drain = 2 * time.Second

// catchSignals: the first one cancels, a second one, or two seconds, end the process at once.
func (a *app) catchSignals(cancel context.CancelCauseFunc) (stop func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		for ended := false; !ended; {
			select {
			case <-done:
				return
			case <-signals:
				if statement := a.interrupt.Load(); statement != nil {
					(*statement)(exit.ErrInterrupted)
					continue
				}
				cancel(exit.ErrInterrupted)
				ended = true
			}
		}
		select {
		case <-done:
		case <-signals:
			os.Exit(int(exit.Interrupted))
		case <-time.After(drain):
			fmt.Fprintln(a.stderr, "lakescan: interrupted; some work did not end in time")
			os.Exit(int(exit.Interrupted))
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// finish prints an error and gives its code.
func (a *app) finish(err error) exit.Code {
	if a.stdout.closed.Load() || errors.Is(err, errQuiet) {
		return exit.OK
	}
	if err == nil {
		return exit.OK
	}
	o := exit.Describe(a.explainError(err), &a.redact)
	if hint := a.originHint(err, o.Code); hint != "" {
		o.Hint = a.redact.Clean(hint)
	}
	if a.jsonError {
		_, _ = a.stderr.Write(o.JSON())
	} else {
		_, _ = io.WriteString(a.stderr, o.Text())
	}
	_, _ = a.stderr.Write(a.lateStats)
	if a.debug {
		fmt.Fprintf(a.stderr, "%s\n", a.redact.Clean(fmt.Sprintf("%#v", err)))
	}
	return o.Code
}

// explainError turns what cobra says about the command line into a usage error, and gives faults of the configuration their class.
func (a *app) explainError(err error) error {
	if errors.Is(err, config.ErrInvalid) {
		return exit.Usagef("%s", strings.ReplaceAll(err.Error(), "\n", "\n  "))
	}
	if exit.Of(err) == exit.Failed && isCobra(err) {
		return exit.Usagef("%v", err).WithHint("lakescan --help")
	}
	return err
}

// originHint names the setting behind a refusal or an outage.
func (a *app) originHint(err error, code exit.Code) string {
	if a.cfg == nil {
		return ""
	}
	ofStore := errors.Is(err, object.ErrDenied) || errors.Is(err, object.ErrUnavailable)
	switch {
	case code == exit.Denied && ofStore && a.cfg.KeysOrigin() == "":
		return "the store was asked without keys (" + a.cfg.Origin(config.KeyAnonymous) + ")"
	case code == exit.Denied && ofStore:
		return "check the S3 keys; they come from " + a.cfg.KeysOrigin()
	case code == exit.Denied:
		return "check the catalog's token or credential (lakescan config show); the catalog is " + a.cfg.AddressOrigin(false)
	case code == exit.Unavailable && !object.Throttled(err):
		return "check the address, or raise --retries; it comes from " + a.cfg.AddressOrigin(ofStore)
	}
	return ""
}

// isCobra knows the texts of cobra and pflag, which have no types.
func isCobra(err error) bool {
	for _, head := range []string{"unknown command", "unknown flag", "unknown shorthand", "flag needs an argument", "invalid argument", "accepts ", "requires ", "required flag", "if any flags in the group", "bad flag syntax"} {
		if strings.HasPrefix(err.Error(), head) {
			return true
		}
	}
	return false
}

// wantsJSONErrors looks at the raw command line, since an error may come before it is understood.
func wantsJSONErrors(args, env []string) bool {
	output, format := "", ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "LAKESCAN_OUTPUT="); ok {
			output = v
		}
		if v, ok := strings.CutPrefix(kv, "LAKESCAN_ERROR_FORMAT="); ok {
			format = v
		}
	}
	value := func(i int, long, short string) (string, bool) {
		a := args[i]
		for _, name := range []string{long, short} {
			if name == "" {
				continue
			}
			if a == name && i+1 < len(args) {
				return args[i+1], true
			}
			if v, ok := strings.CutPrefix(a, name+"="); ok {
				return v, true
			}
		}
		if v, ok := strings.CutPrefix(a, "-o"); ok && short == "-o" && !strings.HasPrefix(a, "--") && v != "" {
			return v, true
		}
		return "", false
	}
	for i, a := range args {
		if a == "--" {
			break
		}
		if v, ok := value(i, "--output", "-o"); ok {
			output = v
		}
		if v, ok := value(i, "--error-format", ""); ok {
			format = v
		}
	}
	return jsonErrors(format, output)
}

func jsonErrors(format, output string) bool {
	switch strings.ToLower(format) {
	case "json":
		return true
	case "text":
		return false
	}
	f := render.Format(strings.ToLower(output))
	return f == render.JSON || f == render.NDJSON
}

// pipe is stdout. Once its reader has gone, every write says so, and the program ends quietly.
type pipe struct {
	w      io.Writer
	closed atomic.Bool
}

func (p *pipe) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
		p.closed.Store(true)
		err = errQuiet
	}
	return n, err
}

// setup reads the configuration once the flags are known.
func (a *app) setup(cmd *cobra.Command) error {
	if a.cfg != nil {
		return nil
	}
	flags := map[string]string{}
	for _, s := range config.Settings() {
		if f := cmd.Flags().Lookup(s.Flag); f != nil && s.Flag != "" && f.Changed {
			flags[s.Flag] = f.Value.String()
		}
	}
	cfg, err := config.Load(config.Input{Flags: flags, Env: a.env, Dir: a.folder, Home: a.folder})
	if err != nil {
		return err
	}
	a.cfg = cfg
	a.redact.Add(cfg.Secrets()...)
	a.jsonError = jsonErrors(cfg.Text(config.KeyErrorFormat), cfg.Text(config.KeyOutput))
	a.debug, _ = cmd.Flags().GetBool("debug")
	verbose, _ := cmd.Flags().GetCount("verbose")
	a.log = a.logger(verbose)
	for _, e := range cfg.Entries(false) {
		if e.Note != "" {
			a.log.Warn("ignored", "key", e.Key, "origin", e.Origin, "why", e.Note)
		}
	}
	return nil
}

// logger writes to stderr: nothing by default, -v info, -vv debug. Secrets are taken out of every line.
func (a *app) logger(verbose int) *slog.Logger {
	if verbose == 0 && !a.debug {
		return slog.New(slog.DiscardHandler)
	}
	o := &slog.HandlerOptions{Level: slog.LevelInfo}
	if verbose > 1 || a.debug {
		o.Level = slog.LevelDebug
	}
	w := cleanWriter{a}
	if a.cfg.Text(config.KeyLogFormat) == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// cleanWriter takes secrets out of whole lines.
type cleanWriter struct{ a *app }

func (c cleanWriter) Write(b []byte) (int, error) {
	if _, err := io.WriteString(c.a.stderr, c.a.redact.Clean(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}
