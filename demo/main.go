// Command lakescan-demo is a lake on the loopback address, for `lakescan demo` and for trying any other client: an S3 store, an Iceberg REST
// catalog with the sample table demo.trips, and the same store once more behind 100 ms of latency.
//
//	lakescan-demo serve [-ready-fd N] [-latency 100] [-s3 ADDR] [-rest ADDR] [-slow ADDR] [-slow-rest ADDR]
//	lakescan-demo seed -s3 URL -rest URL       the sample table into servers that somebody else runs
//	lakescan-demo latency -toxiproxy URL       the delay of a proxy in front of such a store
//
// serve runs until SIGINT or SIGTERM, or, with -ready-fd, until its standard input ends, so it never outlives the program that started it. Once all
// is up it writes one JSON line (see Endpoints) to the file descriptor N, or two lines for people to standard error.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Endpoints says where the demo listens. It is the contract with `lakescan demo`.
type Endpoints struct {
	S3        string `json:"s3"`      // URL of the store
	SlowS3    string `json:"slow_s3"` // the same store, LatencyMS later
	LatencyMS int    `json:"latency_ms"`
	REST      string `json:"rest"` // URL of the catalog; its config names the store and the keys
	SlowREST  string `json:"slow_rest"`
	AccessKey string `json:"access_key"`
	SecretKey string `json:"secret_key"`
	Region    string `json:"region"`
	Table     string `json:"table"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "lakescan-demo:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	verbs := map[string]func(context.Context, []string) error{"serve": serve, "seed": seed, "latency": latency}
	if len(args) == 0 || verbs[args[0]] == nil {
		return fmt.Errorf("usage: lakescan-demo serve|seed|latency [flags]")
	}
	return verbs[args[0]](ctx, args[1:])
}

func serve(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	readyFD := flags.Int("ready-fd", -1, "write the endpoints as JSON to this file descriptor; end with standard input")
	flags.IntVar(&o.latencyMS, "latency", 100, "milliseconds that the slow store adds to each answer")
	flags.StringVar(&o.s3, "s3", "127.0.0.1:0", "address of the store")
	flags.StringVar(&o.slow, "slow", "127.0.0.1:0", "address of the slow store")
	flags.StringVar(&o.rest, "rest", "127.0.0.1:0", "address of the catalog")
	flags.StringVar(&o.slowREST, "slow-rest", "127.0.0.1:0", "address of the catalog that names the slow store")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if *readyFD >= 0 {
		go func() { io.Copy(io.Discard, os.Stdin); cancel() }() // ends with the process
	}
	l, err := start(ctx, o)
	if err != nil {
		return err
	}
	defer l.close()
	if err := announce(l.Endpoints, *readyFD); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func announce(e Endpoints, fd int) error {
	if fd < 0 {
		fmt.Fprintf(os.Stderr, "lakescan query --uri %s 'select region, count(*) from demo.trips group by region'\n", e.REST)
		fmt.Fprintf(os.Stderr, "S3 %s (slow: %s), access key %s, secret key %s, region %s; catalog %s (slow: %s)\n",
			e.S3, e.SlowS3, e.AccessKey, e.SecretKey, e.Region, e.REST, e.SlowREST)
		fmt.Fprintln(os.Stderr, "ready; Ctrl-C ends it")
		return nil
	}
	f := os.NewFile(uintptr(fd), "ready")
	if f == nil {
		return fmt.Errorf("file descriptor %d is not open", fd)
	}
	defer f.Close()
	return json.NewEncoder(f).Encode(e)
}
