package s3_test

import (
	"io"
	"log"
)

// quiet takes what test servers say about handshakes that are meant to fail.
var quiet = log.New(io.Discard, "", 0)
