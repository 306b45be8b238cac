package serving

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/athanor-dev/athanor/service"
)

// TestServeConfig: the file says what flags are too short for, a flag that says the same wins, and what is not understood is refused.
func TestServeConfig(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const issuer = `
audience: https://athanor.example
oidc:
  - issuer: https://token.actions.githubusercontent.com
    rules: [{claims: {repository_id: 42, ref: refs/heads/main}, role: deployer, on: shop/*}]
`
	path := write("serve.yaml", issuer+`
webhooks:
  - {url: https://hooks.example/x, actions: [run.complete]}
limits: {rate: 50, burst: 100, streams: 5}
`)
	config, err := readServeConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	if config.Limits != (serveLimits{50, 100, 5}) {
		t.Errorf("limits %+v", config.Limits)
	}
	issuers, err := config.issuers("", path)
	want := &service.OIDC{Audience: "https://athanor.example", Issuers: []service.Issuer{{
		Issuer: "https://token.actions.githubusercontent.com",
		Rules:  []service.Rule{{Claims: map[string]string{"repository_id": "42", "ref": "refs/heads/main"}, Role: "deployer", On: "shop/*"}},
	}}}
	if diff := cmp.Diff(want, issuers); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	hooks, err := config.webhooks("", path, "secret")
	if err != nil || len(hooks) != 1 || hooks[0].Secret != "secret" || hooks[0].URL != "https://hooks.example/x" {
		t.Errorf("%+v, %v", hooks, err)
	}
	if _, err := config.webhooks("", path, ""); err == nil || !strings.Contains(err.Error(), "--config "+path+": $ATHANOR_WEBHOOK_SECRET is empty") {
		t.Errorf("without a secret: %v", err)
	}
	// Flags win.
	other := write("oidc.json", `{"audience":"https://b.example","issuers":[{"issuer":"https://b.example","clientId":"b","rules":[{"claims":{"sub":"x"},"role":"reader","on":"*/*"}]}]}`)
	if issuers, err := config.issuers(other, path); err != nil || issuers.Audience != "https://b.example" {
		t.Errorf("--oidc: %+v, %v", issuers, err)
	}
	if hooks, err := config.webhooks(write("hooks.json", `{"webhooks":[]}`), path, ""); err != nil || len(hooks) != 0 {
		t.Errorf("--webhooks: %+v, %v", hooks, err)
	}
	// No file, and an empty one, say nothing.
	for _, path := range []string{"", write("empty.yaml", "# nothing\n")} {
		config, err := readServeConfig(path)
		if err != nil || !cmp.Equal(config, &serveConfig{}) {
			t.Errorf("%q: %+v, %v", path, config, err)
		}
		if issuers, err := config.issuers("", path); issuers != nil || err != nil {
			t.Errorf("%q: %+v, %v", path, issuers, err)
		}
	}
	for text, says := range map[string]string{
		"limit: {rate: 5}":                               "unknown field",
		"limits: {rate: 5}":                              "given together",
		"limits: {rate: -1, burst: 1}":                   "none is negative",
		"limits: {rate: 1, rate: 2, burst: 1}":           "twice",
		"limits: &a {rate: 1, burst: 1}\nwebhooks: [*a]": "alias",
		"oidc: {": "yaml",
		"oidc: [{issuer: https://x.example, rules: [{x: 1}]}]": "unknown field",
	} {
		if _, err := readServeConfig(write("bad.yaml", text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", text, err, says)
		}
	}
	config, err = readServeConfig(write("rules.yaml", "oidc: [{issuer: https://x.example, rules: [{claims: {sub: x}, role: deployer, on: '*/*'}]}]"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := config.issuers("", "rules.yaml"); err == nil || !strings.Contains(err.Error(), "--config rules.yaml: oidc: ") {
		t.Errorf("a rule without a repository: %v", err)
	}
}

// TestServeConfigOfThePage reads the sample of the page about the service.
func TestServeConfigOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/service.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```yaml title=\"serve.yaml\"\n")
	text, _, found := strings.Cut(text, "```")
	if !found {
		t.Fatal("the page has no serve.yaml")
	}
	path := filepath.Join(t.TempDir(), "serve.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := readServeConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	if issuers, err := config.issuers("", path); err != nil || len(issuers.Issuers) != 1 || issuers.Audience == "" {
		t.Errorf("%+v, %v", issuers, err)
	}
	if hooks, err := config.webhooks("", path, "secret"); err != nil || len(hooks) != 1 {
		t.Errorf("%+v, %v", hooks, err)
	}
	if config.Limits != (serveLimits{200, 2000, 50}) {
		t.Errorf("limits %+v", config.Limits)
	}
}
