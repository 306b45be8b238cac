package service_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// operation is one operation of the description.
type operation struct {
	RequestBody *struct {
		Content map[string]any `json:"content"`
	} `json:"requestBody"`
	Responses map[string]struct {
		Content map[string]any `json:"content"`
	} `json:"responses"`
}

// description holds requests and answers to service/openapi.json.
type description struct {
	compiler *jsonschema.Compiler
	paths    map[string]map[string]operation

	mu      sync.Mutex
	schemas map[string]*jsonschema.Schema
	seen    map[string]bool // operations with a status that was answered
}

var theDescription = sync.OnceValues(func() (*description, error) {
	var doc struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(service.Description, &doc); err != nil {
		return nil, err
	}
	d := &description{
		compiler: jsonschema.NewCompiler(), paths: map[string]map[string]operation{}, schemas: map[string]*jsonschema.Schema{}, seen: map[string]bool{},
	}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	d.compiler.AssertContent()
	for path, methods := range doc.Paths {
		d.paths[path] = map[string]operation{}
		for method, raw := range methods {
			if method == "parameters" {
				continue
			}
			var op operation
			if err := json.Unmarshal(raw, &op); err != nil {
				return nil, err
			}
			d.paths[path][strings.ToUpper(method)] = op
		}
	}
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(service.Description))
	if err != nil {
		return nil, err
	}
	return d, d.compiler.AddResource("openapi.json", whole)
})

// check holds a body to the schema at a place of the document.
func (d *description) check(place []string, body []byte) error {
	pointer := "openapi.json#"
	for _, part := range place {
		pointer += "/" + strings.ReplaceAll(strings.ReplaceAll(part, "~", "~0"), "/", "~1")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	schema := d.schemas[pointer]
	if schema == nil {
		var err error
		if schema, err = d.compiler.Compile(pointer); err != nil {
			return err
		}
		d.schemas[pointer] = schema
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// find is the path of the document that a request is of.
func (d *description) find(r *http.Request) string {
	parts := strings.Split(r.URL.EscapedPath(), "/")
	for path := range d.paths {
		template := strings.Split(path, "/")
		if len(template) == len(parts) && !slices.ContainsFunc(slices.Collect(maps.Keys(byIndex(template))), func(i int) bool {
			return !strings.HasPrefix(template[i], "{") && template[i] != parts[i]
		}) {
			return path
		}
	}
	return ""
}

func byIndex(list []string) map[int]string {
	out := map[int]string{}
	for i, part := range list {
		out[i] = part
	}
	return out
}

// described stands before a service and fails the test when a request that it takes, or an answer, is not as described.
func described(t testing.TB, to http.Handler) http.Handler {
	t.Helper()
	d, err := theDescription()
	if err != nil {
		t.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := d.find(r)
		op, known := d.paths[path][r.Method]
		if !known || r.Header.Get("Accept") == "text/event-stream" {
			to.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer := httptest.NewRecorder()
		to.ServeHTTP(answer, r)
		if answer.Code < 300 && op.RequestBody != nil {
			place := []string{"paths", path, strings.ToLower(r.Method), "requestBody", "content", "application/json", "schema"}
			if err := d.check(place, unpacked(r.Header, body)); err != nil {
				t.Errorf("%s %s took a body that is not as described: %v", r.Method, path, err)
			}
		}
		if err := d.answered(r.Method, path, op, answer); err != nil && r.Context().Err() == nil {
			t.Errorf("%s %s: %v", r.Method, path, err)
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})
}

// answered holds an answer to what is described of its status.
func (d *description) answered(method, path string, op operation, answer *httptest.ResponseRecorder) error {
	status := strconv.Itoa(answer.Code)
	if _, ok := op.Responses[status]; !ok {
		if answer.Code < 400 {
			return fmt.Errorf("status %s is not described", status)
		}
		status = "default"
	}
	d.mu.Lock()
	d.seen[method+" "+path+" "+status] = true
	d.mu.Unlock()
	body := unpacked(answer.Header(), answer.Body.Bytes())
	if answer.Code == http.StatusNotModified {
		if len(body) > 0 {
			return fmt.Errorf("304 has a body")
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(answer.Header().Get("Content-Type"))
	if err != nil || op.Responses[status].Content[media] == nil {
		return fmt.Errorf("status %s has the media type %q: %v", status, media, err)
	}
	return d.check([]string{"paths", path, strings.ToLower(method), "responses", status, "content", media, "schema"}, body)
}

func unpacked(h http.Header, body []byte) []byte {
	if h.Get("Content-Encoding") != "gzip" {
		return body
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil
	}
	plain, _ := io.ReadAll(z)
	return plain
}

// TestDescription: the document is valid OpenAPI 3.1 by a validator that is not ours, and has the operations that the
// service has.
func TestDescription(t *testing.T) {
	t.Parallel()
	validator := filepath.Join("..", ".venv", "bin", "openapi-spec-validator")
	if _, err := os.Stat(validator); err != nil {
		proctest.Missing(t, "%v (task setup)", err)
	}
	if out, err := exec.CommandContext(t.Context(), validator, "openapi.json").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	d, err := theDescription()
	if err != nil {
		t.Fatal(err)
	}
	for body, fits := range map[string]bool{
		`{"done":true}`: true, `{"done":true,"more":1}`: false, `{}`: false, `{"done":"yes"}`: false,
	} {
		if err := d.check([]string{"components", "schemas", "Done"}, []byte(body)); (err == nil) != fits {
			t.Errorf("%s: %v", body, err)
		}
	}
	var have []string
	for path, methods := range d.paths {
		for method := range methods {
			have = append(have, method+" "+path)
		}
	}
	want := service.Operations()
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("described: %v\nserved: %v", have, want)
	}
}

// TestMain proves that every answer that is described was seen, where all tests were run. A process that a test has started
// does its work instead.
func TestMain(m *testing.M) {
	if told := os.Getenv(moverVariable); told != "" {
		if err := moveAsTold(told); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := proctest.Tidy(m).Run()
	d, err := theDescription()
	if code == 0 && err == nil && whole() {
		for path, methods := range d.paths {
			for method, op := range methods {
				for status := range op.Responses {
					if !d.seen[method+" "+path+" "+status] {
						fmt.Fprintf(os.Stderr, "no test has seen %s %s answer %s\n", method, path, status)
						code = 1
					}
				}
			}
		}
	}
	os.Exit(code)
}

// whole reports that no test was left out.
func whole() bool {
	return !slices.ContainsFunc(os.Args[1:], func(arg string) bool {
		return strings.Contains(arg, "test.run") || strings.Contains(arg, "test.skip") || strings.Contains(arg, "test.list")
	})
}
