// Package config reads files and environment into a lakescan.Config, and remembers where each value came from.
//
//	c, err := config.Load(config.Input{Flags: map[string]string{"memory": "2GiB"}})
//	client, err := lakescan.Open(ctx, c.Client(nil))
//
// # Layers, highest first
//
//	flags > LAKESCAN_* > PYICEBERG_* > ./lakescan.yaml > $XDG_CONFIG_HOME/lakescan/config.yaml
//	      > the first .pyiceberg.yaml in PYICEBERG_HOME, home, working folder > AWS shared configuration > defaults
//
// Settings lists our settings: each has a key (in our files), a flag, and the variable LAKESCAN_ and the flag in capitals. A
// key that is unknown in our files is an error with the nearest name. catalog.<name>.<property> is free: properties are the
// catalog's, as in PyIceberg, whose rules hold for its file and variables: PYICEBERG_CATALOG__NAME__S3__ENDPOINT is cut at the
// first two double underscores, further ones are dots, single ones dashes; names of catalogs match in any case.
//
// # Ownership and concurrency
//
// Load reads files, once, and makes no request. A Config is immutable afterwards and may be shared. Secrets stay in it: Entries
// masks them, Secrets hands them to whoever must keep them out of logs.
package config
