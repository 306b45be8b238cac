package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
)

// runtime calls a function as Lambda does: the program is started with the environment that is deployed, asks for events
// over HTTP, and posts its answers.
// https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
type runtime struct {
	t       *testing.T
	events  chan []byte
	answers chan answered
}

type answered struct {
	what string // "response" or "error"
	body []byte
}

// start builds the program of a folder for this machine and runs it with what is deployed under a name.
func (a *api) start(folder, name string) *runtime {
	a.t.Helper()
	deployed, err := lambda.NewFromConfig(a.Cloud.Config(a.t)).GetFunctionConfiguration(a.t.Context(), &lambda.GetFunctionConfigurationInput{FunctionName: &name})
	if err != nil {
		a.t.Fatal(err)
	}
	binary := filepath.Join(a.t.TempDir(), "bootstrap")
	if out, err := exec.CommandContext(a.t.Context(), "go", "build", "-ldflags=-s -w", "-o", binary, "./"+folder).CombinedOutput(); err != nil {
		a.t.Fatalf("build: %v\n%s", err, out)
	}
	r := &runtime{t: a.t, events: make(chan []byte), answers: make(chan answered)}
	server := httptest.NewServer(http.HandlerFunc(r.serve))
	ctx, cancel := context.WithCancel(a.t.Context())
	cmd := exec.CommandContext(ctx, binary)
	cmd.Env = append(a.Cloud.Environ(), "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(server.URL, "http://"), "_HANDLER="+*deployed.Handler)
	for k, v := range deployed.Environment.Variables {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it is killed
		server.CloseClientConnections()
		server.Close()
	})
	return r
}

func (r *runtime) serve(w http.ResponseWriter, req *http.Request) {
	if strings.HasSuffix(req.URL.Path, "/invocation/next") {
		select {
		case event := <-r.events:
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", "1")
			w.Header().Set("Lambda-Runtime-Deadline-Ms", "4102444800000") // in 2100
			_, _ = w.Write(event)
		case <-req.Context().Done():
		}
		return
	}
	body, _ := io.ReadAll(req.Body)
	w.WriteHeader(http.StatusAccepted)
	r.answers <- answered{req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:], body}
}

// call hands an event to the function and reads its answer.
func (r *runtime) call(event, answer any) {
	r.t.Helper()
	encoded, err := json.Marshal(event)
	if err != nil {
		r.t.Fatal(err)
	}
	select {
	case r.events <- encoded:
	case <-r.t.Context().Done():
		r.t.Fatal("the function asks for no event")
	}
	got := <-r.answers
	if got.what != "response" {
		r.t.Fatalf("%s: %s", got.what, got.body)
	}
	if answer == nil {
		return
	}
	if err := json.Unmarshal(got.body, answer); err != nil {
		r.t.Fatalf("%v: %s", err, got.body)
	}
}
