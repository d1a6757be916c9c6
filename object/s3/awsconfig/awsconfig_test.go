package awsconfig_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/lakescan/lakescan/object"
	"github.com/lakescan/lakescan/object/s3/awsconfig"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const sharedConfig = `
[default]
region = eu-west-1
endpoint_url = http://all.example

[profile lake]
region = eu-north-1
services = local

[services local]
s3 =
  endpoint_url = http://s3.example:9000

[profile process]
region = ap-south-1
credential_process = printf '{"Version":1,"AccessKeyId":"PROCESS","SecretAccessKey":"s","SessionToken":"t","Expiration":"2999-01-01T00:00:00Z"}'

[profile empty]
region = us-west-2
`

const sharedCredentials = `
[default]
aws_access_key_id = DEFAULT
aws_secret_access_key = s1

[lake]
aws_access_key_id = LAKE
aws_secret_access_key = s2
aws_session_token = t2
`

// isolate points every variable of the AWS tools at the test's files; so these tests do not run in parallel.
func isolate(t *testing.T) {
	t.Helper()
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"config": sharedConfig, "credentials": sharedCredentials} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(dir, "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "credentials"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

func TestFilesAndProfiles(t *testing.T) {
	isolate(t)
	for _, c := range []struct {
		profile string
		want    object.Access
	}{
		{"", object.Access{Endpoint: "http://all.example", Region: "eu-west-1", KeyID: "DEFAULT", Secret: "s1"}},
		{"lake", object.Access{Endpoint: "http://s3.example:9000", Region: "eu-north-1", KeyID: "LAKE", Secret: "s2", Token: "t2"}},
		{"process", object.Access{Region: "ap-south-1", KeyID: "PROCESS", Secret: "s", Token: "t"}},
	} {
		s := awsconfig.New(awsconfig.Config{Profile: c.profile})
		got, err := s.Access(t.Context(), object.Location{}, object.Access{})
		expires := got.Expires
		got.Expires = c.want.Expires
		if err != nil || got != c.want || s.Origin() == "" || expires.IsZero() == (c.profile == "process") {
			t.Errorf("%q: %#v, expires %v, from %q, %v", c.profile, got, expires, s.Origin(), err)
		}
	}
}

func TestEnvironmentBeatsFiles(t *testing.T) {
	isolate(t)
	t.Setenv("AWS_PROFILE", "lake")
	t.Setenv("AWS_ACCESS_KEY_ID", "ENV")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s3")
	t.Setenv("AWS_REGION", "sa-east-1")
	t.Setenv("AWS_ENDPOINT_URL", "http://env.example")
	for _, c := range []struct{ service, ignore, want string }{
		{"", "", "http://s3.example:9000"}, // of the service before of all, whatever the place
		{"http://env-s3.example", "", "http://env-s3.example"},
		{"http://env-s3.example", "true", ""},
	} {
		t.Setenv("AWS_ENDPOINT_URL_S3", c.service)
		t.Setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", c.ignore)
		got, err := awsconfig.New(awsconfig.Config{}).Access(t.Context(), object.Location{}, object.Access{})
		if want := (object.Access{Endpoint: c.want, Region: "sa-east-1", KeyID: "ENV", Secret: "s3"}); err != nil || got != want {
			t.Errorf("%+v: %#v, %v", c, got, err)
		}
	}
}

func TestSettingsNeedNoKeys(t *testing.T) {
	isolate(t)
	s := awsconfig.New(awsconfig.Config{Profile: "empty"})
	got, err := s.Settings(t.Context(), object.Location{})
	if err != nil || got != (object.Access{Region: "us-west-2"}) {
		t.Errorf("%#v, %v", got, err)
	}
	for range 2 { // the second answer is remembered
		_, err = s.Access(t.Context(), object.Location{}, object.Access{})
		if !errors.Is(err, object.ErrDenied) || !strings.Contains(err.Error(), "anonymous") {
			t.Errorf("%v", err)
		}
	}
	// Explicit anonymous mode never looks for them.
	a, err := object.Layered(object.Static(object.Access{Anonymous: true}), s).Access(t.Context(), object.Location{}, object.Access{})
	if err != nil || !a.Anonymous || a.Region != "us-west-2" {
		t.Errorf("%#v, %v", a, err)
	}
}

func TestProfileThatIsNotThere(t *testing.T) {
	isolate(t)
	_, err := awsconfig.New(awsconfig.Config{Profile: "nobody"}).Settings(t.Context(), object.Location{})
	if !errors.Is(err, object.ErrInvalid) || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("%v", err)
	}
}

// A key that was refused is looked for again: the process hands out another one.
func TestStaleKeysAreRenewed(t *testing.T) {
	isolate(t)
	dir := t.TempDir()
	counter, script, file := filepath.Join(dir, "n"), filepath.Join(dir, "keys.sh"), filepath.Join(dir, "config")
	for name, text := range map[string]string{
		script: "echo x >> " + counter + "\n" +
			`printf '{"Version":1,"AccessKeyId":"K%d","SecretAccessKey":"s","SessionToken":"t","Expiration":"2999-01-01T00:00:00Z"}' $(wc -l < ` + counter + ")\n",
		file: "[profile turns]\ncredential_process = sh " + script + "\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := awsconfig.New(awsconfig.Config{Profile: "turns", ConfigFiles: []string{file}, CredentialsFiles: []string{}})
	first, err := s.Access(t.Context(), object.Location{}, object.Access{})
	if err != nil || first.KeyID != "K1" {
		t.Fatalf("%#v, %v", first, err)
	}
	for _, stale := range []object.Access{first, first} { // twice the same refusal renews once
		got, err := s.Access(t.Context(), object.Location{}, stale)
		if err != nil || got.KeyID != "K2" {
			t.Errorf("%#v, %v", got, err)
		}
	}
}

func TestCancel(t *testing.T) {
	isolate(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := awsconfig.New(awsconfig.Config{Profile: "process"})
	if _, err := s.Access(ctx, object.Location{}, object.Access{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if a, err := s.Access(t.Context(), object.Location{}, object.Access{}); err != nil || a.KeyID != "PROCESS" {
		t.Errorf("after a cancel: %#v, %v", a, err)
	}
}
