package lint

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

type release struct {
	Version int
	Before  struct{ Hooks []string }
	Builds  []struct {
		ID, Main, Dir, Binary string
		Env, Tags, Ldflags    []string
	}
	Archives []struct {
		ID    string
		IDs   []string `yaml:"ids"`
		Files []any
	}
	Checksum struct{ Algorithm string }
	SBOMs    []struct{ Artifacts string }  `yaml:"sboms"`
	Dockers  []struct{ Dockerfile string } `yaml:"dockers_v2"`
	NFPMs    []struct {
		Contents []struct{ Src string }
	} `yaml:"nfpms"`
}

// What a release is made of exists: programs, the variable that holds the version, hooks, container file; and what the hook makes is what packages hold.
func TestReleaseConfiguration(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var r release
	if err := yaml.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	builds := map[string]bool{}
	for _, b := range r.Builds {
		builds[b.ID] = true
		if _, err := os.Stat(filepath.Join(root, b.Dir, b.Main)); err != nil {
			t.Errorf("build %s: %v", b.ID, err)
		}
		switch b.ID {
		case "full":
			if !slices.Contains(b.Tags, "duckdb_arrow") || !slices.Contains(b.Env, "CGO_ENABLED=1") {
				t.Error("the full build lacks its engine")
			}
		case "pure":
			if len(b.Tags) > 0 || !slices.Contains(b.Env, "CGO_ENABLED=0") {
				t.Error("the pure build needs C")
			}
		}
		if b.Binary == "lakescan" && !strings.Contains(strings.Join(b.Ldflags, " "), "-X main.release=") {
			t.Errorf("build %s: its version is not set", b.ID)
		}
	}
	version, err := os.ReadFile(filepath.Join(root, "cmd", "lakescan", "version.go"))
	if err != nil || !strings.Contains(string(version), "var release = ") {
		t.Errorf("cmd/lakescan has no variable release: %v", err)
	}
	for _, id := range []string{"pure", "full"} {
		i := slices.IndexFunc(r.Archives, func(a struct {
			ID    string
			IDs   []string `yaml:"ids"`
			Files []any
		},
		) bool {
			return a.ID == id
		})
		if !builds[id] || i < 0 || !slices.Contains(r.Archives[i].IDs, id) || len(r.Archives[i].Files) < 4 {
			t.Errorf("flavour %s has no archive of its own with its extras", id)
		}
	}
	if r.Version != 2 || r.Checksum.Algorithm != "sha256" || len(r.SBOMs) == 0 || len(r.Dockers) == 0 {
		t.Errorf("version %d, checksums %q, %d SBOMs, %d images", r.Version, r.Checksum.Algorithm, len(r.SBOMs), len(r.Dockers))
	}
	for _, d := range r.Dockers {
		if _, err := os.Stat(filepath.Join(root, d.Dockerfile)); err != nil {
			t.Error(err)
		}
	}
	out := filepath.Join(t.TempDir(), "extras")
	hook := r.Before.Hooks[len(r.Before.Hooks)-1]
	if hook != "scripts/release-extras.sh out/extras" {
		t.Fatalf("the hook is %q", hook)
	}
	if text, err := exec.CommandContext(t.Context(), filepath.Join(root, "scripts", "release-extras.sh"), out).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, p := range r.NFPMs {
		for _, c := range p.Contents {
			if found, _ := filepath.Glob(filepath.Join(out, strings.TrimPrefix(c.Src, "out/extras/"))); len(found) == 0 {
				t.Errorf("packages hold %s, which nothing makes", c.Src)
			}
		}
	}
}
