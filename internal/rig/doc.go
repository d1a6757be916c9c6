// Package rig runs the servers of the integration tests: MinIO, Iceberg's Java REST catalog, toxiproxy.
//
// Addresses come from the environment (LAKESCAN_TEST_S3, LAKESCAN_TEST_REST, LAKESCAN_TEST_TOXI: servers that somebody runs, e.g. docker
// compose) or from processes that the rig starts out of LAKESCAN_TOOLS (integration/prepare.sh fills it), on free loopback ports. Main owns
// the processes: it starts them once for a test binary, logs each to a file, and ends them by id. A missing server fails the test; it is never a skip.
package rig
