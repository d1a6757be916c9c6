package integration

import (
	"net"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/lakescan/lakescan/internal/rig"
)

func loadCompose(t *testing.T) *types.Project {
	t.Helper()
	opts, err := cli.NewProjectOptions([]string{"../docker-compose.yml"}, cli.WithName("lakescan"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := opts.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Syntax, references and our rules; that the images start is seen on a machine with an engine.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	p := loadCompose(t)
	tagged := regexp.MustCompile(`^[^:]+(:[0-9]+/[^:]+)?:[A-Za-z0-9._-]+$`)
	for name, s := range p.Services {
		if s.Build == nil && (!tagged.MatchString(s.Image) || strings.HasSuffix(s.Image, ":latest")) {
			t.Errorf("%s: image %q has no pinned tag", name, s.Image)
		}
		for _, port := range s.Ports {
			if ip := net.ParseIP(port.HostIP); ip == nil || !ip.IsLoopback() {
				t.Errorf("%s: port %s is published beyond the loopback address", name, port.Published)
			}
		}
		if len(s.Ports) > 0 && s.HealthCheck == nil {
			t.Errorf("%s serves, but has no health check", name)
		}
		for dep, d := range s.DependsOn {
			if d.Condition != types.ServiceConditionHealthy && d.Condition != types.ServiceConditionCompletedSuccessfully {
				t.Errorf("%s depends on %s with condition %q: it would race the start", name, dep, d.Condition)
			}
		}
	}
}

// The compose services and the processes of the rig are the same servers with the same keys.
func TestComposeEqualsRig(t *testing.T) {
	t.Parallel()
	p := loadCompose(t)
	env := func(service, key string) string {
		v := p.Services[service].Environment[key]
		if v == nil {
			t.Errorf("%s: no variable %s", service, key)
			return ""
		}
		return *v
	}
	for _, c := range []struct{ service, key, want string }{
		{"minio", "MINIO_ROOT_USER", rig.AccessKey},
		{"minio", "MINIO_ROOT_PASSWORD", rig.SecretKey},
		{"rest", "AWS_ACCESS_KEY_ID", rig.AccessKey},
		{"rest", "AWS_SECRET_ACCESS_KEY", rig.SecretKey},
		{"rest", "AWS_REGION", rig.Region},
		{"rest", "CATALOG_WAREHOUSE", "s3://" + rig.Warehouse + "/"},
		{"rest", "CATALOG_S3_PATH__STYLE__ACCESS", "true"},
		{"seed", "AWS_ACCESS_KEY_ID", rig.AccessKey},
	} {
		if got := env(c.service, c.key); got != c.want {
			t.Errorf("%s: %s is %q, the rig uses %q", c.service, c.key, got, c.want)
		}
	}
	pin, err := os.ReadFile("../tools/toxiproxy/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	image := p.Services["toxiproxy"].Image
	if version := image[strings.LastIndexByte(image, ':')+1:]; !strings.Contains(string(pin), "toxiproxy/v2 v"+version+" ") {
		t.Errorf("toxiproxy image %s is not the version of tools/toxiproxy/go.mod", image)
	}
}
