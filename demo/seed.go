package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/lakescan/lakescan/toxiproxy"
)

// seed puts the sample table into a store and a catalog that somebody else runs; the bucket must exist. Running it again changes nothing.
func seed(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("seed", flag.ContinueOnError)
	s3 := flags.String("s3", "", "URL of the store; keys come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	rest := flags.String("rest", "", "URL of the Iceberg REST catalog")
	if err := flags.Parse(args); err != nil {
		return err
	}
	newest, err := upload(ctx, strings.TrimPrefix(*s3, "http://"), os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"))
	if err != nil {
		return fmt.Errorf("sample table: %w", err)
	}
	if err := post(ctx, *rest+"/v1/namespaces", map[string]any{"namespace": []string{"demo"}}); err != nil {
		return err
	}
	return post(ctx, *rest+"/v1/namespaces/demo/register", map[string]any{
		"name": "trips", "metadata-location": "s3://" + bucket + "/" + strings.TrimPrefix(newest, "lake/"),
	})
}

// post accepts 409: what is to be made is there.
func post(ctx context.Context, url string, body any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(b))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
	if resp.StatusCode/100 != 2 && resp.StatusCode != http.StatusConflict {
		return fmt.Errorf("POST %s: %s: %s", url, resp.Status, text)
	}
	return nil
}

// latency sets the delay of a toxiproxy proxy.
func latency(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("latency", flag.ContinueOnError)
	url := flags.String("toxiproxy", "http://127.0.0.1:8474", "URL of the control API")
	proxy := flags.String("proxy", "s3", "name of the proxy")
	ms := flags.Int("ms", 100, "milliseconds added to each answer")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return (&toxiproxy.Client{BaseURL: *url}).Apply(ctx, *proxy, toxiproxy.Latency(*ms))
}
