package providers_test

import (
	"bytes"
	"os"
	"testing"
)

// TestKindsStaySmall holds two kinds to the lines that the table of attributes was to bring them to
// (docs/decisions/props-are-the-table.md): what more they have to say belongs into tags, or into what other kinds use too.
func TestKindsStaySmall(t *testing.T) {
	for _, c := range []struct {
		kind  string
		most  int
		files []string
	}{
		{"aws.sqs.Queue", 360, []string{"aws/sqs/queue.go"}},
		{"aws.lambda.Function", 1200, []string{"aws/lambda/function.go", "aws/lambda/function_calls.go", "aws/lambda/code.go"}},
	} {
		lines := 0
		for _, file := range c.files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines += bytes.Count(text, []byte("\n"))
		}
		if lines > c.most {
			t.Errorf("%s has %d lines, and %d at most are wanted", c.kind, lines, c.most)
		}
	}
}
