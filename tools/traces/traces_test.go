package traces

import (
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// hexIDs are the ids of a request. The mapping of OTLP differs from that of protocol buffers here alone: ids are hexadecimal.
var hexIDs = regexp.MustCompile(`"(traceId|spanId|parentSpanId)":"([0-9a-f]+)"`)

// TestPublishedMessages deploys, fails and destroys with the built binary, and reads its traces by the published messages, to
// which an unknown name or a value of another type is an error.
func TestPublishedMessages(t *testing.T) {
	binary := os.Getenv("ATHANOR_BINARY")
	if binary == "" {
		t.Skip("ATHANOR_BINARY names no built binary (task traces)")
	}
	var mu sync.Mutex
	var spans []*tracepb.Span
	var bodies strings.Builder
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mapped := hexIDs.ReplaceAllStringFunc(string(body), func(s string) string {
			parts := hexIDs.FindStringSubmatch(s)
			raw, err := hex.DecodeString(parts[2])
			if err != nil {
				t.Error(err)
			}
			return `"` + parts[1] + `":"` + base64.StdEncoding.EncodeToString(raw) + `"`
		})
		var data tracepb.TracesData
		if err := protojson.Unmarshal([]byte(mapped), &data); err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v\n%s", r.URL, err, body)
		}
		mu.Lock()
		defer mu.Unlock()
		bodies.Write(body)
		for _, resource := range data.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				spans = append(spans, scope.GetSpans()...)
			}
		}
	}))
	t.Cleanup(server.Close)
	dir, home := t.TempDir(), t.TempDir()
	run := func(code int, stack string, args ...string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "athanor.yaml"), []byte(stack), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(binary, args...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "USER=ada", "OTEL_EXPORTER_OTLP_ENDPOINT=" + server.URL, "TMPDIR=" + t.TempDir()}
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != code || strings.Contains(string(out), "trace") {
			t.Fatalf("athanor %v: exit %d\n%s", args, cmd.ProcessState.ExitCode(), out)
		}
	}
	names := func() (all []string) {
		mu.Lock()
		defer mu.Unlock()
		for _, s := range spans {
			if len(s.GetTraceId()) != 16 || len(s.GetSpanId()) != 8 || s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano() {
				t.Errorf("a span %v", s)
			}
			name := s.GetName()
			if s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR {
				name += " failed"
			}
			all = append(all, name)
		}
		spans = nil
		return all
	}
	const stack = "stack: shop\nresources:\n  note: {kind: local.File, props: {path: note.txt, content: one}}\n  word: {kind: random.Password, props: {length: 20}}\n"
	run(0, stack, "deploy", "--yes")
	if got := strings.Join(names(), ", "); got != "athanor deploy, create note, create word" && got != "athanor deploy, create word, create note" {
		t.Errorf("deploy: %s", got)
	}
	run(0, stack, "deploy", "--yes")
	if got := names(); got != nil {
		t.Errorf("with nothing to do: %s", got)
	}
	run(4, stack+"  bad: {kind: local.Command, props: {run: exit 3}}\n", "deploy", "--yes")
	if got := strings.Join(names(), ", "); got != "athanor deploy failed, create bad failed" {
		t.Errorf("a failure: %s", got)
	}
	run(0, stack, "destroy", "--yes")
	if got := strings.Join(names(), ", "); !strings.HasPrefix(got, "athanor destroy, ") || !strings.Contains(got, "delete note") {
		t.Errorf("destroy: %s", got)
	}
}
