package config

import (
	"context"

	"github.com/lakescan/lakescan/object"
)

// aws is the lowest level: AWS's own variables.
func (c *Config) aws() object.Credentials { return awsEnv{c.env} }

type awsEnv struct{ env map[string]string }

func (a awsEnv) Access(context.Context, object.Location, object.Access) (object.Access, error) {
	first := func(names ...string) string {
		for _, n := range names {
			if v := a.env[n]; v != "" {
				return v
			}
		}
		return ""
	}
	return object.Access{
		Endpoint: first("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
		Region:   first("AWS_REGION", "AWS_DEFAULT_REGION"),
		KeyID:    first("AWS_ACCESS_KEY_ID"),
		Secret:   first("AWS_SECRET_ACCESS_KEY"),
		Token:    first("AWS_SESSION_TOKEN"),
	}, nil
}
