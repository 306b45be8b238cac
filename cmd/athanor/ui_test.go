//go:build unix

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
)

const uiStack = `stack: shop
resources:
  password: {kind: random.Password, props: {length: 20}}
  note: {kind: local.File, props: {path: note.txt, content: "for ${id.hex}"}}
  id: {kind: random.ID, props: {bytes: 4}}
`

// TestUI serves the pages of a project: a browser that has the address sees its stages, resources with secrets masked, runs
// and saved plans; one that has not sees nothing.
func TestUI(t *testing.T) {
	w := newWorld(t, uiStack)
	w.run(0, "deploy", "--yes", "--stage", "prod")
	state := w.run(0, "state", "show", "password", "--stage", "prod", "--reveal", "--json")
	var shown struct {
		Generations []struct{ Attributes struct{ Value string } }
	}
	if err := json.Unmarshal([]byte(state), &shown); err != nil || len(shown.Generations) != 1 || len(shown.Generations[0].Attributes.Value) != 20 {
		t.Fatalf("%s: %v", state, err)
	}
	password := shown.Generations[0].Attributes.Value
	w.write("athanor.yaml", strings.ReplaceAll(uiStack, "for $", "from $"))
	w.run(2, "plan", "--stage", "prod", "--out", "plan.json")

	process := w.start("athanor", "ui", "--json", "--plan", "plan.json", "--source-url", "https://git.example.com/{file}#L{line}")
	process.out.until(t, "\n")
	var line struct{ Type, URL string }
	if err := json.Unmarshal([]byte(process.out.String()), &line); err != nil || line.Type != "serving" {
		t.Fatalf("%s%s: %v", process.out.String(), process.errs.String(), err)
	}
	base, _, _ := strings.Cut(line.URL, "/open")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	get := func(path string) (int, string) {
		t.Helper()
		answer, err := client.Get(path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
	if status, body := get(base + "/s/shop/prod"); status != http.StatusUnauthorized || strings.Contains(body, "random.Password") {
		t.Fatalf("without the address: %d %s", status, body)
	}
	if status, body := get(line.URL); status != http.StatusOK || !strings.Contains(body, `href="/s/shop/prod"`) {
		t.Fatalf("%d %s", status, body)
	}
	for path, want := range map[string]string{
		base + "/s/shop/prod":                       "random.Password",
		base + "/s/shop/prod/resource?address=id":   `href="https://git.example.com/athanor.yaml#L5"`,
		base + "/s/shop/prod/resource?address=note": "note.txt",
		base + "/s/shop/prod/plans/plan.json":       "<ins><span class=\"vh\">to </span>from ",
		base + "/s/shop/prod/history":               "3 created",
	} {
		if status, body := get(path); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d without %q", path, status, want)
		}
	}
	for _, path := range []string{"/s/shop/prod", "/s/shop/prod/resource?address=password"} {
		if _, body := get(base + path); strings.Contains(body, password) || !strings.Contains(body, "password") {
			t.Errorf("%s shows the secret, or nothing", path)
		}
	}
	w.run(1, "ui", "--listen", "0.0.0.0:0")
}

// TestUIRefusesPlans says at once which file holds no plan: a page that nobody opens would say it to nobody.
func TestUIRefusesPlans(t *testing.T) {
	t.Parallel()
	w := newWorld(t, uiStack)
	w.write("other.json", "{}")
	for file, want := range map[string]string{"missing.json": "--plan missing.json: no such file or directory", "other.json": "--plan other.json: it holds no saved plan"} {
		p := w.start("athanor", "ui", "--plan", file)
		p.end(1)
		if said := p.errs.String(); !strings.Contains(said, want) {
			t.Errorf("it says %s, want %q", said, want)
		}
	}
}
