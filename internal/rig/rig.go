package rig

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/lakescan/lakescan/toxiproxy"
)

// Keys of the MinIO that the rig starts. docker-compose.yml uses the same (a test compares).
const (
	AccessKey = "lakescan"
	SecretKey = "lakescan-secret"
	Region    = "us-east-1"
	Warehouse = "warehouse" // bucket of the catalog
)

// Rig is the set of servers of one test binary. Fields are URLs without a trailing slash.
type Rig struct {
	S3       string            // MinIO itself
	Slow     string            // MinIO through toxiproxy's proxy Proxy
	REST     string            // the catalog
	Toxi     *toxiproxy.Client // control of toxiproxy
	MinIO    *Process          // nil when somebody else runs it
	Catalog  *Process          // the same
	dir      string
	shutdown []func()
}

// Proxy is the name of the toxiproxy proxy in front of MinIO.
const Proxy = "s3"

var shared struct {
	sync.Once
	*Rig
	err error
}

// Main runs the tests of a package and ends the servers that they started. Call it from TestMain.
func Main(m *testing.M) int {
	code := m.Run()
	if shared.Rig != nil {
		shared.Close()
	}
	return code
}

// Get returns the servers, started at first use.
func Get(t testing.TB) *Rig {
	t.Helper()
	shared.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
		defer cancel()
		shared.Rig, shared.err = start(ctx)
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.Rig
}

// Tools is the folder that integration/prepare.sh fills.
func Tools() string {
	if dir := os.Getenv("LAKESCAN_TOOLS"); dir != "" {
		return dir
	}
	cache, _ := os.UserCacheDir()
	return filepath.Join(cache, "lakescan", "tools")
}

// Python returns a command of the pinned readers' interpreter.
func Python(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, filepath.Join(Tools(), "python", "bin", "python"), args...)
}

func start(ctx context.Context) (_ *Rig, err error) {
	r := &Rig{S3: os.Getenv("LAKESCAN_TEST_S3"), REST: os.Getenv("LAKESCAN_TEST_REST")}
	if r.dir, err = os.MkdirTemp("", "lakescan-rig-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	if r.S3 == "" {
		if err := r.startMinIO(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.makeBucket(ctx, Warehouse); err != nil {
		return nil, err
	}
	if err := r.startToxiproxy(ctx); err != nil {
		return nil, err
	}
	if r.REST == "" {
		if err := r.startCatalog(ctx); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Close ends what the rig started, last first.
func (r *Rig) Close() {
	for i := len(r.shutdown) - 1; i >= 0; i-- {
		r.shutdown[i]()
	}
	r.shutdown = nil
	os.RemoveAll(r.dir)
}

func (r *Rig) run(name string, env []string, args ...string) (*Process, error) {
	if _, err := os.Stat(args[0]); filepath.IsAbs(args[0]) && err != nil {
		return nil, fmt.Errorf("rig: %w: run integration/prepare.sh first", err)
	}
	p, err := startProcess(r.dir, name, env, args...)
	if err == nil {
		r.shutdown = append(r.shutdown, p.Stop)
	}
	return p, err
}

func (r *Rig) startMinIO(ctx context.Context) error {
	addr, err := FreePort()
	if err != nil {
		return err
	}
	r.S3 = "http://" + addr
	p, err := r.run("minio", []string{
		"MINIO_ROOT_USER=" + AccessKey, "MINIO_ROOT_PASSWORD=" + SecretKey,
		"MINIO_UPDATE=off", "MINIO_BROWSER=off", "MINIO_CALLHOME_ENABLE=off",
	}, filepath.Join(Tools(), "minio"), "server", "--quiet", "--address", addr, filepath.Join(r.dir, "minio"))
	if err != nil {
		return err
	}
	r.MinIO = p
	return p.ready(ctx, func(ctx context.Context) error { return get(ctx, r.S3+"/minio/health/live") })
}

// RestartMinIO starts a MinIO that was stopped or killed and waits until it answers.
func (r *Rig) RestartMinIO(ctx context.Context) error {
	if err := r.MinIO.Start(); err != nil {
		return err
	}
	return r.MinIO.ready(ctx, func(ctx context.Context) error { return get(ctx, r.S3+"/minio/health/live") })
}

func (r *Rig) startToxiproxy(ctx context.Context) error {
	r.Toxi = &toxiproxy.Client{BaseURL: os.Getenv("LAKESCAN_TEST_TOXI")}
	if r.Toxi.BaseURL == "" {
		addr, err := FreePort()
		if err != nil {
			return err
		}
		r.Toxi.BaseURL = "http://" + addr
		p, err := r.run("toxiproxy", nil, filepath.Join(Tools(), "toxiproxy-server"), "-host", "127.0.0.1", "-port", portOf(addr))
		if err != nil {
			return err
		}
		if err := p.ready(ctx, func(ctx context.Context) error { _, err := r.Toxi.Version(ctx); return err }); err != nil {
			return err
		}
	}
	slow, err := FreePort()
	if err != nil {
		return err
	}
	r.Slow = "http://" + slow
	return r.Toxi.Create(ctx, toxiproxy.Proxy{Name: Proxy, Listen: slow, Upstream: r.S3[len("http://"):], Enabled: true})
}

func (r *Rig) startCatalog(ctx context.Context) error {
	addr, err := FreePort()
	if err != nil {
		return err
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return fmt.Errorf("rig: the REST catalog needs Java: %w", err)
	}
	r.REST = "http://" + addr
	catalog := filepath.Join(Tools(), "catalog")
	p, err := r.run("catalog", []string{
		"CATALOG_WAREHOUSE=s3://" + Warehouse + "/", "CATALOG_IO__IMPL=org.apache.iceberg.aws.s3.S3FileIO",
		"CATALOG_S3_ENDPOINT=" + r.S3, "CATALOG_S3_PATH__STYLE__ACCESS=true", "CATALOG_CLIENT_REGION=" + Region, "AWS_REGION=" + Region,
		"CATALOG_CATALOG__IMPL=org.apache.iceberg.jdbc.JdbcCatalog", "CATALOG_URI=jdbc:sqlite:" + filepath.Join(r.dir, "catalog.db"),
		"CATALOG_JDBC_SCHEMA__VERSION=V1", "CATALOG_REST_PORT=" + portOf(addr),
		"AWS_ACCESS_KEY_ID=" + AccessKey, "AWS_SECRET_ACCESS_KEY=" + SecretKey,
	}, java, "-Xmx512m", "-cp", filepath.Join(catalog, "classes")+":"+filepath.Join(catalog, "lib", "*"), "CatalogServer")
	if err != nil {
		return err
	}
	r.Catalog = p
	return r.catalogReady(ctx)
}

func (r *Rig) catalogReady(ctx context.Context) error {
	return r.Catalog.ready(ctx, func(ctx context.Context) error { return get(ctx, r.REST+"/v1/config") })
}

// RestartCatalog starts a catalog that was stopped or killed and waits until it answers. Its tables are on disk.
func (r *Rig) RestartCatalog(ctx context.Context) error {
	if err := r.Catalog.Start(); err != nil {
		return err
	}
	return r.catalogReady(ctx)
}

// Minio is a plain client of the server, for putting fixtures in place; it is no part of what is tested.
func (r *Rig) Minio() (*minio.Client, error) {
	return minio.New(r.S3[len("http://"):], &minio.Options{
		Creds: credentials.NewStaticV4(AccessKey, SecretKey, ""), Region: Region, BucketLookup: minio.BucketLookupPath,
	})
}

func (r *Rig) makeBucket(ctx context.Context, name string) error {
	c, err := r.Minio()
	if err != nil {
		return err
	}
	err = c.MakeBucket(ctx, name, minio.MakeBucketOptions{Region: Region})
	var e minio.ErrorResponse
	if errors.As(err, &e) && (e.Code == "BucketAlreadyOwnedByYou" || e.Code == "BucketAlreadyExists") {
		return nil
	}
	return err
}

// Bucket makes a bucket that is removed, with what is in it, when the test ends.
func (r *Rig) Bucket(t testing.TB, name string) string {
	t.Helper()
	if err := r.makeBucket(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c, err := r.Minio(); err == nil {
			c.RemoveBucketWithOptions(context.Background(), name, minio.RemoveBucketOptions{ForceDelete: true})
		}
	})
	return name
}

// Env are the variables with which other readers and the command line reach the rig; slow goes through the proxy.
func (r *Rig) Env(slow bool) []string {
	s3 := r.S3
	if slow {
		s3 = r.Slow
	}
	return []string{
		"S3_ENDPOINT=" + s3, "S3_DIRECT=" + r.S3, "REST_URI=" + r.REST,
		"AWS_ACCESS_KEY_ID=" + AccessKey, "AWS_SECRET_ACCESS_KEY=" + SecretKey, "AWS_REGION=" + Region,
	}
}

func get(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	return nil
}
