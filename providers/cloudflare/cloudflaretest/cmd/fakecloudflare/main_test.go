package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// started runs the program, and gives the environment that it prints.
func started(t *testing.T, args ...string) (env map[string]string, problems *log) {
	t.Helper()
	root, _ := proctest.ModuleRoot()
	if _, err := os.Stat(filepath.Join(root, ".cache", "cloudflare", "operations.json")); errors.Is(err, os.ErrNotExist) {
		proctest.Missing(t, "run `task cloudflare`")
	}
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	problems = new(log)
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, append([]string{"--listen", "127.0.0.1:0"}, args...), in, problems)
		_ = in.CloseWithError(io.ErrUnexpectedEOF)
		ended <- err
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	env = map[string]string{}
	lines := bufio.NewScanner(out)
	for len(env) < 3 && lines.Scan() {
		name, value, ok := strings.Cut(strings.TrimPrefix(lines.Text(), "export "), "=")
		if !ok {
			t.Fatalf("it prints %q", lines.Text())
		}
		env[name] = value
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%v\n%s", err, problems)
	}
	return env, problems
}

// log is what the program says on standard error.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestServes: what the program prints leads clients to an account with the zones that were asked for, and its token has the form
// of Cloudflare's.
func TestServes(t *testing.T) {
	env, problems := started(t, "--zone", "shop.example")
	if token := env["CLOUDFLARE_API_TOKEN"]; !regexp.MustCompile(`^[A-Za-z0-9_-]{40}$`).MatchString(token) {
		t.Errorf("no token of Cloudflare looks like %q", token)
	}
	cloud := cloudflare.FromToken(env["CLOUDFLARE_API_BASE_URL"], env["CLOUDFLARE_API_TOKEN"], "")
	if place, err := cloud.Place(t.Context()); err != nil || place.Account != env["CLOUDFLARE_ACCOUNT_ID"] {
		t.Errorf("%v, %v", place, err)
	}
	if zone, err := cloudflare.ZoneOf(t.Context(), cloud, "shop.example"); err != nil || zone.Name != "shop.example" {
		t.Errorf("%v, %v", zone, err)
	}
	database := struct{ UUID string }{}
	base := "/accounts/" + env["CLOUDFLARE_ACCOUNT_ID"]
	if err := cloudflare.Send(t.Context(), cloud, http.MethodPost, base+"/d1/database", map[string]any{"name": "orders"}, &database); err != nil {
		t.Fatal(err)
	}
	if err := cloudflare.Send(t.Context(), cloud, http.MethodPost, base+"/d1/database/"+database.UUID+"/query", map[string]any{"sql": "CREATE TABLE a (b)"}, nil); err != nil {
		t.Error(err)
	}
	if text := problems.String(); text != "" {
		t.Errorf("it says %s", text)
	}
}

// TestLacking: a call of an operation that the server does not do, or that its description does not allow, is refused once and by
// its name. Before, it was answered with 502 for as long as a client repeated it.
func TestLacking(t *testing.T) {
	env, problems := started(t)
	cloud := cloudflare.FromToken(env["CLOUDFLARE_API_BASE_URL"], env["CLOUDFLARE_API_TOKEN"], "")
	base := "/accounts/" + env["CLOUDFLARE_ACCOUNT_ID"]
	for _, c := range []struct {
		method, path string
		body         any
		name         string
	}{
		{http.MethodGet, base + "/intel/ip", nil, "intel.GetIp"},
		{http.MethodPut, base + "/storage/kv/namespaces/0123456789abcdef0123456789abcdef/bulk", []any{}, "kv.BulkPut"},
		{http.MethodPost, base + "/storage/kv/namespaces", map[string]any{"title": 7}, "kv.CreateNamespace"},
	} {
		err := cloudflare.Send(t.Context(), cloud, c.method, c.path, c.body, nil)
		if err == nil || !strings.Contains(err.Error(), c.name) || cloud.Classify(err) != reconcile.Invalid {
			t.Errorf("%s %s: %q, %v", c.method, c.path, cloud.Classify(err), err)
		}
		if !strings.Contains(problems.String(), c.name) {
			t.Errorf("%s %s: it says %s", c.method, c.path, problems)
		}
	}
}

// TestValueInForm: a value of KV comes as the body, or as a part of a form, which has no file name.
func TestValueInForm(t *testing.T) {
	env, problems := started(t)
	endpoint := env["CLOUDFLARE_API_BASE_URL"] + "/accounts/" + env["CLOUDFLARE_ACCOUNT_ID"] + "/storage/kv/namespaces"
	send := func(method, url, kind string, body io.Reader) (int, []byte) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, url, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+env["CLOUDFLARE_API_TOKEN"])
		req.Header.Set("Content-Type", kind)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, text
	}
	_, text := send(http.MethodPost, endpoint, "application/json", strings.NewReader(`{"title":"a"}`))
	var made struct{ Result struct{ ID string } }
	if err := json.Unmarshal(text, &made); err != nil {
		t.Fatal(err)
	}
	value := endpoint + "/" + made.Result.ID + "/values/greeting"
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	if err := errors.Join(parts.WriteField("metadata", `{"by":"a test"}`), parts.WriteField("value", "hello"), parts.Close()); err != nil {
		t.Fatal(err)
	}
	if status, text := send(http.MethodPut, value, parts.FormDataContentType(), &form); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
	if status, text := send(http.MethodGet, value, "", nil); status != http.StatusOK || string(text) != "hello" {
		t.Errorf("%d %s", status, text)
	}
	if status, text := send(http.MethodDelete, value, "", nil); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
	if status, _ := send(http.MethodGet, value, "", nil); status != http.StatusNotFound {
		t.Errorf("deleted, and status %d", status)
	}
	if text := problems.String(); text != "" {
		t.Errorf("it says %s", text)
	}
}
