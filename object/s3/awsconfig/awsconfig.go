// Package awsconfig finds keys, region and endpoint as the AWS tools do: AWS_* variables, the shared config and credentials files
// with profiles, SSO, web identity, credential processes, container and machine roles. It stands apart from object/s3, so that
// a program that brings its own keys does not link the AWS SDK.
package awsconfig

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"github.com/lakescan/lakescan/object"
)

// Config of a Source; the zero value takes the environment and the usual files.
type Config struct {
	Profile          string   // "" = AWS_PROFILE, else default
	ConfigFiles      []string // nil = AWS_CONFIG_FILE, else ~/.aws/config
	CredentialsFiles []string // nil = AWS_SHARED_CREDENTIALS_FILE, else ~/.aws/credentials
}

// Source is an object.Credentials and object.Settings for the lowest level of object.Layered. Nothing is read before the first
// question; files are read once, keys are kept and renewed by the SDK (one flight for all callers). It is safe for concurrent use.
type Source struct {
	cfg    Config
	loadMu chan struct{} // holds a token while the files are read: a waiter can leave with its context
	mu     struct {
		sync.Mutex
		loaded   *aws.Config
		endpoint string
		failure  error // of the last search for keys
		failedAt time.Time
		origin   string
	}
}

// retryAfterFailure bounds how often a fruitless search is made again: it may wait for a metadata service that is not there.
const retryAfterFailure = 30 * time.Second

// New makes a Source.
func New(cfg Config) *Source { return &Source{cfg: cfg, loadMu: make(chan struct{}, 1)} }

// Settings tells region and endpoint, from variables and files alone.
func (s *Source) Settings(ctx context.Context, _ object.Location) (object.Access, error) {
	cfg, endpoint, err := s.load(ctx)
	if err != nil {
		return object.Access{}, err
	}
	return object.Access{Endpoint: endpoint, Region: cfg.Region}, nil
}

// Access tells everything. stale keys, if they are the ones kept, are thrown away and looked for again.
func (s *Source) Access(ctx context.Context, loc object.Location, stale object.Access) (object.Access, error) {
	if err := ctx.Err(); err != nil { // the SDK's cache answers or not, whichever comes first
		return object.Access{}, err
	}
	a, err := s.Settings(ctx, loc)
	if err != nil {
		return a, err
	}
	if err := s.recentFailure(); err != nil {
		return object.Access{}, err
	}
	s.mu.Lock()
	provider := s.mu.loaded.Credentials
	s.mu.Unlock()
	keys, err := provider.Retrieve(ctx)
	if cache, ok := provider.(*aws.CredentialsCache); ok && err == nil && stale.KeyID != "" && stale.KeyID == keys.AccessKeyID && stale.Token == keys.SessionToken {
		cache.Invalidate()
		keys, err = provider.Retrieve(ctx)
	}
	if err != nil {
		return object.Access{}, s.fail(ctx, err)
	}
	s.mu.Lock()
	s.mu.origin = keys.Source
	s.mu.Unlock()
	a.KeyID, a.Secret, a.Token = keys.AccessKeyID, keys.SecretAccessKey, keys.SessionToken
	if keys.CanExpire {
		a.Expires = keys.Expires
	}
	return a, nil
}

// Origin tells where the keys of the last Access came from, in the SDK's words; "" before.
func (s *Source) Origin() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.origin
}

func (s *Source) recentFailure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.failure != nil && time.Since(s.mu.failedAt) < retryAfterFailure {
		return s.mu.failure
	}
	return nil
}

func (s *Source) fail(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return object.ContextError(ctx)
	}
	err = fmt.Errorf("%w: no AWS keys found (set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or a profile, or ask for anonymous access): %w", object.ErrDenied, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.failure, s.mu.failedAt = err, time.Now()
	return err
}

// load reads the configuration once.
func (s *Source) load(ctx context.Context) (*aws.Config, string, error) {
	select {
	case s.loadMu <- struct{}{}:
		defer func() { <-s.loadMu }()
	case <-ctx.Done():
		return nil, "", object.ContextError(ctx)
	}
	s.mu.Lock()
	cfg, endpoint := s.mu.loaded, s.mu.endpoint
	s.mu.Unlock()
	if cfg != nil {
		return cfg, endpoint, nil
	}
	loaded, err := config.LoadDefaultConfig(ctx, s.options()...)
	if err != nil {
		return nil, "", fmt.Errorf("%w: AWS configuration: %w", object.ErrInvalid, err)
	}
	if endpoint, err = endpointOf(ctx, loaded); err != nil {
		return nil, "", fmt.Errorf("%w: AWS configuration: %w", object.ErrInvalid, err)
	}
	s.mu.Lock()
	s.mu.loaded, s.mu.endpoint = &loaded, endpoint
	s.mu.Unlock()
	return &loaded, endpoint, nil
}

func (s *Source) options() []func(*config.LoadOptions) error {
	// The SDK would write its warnings to stderr; what they are about comes back as errors.
	out := []func(*config.LoadOptions) error{config.WithLogger(logging.Nop{})}
	if s.cfg.Profile != "" {
		out = append(out, config.WithSharedConfigProfile(s.cfg.Profile))
	}
	if s.cfg.ConfigFiles != nil {
		out = append(out, config.WithSharedConfigFiles(s.cfg.ConfigFiles))
	}
	if s.cfg.CredentialsFiles != nil {
		out = append(out, config.WithSharedCredentialsFiles(s.cfg.CredentialsFiles))
	}
	return out
}

// endpointOf follows the rule of the SDKs: an endpoint of the service (AWS_ENDPOINT_URL_S3, then services.s3.endpoint_url of the
// profile) before one for all (AWS_ENDPOINT_URL, then endpoint_url); none if configured endpoints are to be ignored.
func endpointOf(ctx context.Context, cfg aws.Config) (string, error) {
	ignore, found, err := config.GetIgnoreConfiguredEndpoints(ctx, cfg.ConfigSources)
	if err != nil || (found && ignore) {
		return "", err
	}
	for _, source := range cfg.ConfigSources {
		s, ok := source.(interface {
			GetServiceBaseEndpoint(context.Context, string) (string, bool, error)
		})
		if !ok {
			continue
		}
		if endpoint, found, err := s.GetServiceBaseEndpoint(ctx, "S3"); err != nil || found {
			return endpoint, err
		}
	}
	return aws.ToString(cfg.BaseEndpoint), nil
}
