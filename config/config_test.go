package config

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/source"
)

// place is a home and a working folder with files in them.
func place(t *testing.T, files map[string]string, env ...string) Input {
	t.Helper()
	root := t.TempDir()
	in := Input{Home: filepath.Join(root, "home"), Dir: filepath.Join(root, "home", "work"), Env: env}
	for name, body := range files {
		path := filepath.Join(root, "home", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if in.Env == nil {
		in.Env = []string{}
	}
	return in
}

func load(t *testing.T, in Input) *Config {
	t.Helper()
	c, err := Load(in)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func show(c *Config, all bool) string {
	var b strings.Builder
	for _, e := range c.Entries(all) {
		b.WriteString(e.Key + " = " + e.Value + " (" + e.Origin + ")")
		if e.Note != "" {
			b.WriteString(" " + e.Note)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestNothingIsFine(t *testing.T) {
	t.Parallel()
	c := load(t, place(t, nil))
	if got := show(c, false); got != "" {
		t.Errorf("%s", got)
	}
	cfg := c.Client(nil)
	if cfg.CatalogName != "default" || cfg.PoolSlots != 128 || cfg.Retries != 4 || cfg.Memory != 0 || cfg.Depth != source.Auto || cfg.Catalog.URI != "" {
		t.Errorf("%+v", cfg)
	}
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
	c = load(t, Input{Flags: map[string]string{"uri": "http://127.0.0.1:8181"}, Env: []string{}, Home: t.TempDir(), Dir: t.TempDir()})
	if got := c.Client(nil).Catalog.URI; got != "http://127.0.0.1:8181" {
		t.Errorf("uri is %q", got)
	}
}

// Each layer beats the ones below, and the origin says which it was.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"work/lakescan.yaml":           "memory: 3GiB\nprefetch:\n  order: arrival\n  max-files-to-prefetch: 3\n",
		".config/lakescan/config.yaml": "memory: 4GiB\nprefetch.order: file\noutput: tsv\n",
	}
	steps := []struct {
		flags  map[string]string
		env    []string
		value  string
		origin string
	}{
		{nil, nil, "3GiB", "./lakescan.yaml:1"},
		{nil, []string{"LAKESCAN_MEMORY=2GiB"}, "2GiB", "LAKESCAN_MEMORY"},
		{map[string]string{"memory": "1GiB"}, []string{"LAKESCAN_MEMORY=2GiB"}, "1GiB", "--memory"},
	}
	for _, s := range steps {
		in := place(t, files, s.env...)
		in.Flags = s.flags
		c := load(t, in)
		if c.Text(KeyMemory) != s.value || c.Origin(KeyMemory) != s.origin {
			t.Errorf("memory is %s from %s, want %s from %s", c.Text(KeyMemory), c.Origin(KeyMemory), s.value, s.origin)
		}
		if c.Text(KeyOrder) != "arrival" || c.Origin(KeyOrder) != "./lakescan.yaml:3" || c.Origin(KeyOutput) != "~/.config/lakescan/config.yaml:3" {
			t.Errorf("order from %s, output from %s", c.Origin(KeyOrder), c.Origin(KeyOutput))
		}
		if cfg := c.Client(nil); cfg.Order != source.ArrivalOrder || cfg.Depth != 3 {
			t.Errorf("%+v", cfg)
		}
	}
}

// A PyIceberg user's file and variables work unchanged.
func TestPyIceberg(t *testing.T) {
	t.Parallel()
	in := place(t, map[string]string{
		".pyiceberg.yaml": `
default-catalog: Prod
catalog:
  Prod:
    type: rest
    uri: https://cat.example/api
    credential: client:very-long-secret-value
    s3.endpoint: http://127.0.0.1:9000
    header.x-team: lake
    py-io-impl: pyiceberg.io.pyarrow.PyArrowFileIO
  other:
    uri: http://other
max-workers: 4
`,
		"work/.pyiceberg.yaml": "catalog:\n  prod:\n    uri: http://never-read\n",
	}, "PYICEBERG_CATALOG__PROD__S3__ACCESS_KEY_ID=AKIA", "PYICEBERG_CATALOG__PROD__S3__SECRET_ACCESS_KEY=sssssssssssssssss1234",
		"PYICEBERG_CATALOG__PROD__URI=https://env.example", "PYICEBERG_CATALOG__PROD__A__B__C_D=deep", "PYICEBERG_MAX_WORKERS=8")
	c := load(t, in)
	want := `default-catalog = Prod (~/.pyiceberg.yaml:2)
catalog.other.uri = http://other (~/.pyiceberg.yaml:12)
catalog.prod.a.b.c-d = deep (PYICEBERG_CATALOG__PROD__A__B__C_D)
catalog.prod.credential = client:****alue (~/.pyiceberg.yaml:7)
catalog.prod.header.x-team = **** (~/.pyiceberg.yaml:9)
catalog.prod.s3.access-key-id = AKIA (PYICEBERG_CATALOG__PROD__S3__ACCESS_KEY_ID)
catalog.prod.s3.endpoint = http://127.0.0.1:9000 (~/.pyiceberg.yaml:8)
catalog.prod.s3.secret-access-key = ****1234 (PYICEBERG_CATALOG__PROD__S3__SECRET_ACCESS_KEY)
catalog.prod.type = rest (~/.pyiceberg.yaml:5)
catalog.prod.uri = https://env.example (PYICEBERG_CATALOG__PROD__URI)
catalog.prod.py-io-impl = pyiceberg.io.pyarrow.PyArrowFileIO (~/.pyiceberg.yaml:10) PyIceberg's own
max-workers = 8 (PYICEBERG_MAX_WORKERS) PyIceberg's own
max-workers = 4 (~/.pyiceberg.yaml:13) PyIceberg's own
`
	if got := show(c, false); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	cfg := c.Client(nil)
	if cfg.CatalogName != "prod" || cfg.Catalog.URI != "https://env.example" || cfg.Catalog.Properties["s3.endpoint"] != "http://127.0.0.1:9000" || cfg.Catalogs["other"].URI != "http://other" {
		t.Errorf("%+v", cfg.Catalog)
	}
	if o := cfg.Catalog.Origin("credential"); o != "~/.pyiceberg.yaml:7" {
		t.Errorf("the credential is from %s", o)
	}
	for _, secret := range []string{"very-long-secret-value", "sssssssssssssssss1234", "lake"} {
		if !slices.Contains(c.Secrets(), secret) {
			t.Errorf("%s is not among the secrets", secret)
		}
	}
	// --uri beats the file of the catalog in use, and makes no other.
	in.Flags = map[string]string{"uri": "http://flag", "catalog": "OTHER"}
	cfg = load(t, in).Client(nil)
	if cfg.Catalog.URI != "http://flag" || cfg.Catalogs["prod"].URI != "https://env.example" {
		t.Errorf("%+v", cfg)
	}
}

func TestPyIcebergHomeComesFirst(t *testing.T) {
	t.Parallel()
	in := place(t, map[string]string{"a/.pyiceberg.yaml": "catalog: {default: {uri: http://a}}", ".pyiceberg.yaml": "catalog: {default: {uri: http://b}}"})
	in.Env = []string{"PYICEBERG_HOME=" + filepath.Join(in.Home, "a")}
	c := load(t, in)
	if c.Client(nil).Catalog.URI != "http://a" {
		t.Errorf("%s", show(c, false))
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, want string }{
		{"memroy: 1GiB", "./lakescan.yaml:1: memroy: unknown setting: did you mean memory?"},
		{"output: jsn", `./lakescan.yaml:1: output: "jsn" is not one of auto, table, markdown, csv, tsv, json, ndjson, arrow, parquet, null: did you mean json`},
		{"memory: lots", `"lots" is not a size such as 64MiB, and not auto`},
		{"timeout: 5", `"5" is not a duration such as 30s or 5m, and not none`},
		{"max-rows: -1", `"-1" is not a whole number from 0`},
		{"prefetch: {pool-size: 0}", `"0" is not a whole number from 1`},
		{"case-sensitive: perhaps", `"perhaps" is not true or false`},
		{"tz: Mars/Olympus", `"Mars/Olympus" is not a time zone`},
		{"map-location: [a=b, c]", `"c" is not FROM=TO`},
		{"memory: [1GiB]", "./lakescan.yaml:1: memory: takes no list"},
		{"- a", "takes no list"},
		{"a: &x 1\nmemory: *x", "aliases are not supported"},
		{"a: b: c", "mapping values are not allowed"},
		{"just text", "not a map of settings"},
		{"s3: {endpoint: http://http://x}", "is not an address"},
	} {
		_, err := Load(place(t, map[string]string{"work/lakescan.yaml": c.body}))
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n got %v\nwant …%s…", c.body, err, c.want)
		}
	}
	// All faults at once, each with its place.
	_, err := Load(place(t, map[string]string{"work/lakescan.yaml": "memory: x\nfoo: 1\n"}, "LAKESCAN_TIMEOUT=soon"))
	for _, want := range []string{"./lakescan.yaml:1", "./lakescan.yaml:2: foo", "LAKESCAN_TIMEOUT: timeout: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %s", err, want)
		}
	}
	c := load(t, place(t, nil, "LAKESCAN_MEMROY=1GiB", "LAKESCAN_DEMO=1"))
	if got := show(c, false); got != "LAKESCAN_MEMROY =  (environment) unknown: did you mean LAKESCAN_MEMORY?\n" {
		t.Errorf("%s", got)
	}
}

// Every setting can be given as a flag (secrets excepted), a variable, and in a file.
func TestEverySettingHasThreeNames(t *testing.T) {
	t.Parallel()
	flags, envs, keys := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, s := range Settings() {
		if flags[s.Flag] && s.Flag != "" || envs[s.Env()] || keys[s.Key] {
			t.Errorf("%s has a name of another setting", s.Key)
		}
		flags[s.Flag], envs[s.Env()], keys[s.Key] = true, true, true
		if s.secret != (s.Flag == "") && s.Key != KeyAccessKey {
			t.Errorf("%s: secrets, and only they, have no flag", s.Key)
		}
		if s.Default != "" {
			if n, err := s.normal(s.Default); err != nil || n != s.Default {
				t.Errorf("the default of %s is %q, %v", s.Key, n, err)
			}
		}
		text := s.Default
		if s.Values != nil {
			text = strings.ToUpper(s.Values[len(s.Values)-1])
		} else if s.Switch {
			text = "TRUE"
		} else if s.List {
			text = "s3://a/=s3://b/"
		}
		c := load(t, place(t, nil, s.Env()+"="+text))
		if text != "" && c.Origin(s.Key) != s.Env() {
			t.Errorf("%s=%s: origin is %s", s.Env(), text, c.Origin(s.Key))
		}
	}
}

func TestAccess(t *testing.T) {
	t.Parallel()
	ask := func(in Input) object.Access {
		cfg := load(t, in).Client(nil)
		a, err := object.Layered(object.Static(cfg.S3.Access), cfg.S3.Fallback).Access(t.Context(), object.Location{}, object.Access{})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	env := []string{"AWS_ACCESS_KEY_ID=env", "AWS_SECRET_ACCESS_KEY=s", "AWS_REGION=eu-1", "AWS_ENDPOINT_URL=http://env"}
	if a := ask(place(t, nil, env...)); a.KeyID != "env" || a.Region != "eu-1" || a.Endpoint != "http://env" {
		t.Errorf("environment: %v", a)
	}
	cat := map[string]string{"work/lakescan.yaml": "catalog: {default: {s3.access-key-id: cat, s3.secret-access-key: x, s3.endpoint: 'http://cat', s3.path-style-access: true}}"}
	if a := ask(place(t, cat, env...)); a.KeyID != "cat" || a.Endpoint != "http://cat" || a.Region != "eu-1" || !a.PathStyle {
		t.Errorf("catalog: %v", a)
	}
	in := place(t, cat, env...)
	in.Flags = map[string]string{"endpoint-url": "http://flag", "path-style": "OFF", "no-sign-request": "true"}
	if a := ask(in); a.KeyID != "" || !a.Anonymous || a.Endpoint != "http://flag" || !a.VirtualHost || a.PathStyle {
		t.Errorf("flags: %v", a)
	}
}

// AWS's variables are shown where they count.
func TestAWSEntries(t *testing.T) {
	t.Parallel()
	in := place(t, nil, "AWS_ACCESS_KEY_ID=AKIAX", "AWS_SECRET_ACCESS_KEY=abcdefghijklmnopqrst", "AWS_REGION=eu-1", "AWS_DEFAULT_REGION=x", "AWS_PROFILE=lake")
	in.Flags = map[string]string{"region": "us-1"}
	want := `s3.region = us-1 (--region)
s3.access-key-id = AKIAX (AWS_ACCESS_KEY_ID)
s3.secret-access-key = ****qrst (AWS_SECRET_ACCESS_KEY)
s3.profile = lake (AWS_PROFILE)
`
	if got := show(load(t, in), false); got != want {
		t.Errorf("%s", got)
	}
}

func TestCredentialCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	count := filepath.Join(dir, "count")
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := &command{
		now:  func() time.Time { return now },
		line: `echo x >> ` + count + `; echo '{"Version":1,"AccessKeyId":"k","SecretAccessKey":"s","SessionToken":"t","Expiration":"2026-01-01T01:00:00Z"}'`,
	}
	runs := func() int {
		b, _ := os.ReadFile(count)
		return strings.Count(string(b), "x")
	}
	for range 3 {
		if a, err := c.Access(t.Context(), object.Location{}, object.Access{}); err != nil || a.KeyID != "k" || a.Secret != "s" || a.Token != "t" {
			t.Fatalf("%v, %v", a, err)
		}
	}
	if runs() != 1 {
		t.Errorf("%d runs for fresh keys", runs())
	}
	if _, err := c.Access(t.Context(), object.Location{}, object.Access{KeyID: "k", Token: "t"}); err != nil || runs() != 2 {
		t.Errorf("refused keys: %d runs, %v", runs(), err)
	}
	now = now.Add(56 * time.Minute)
	if _, err := c.Access(t.Context(), object.Location{}, object.Access{}); err != nil || runs() != 3 {
		t.Errorf("old keys: %d runs, %v", runs(), err)
	}
	for _, line := range []string{"exit 3", "echo '{\"AccessKeyId\":\"planted-secret\"'", "echo '{}'"} {
		_, err := (&command{line: line, now: time.Now}).Access(t.Context(), object.Location{}, object.Access{})
		if !errors.Is(err, object.ErrDenied) || strings.Contains(err.Error(), "planted") {
			t.Errorf("%s: %v", line, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&command{line: "sleep 10", now: time.Now}).Access(ctx, object.Location{}, object.Access{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"64MiB": 64 << 20, "64 mib": 64 << 20, "64MB": 64e6, "1.5GiB": 3 << 29, "10": 10, "0": 0, "2k": 2048, "7B": 7, "1G": 1 << 30} {
		got, err := ParseSize(text)
		if err != nil || got != want {
			t.Errorf("%s is %d, %v", text, got, err)
		}
		if back, err := ParseSize(FormatSize(got)); err != nil || back != got {
			t.Errorf("%d prints as %s", got, FormatSize(got))
		}
	}
	for _, text := range []string{"", "x", "-1", "1XB", "MiB", "1e30", "nan", "9EiB"} {
		if n, err := ParseSize(text); err == nil {
			t.Errorf("%q is %d", text, n)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.00 KiB", 38 << 20: "38.0 MiB", 4402341478: "4.10 GiB", 1 << 40: "1.00 TiB", 999 << 20: "999 MiB"} {
		if got := HumanSize(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

func FuzzFile(f *testing.F) {
	f.Add("memory: 1GiB\ncatalog:\n  a:\n    uri: x\n")
	f.Add("a: [1, {b: c}]\n? {x: y}\n: z")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, body string) {
		if err := os.WriteFile(filepath.Join(dir, "lakescan.yaml"), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(Input{Dir: dir, Home: filepath.Join(dir, "none"), Env: []string{}}); err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%v", err)
		}
	})
}
