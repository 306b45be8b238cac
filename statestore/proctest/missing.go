package proctest

import (
	"fmt"
	"os"
	"testing"
)

// Missing skips a test, since something that it needs is not installed. Where $ATHANOR_NO_SKIP is set it fails the test, so that
// what CI does not run is seen. The text says what is missing, and what installs it.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if text := fmt.Sprintf(format, args...); os.Getenv("ATHANOR_NO_SKIP") == "" {
		t.Skip(text)
	} else {
		t.Fatal(text)
	}
}
