//go:build unix

package bench_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// firstLineLimit is how long a user at a terminal waits for the first line of a plan.
const firstLineLimit = 100 * time.Millisecond

// BenchmarkFirstLine is the time from the start of a plan of 14 resources to its first line on a terminal. It fails where the median is
// over 100 ms, which a machine with other work to do does not hold.
func BenchmarkFirstLine(b *testing.B) {
	dir := b.TempDir()
	var program strings.Builder
	program.WriteString("stack: wide\nresources:\n")
	for i := range 14 {
		fmt.Fprintf(&program, "  v%d: {kind: local.Value, props: {input: 1}}\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "athanor.yaml"), []byte(program.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), built(b), "plan")
		cmd.Dir = dir
		began := time.Now()
		tty, err := pty.Start(cmd)
		if err != nil {
			b.Fatal(err)
		}
		part := make([]byte, 1)
		if _, err := tty.Read(part); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
		var rest bytes.Buffer
		_, _ = io.Copy(&rest, tty) // the end of a terminal is an error
		_ = cmd.Wait()             // 2: changes are pending
		if code := cmd.ProcessState.ExitCode(); code != 2 {
			b.Fatalf("exit code %d: %s", code, &rest)
		}
	}
	slices.Sort(took)
	median := took[len(took)/2]
	b.ReportMetric(float64(median.Microseconds())/1000, "ms/first-line")
	if median > firstLineLimit {
		b.Errorf("the first line comes after %s, and may take %s", median, firstLineLimit)
	}
}
