// Package integration tests lakescan against what it did not write: a real MinIO, Iceberg's Java REST catalog, a real toxiproxy, and other
// readers as judges. The tests need the build tag integration and what integration/prepare.sh puts in place; see internal/rig.
package integration
