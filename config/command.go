package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/lakescan/lakescan/object"
)

// command is the credential command; nil if there is none.
func (c *Config) command() object.Credentials {
	if c.Text(KeyCommand) == "" {
		return nil
	}
	return &command{line: c.Text(KeyCommand), now: time.Now}
}

// command runs a program that prints credentials in the form of AWS's credential_process, keeps them until shortly before they
// end, and runs it once for all who wait.
type command struct {
	line string
	now  func() time.Time
	mu   struct {
		sync.Mutex // held while the program runs: those who wait want its answer
		access     object.Access
	}
}

// renewBefore is how long before their end keys are renewed.
const renewBefore = 5 * time.Minute

func (c *command) Access(ctx context.Context, _ object.Location, stale object.Access) (object.Access, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.mu.access
	fresh := a.KeyID != "" && (a.Expires.IsZero() || c.now().Before(a.Expires.Add(-renewBefore)))
	if refused := stale.KeyID != "" && stale.KeyID == a.KeyID && stale.Token == a.Token; fresh && !refused {
		return a, nil
	}
	a, err := c.run(ctx)
	if err != nil {
		return object.Access{}, err
	}
	c.mu.access = a
	return a, nil
}

func (c *command) run(ctx context.Context) (object.Access, error) {
	shell := []string{"/bin/sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd.exe", "/C"}
	}
	cmd := exec.CommandContext(ctx, shell[0], append(shell[1:], c.line)...)
	cmd.WaitDelay = time.Second
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return object.Access{}, object.ContextError(ctx)
		}
		said, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return object.Access{}, fmt.Errorf("%w: the credential command failed: %w: %.200s", object.ErrDenied, err, said)
	}
	var answer struct {
		Version                                    int
		AccessKeyId, SecretAccessKey, SessionToken string
		Expiration                                 time.Time
	}
	// Errors do not quote the answer: it holds a secret.
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return object.Access{}, fmt.Errorf("%w: the credential command did not print JSON", object.ErrDenied)
	}
	if answer.AccessKeyId == "" || answer.SecretAccessKey == "" {
		return object.Access{}, errors.Join(object.ErrDenied, errors.New("the credential command printed no AccessKeyId or no SecretAccessKey"))
	}
	return object.Access{KeyID: answer.AccessKeyId, Secret: answer.SecretAccessKey, Token: answer.SessionToken, Expires: answer.Expiration}, nil
}
