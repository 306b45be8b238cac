package image_test

import (
	"io"
	"log"
)

// discard is the log of a registry that nobody reads.
var discard = log.New(io.Discard, "", 0)
