package config

import (
	"context"

	"github.com/lakescan/lakescan/object"
)

// aws is the lowest level. A profile that was asked for beats the variables, as with AWS's own tools; else the variables come
// first, and files, SSO, web identity and the machine's role are asked for what they leave open.
func (c *Config) aws() object.Credentials {
	if c.Text(KeyProfile) != "" {
		return object.Layered(c.shared, awsEnv{c.env})
	}
	return object.Layered(awsEnv{c.env}, c.shared)
}

// awsEnv is AWS's variables.
type awsEnv struct{ env map[string]string }

// awsVariables are the variables of each field, the strongest first.
var awsVariables = []struct {
	key   string
	names []string
	set   func(a *object.Access, v string)
}{
	{KeyEndpoint, []string{"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}, func(a *object.Access, v string) { a.Endpoint = v }},
	{KeyRegion, []string{"AWS_REGION", "AWS_DEFAULT_REGION"}, func(a *object.Access, v string) { a.Region = v }},
	{KeyAccessKey, []string{"AWS_ACCESS_KEY_ID"}, func(a *object.Access, v string) { a.KeyID = v }},
	{KeySecretKey, []string{"AWS_SECRET_ACCESS_KEY"}, func(a *object.Access, v string) { a.Secret = v }},
	{KeySessionToken, []string{"AWS_SESSION_TOKEN"}, func(a *object.Access, v string) { a.Token = v }},
	{KeyProfile, []string{"AWS_PROFILE"}, func(*object.Access, string) {}},
}

func (e awsEnv) lookup(names []string) (value, name string) {
	for _, n := range names {
		if v := e.env[n]; v != "" {
			return v, n
		}
	}
	return "", ""
}

func (e awsEnv) Access(context.Context, object.Location, object.Access) (object.Access, error) {
	var a object.Access
	for _, v := range awsVariables {
		text, _ := e.lookup(v.names)
		v.set(&a, text)
	}
	return a, nil
}

// awsEntries are the variables that have an effect: those of settings that nothing above them gave.
func (c *Config) awsEntries() []Entry {
	var out []Entry
	for _, v := range awsVariables {
		text, name := awsEnv{c.env}.lookup(v.names)
		if text == "" || c.Text(v.key) != "" {
			continue
		}
		if s, _ := settingOf(v.key); s.secret {
			text = mask(text)
		}
		out = append(out, Entry{Key: v.key, Value: text, Origin: name})
	}
	return out
}
