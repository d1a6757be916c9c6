package s3

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/minio/minio-go/v7"

	"github.com/lakescan/lakescan/object"
)

// call runs fn as one exchange with the client for loc, and repairs what no backoff would: a region learnt from the refusal,
// keys that had expired. fn does all that touches the answer's body.
func (s *Store) call(ctx context.Context, op string, kind object.Kind, loc object.Location, r object.Range,
	fn func(ctx context.Context, c minio.Core, x *exchange) error,
) error {
	if err := checkLocation(loc); err != nil {
		return object.Fail(ctx, op, loc, r, err)
	}
	access, err := s.cfg.Credentials.Access(ctx, loc, object.Access{})
	if err != nil {
		return object.Fail(ctx, op, loc, r, credentialsError(err))
	}
	moved, renewed := false, false
	for {
		core, region, err := s.client(access, loc.Bucket)
		if err != nil {
			return object.Fail(ctx, op, loc, r, err)
		}
		inner, x := begin(ctx, kind, loc, r)
		err = fn(inner, core, x)
		if err != nil {
			err = x.fail(ctx, inner, op, err)
		}
		x.end(err)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if where, away := x.elsewhere(region); away && !moved {
			moved = true
			s.clients.learn(access.Endpoint, loc.Bucket, where)
			continue
		}
		if x.expired(access) && !renewed {
			renewed = true
			newer, failed := s.cfg.Credentials.Access(ctx, loc, access)
			if failed == nil && !sameKeys(newer, access) {
				access = newer
				continue
			}
		}
		return err
	}
}

// credentialsError keeps what the source of the keys says about repeating; otherwise having none is a refusal.
func credentialsError(err error) error {
	if errors.Is(err, object.ErrUnavailable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("credentials: %w", err)
	}
	return fmt.Errorf("%w: credentials: %w", object.ErrDenied, err)
}

func sameKeys(a, b object.Access) bool {
	return a.KeyID == b.KeyID && a.Secret == b.Secret && a.Token == b.Token
}

// checkLocation refuses what minio-go would silently change: it writes U+FFFD for bytes that are no UTF-8.
func checkLocation(loc object.Location) error {
	switch {
	case loc.Bucket == "":
		return fmt.Errorf("%w: %q names no bucket", object.ErrInvalid, loc.Recorded)
	case !utf8.ValidString(loc.Key):
		return fmt.Errorf("%w: key of %q is not UTF-8", object.ErrInvalid, loc.Recorded)
	}
	return nil
}
