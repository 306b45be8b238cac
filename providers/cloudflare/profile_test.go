package cloudflare_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/cloudflare"
	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/reconcile"
)

// TestProfiles: who asks, by settings, environment and the user's file, and that no error tells a token.
func TestProfiles(t *testing.T) {
	const stray = "a-token-of-nobody-4f1b4f1b4f1b4f1b4f1b4f"
	good := func(s *cloudflaretest.Server) string {
		return "default: {token: " + s.Token + "}\nwork: {token: " + s.Token + ", account: Other}\nwrong: {token: " + stray + "}\nempty: {account: Other}\n"
	}
	for name, c := range map[string]struct {
		settings cloudflare.Settings
		env      map[string]string
		file     func(*cloudflaretest.Server) string
		mode     os.FileMode
		other    bool   // the account Other is expected
		problem  string // of the error, "" for none
	}{
		"default":                           {file: good},
		"named by the program":              {settings: cloudflare.Settings{Profile: new("work")}, file: good, other: true},
		"named by the environment":          {env: map[string]string{"CLOUDFLARE_PROFILE": "work"}, file: good, other: true},
		"a named one goes before a token":   {env: map[string]string{"CLOUDFLARE_PROFILE": "work", "CLOUDFLARE_API_TOKEN": stray}, file: good, other: true},
		"a token goes before default":       {env: map[string]string{"CLOUDFLARE_API_TOKEN": stray}, file: good, problem: "Invalid access token"},
		"the program goes before all":       {settings: cloudflare.Settings{Profile: new("work")}, env: map[string]string{"CLOUDFLARE_PROFILE": "wrong"}, file: good, other: true},
		"an account of the settings":        {settings: cloudflare.Settings{Profile: new("default"), Account: new("Other")}, file: good, other: true},
		"of another cloud":                  {env: map[string]string{"CLOUDFLARE_PROFILE": "aws-only", "CLOUDFLARE_API_TOKEN": "TOKEN"}, file: good},
		"of another cloud, without a token": {env: map[string]string{"CLOUDFLARE_PROFILE": "aws-only"}, file: good, problem: "no such profile"},
		"not there":                         {settings: cloudflare.Settings{Profile: new("none")}, env: map[string]string{"CLOUDFLARE_API_TOKEN": "TOKEN"}, file: good, problem: "no such profile"},
		"no file":                           {settings: cloudflare.Settings{Profile: new("work")}, problem: "no such profile"},
		"neither file nor token":            {problem: "CLOUDFLARE_API_TOKEN is empty"},
		"without a token":                   {settings: cloudflare.Settings{Profile: new("empty")}, file: good, problem: "has no token"},
		"read by others":                    {file: good, mode: 0o644, problem: "others can read it"},
		"no YAML":                           {file: func(*cloudflaretest.Server) string { return "work: " + stray }, problem: "is no file of profiles"},
		"another field":                     {file: func(*cloudflaretest.Server) string { return "default: {token: x, tokn: " + stray + "}" }, problem: "is no file of profiles"},
		"both":                              {settings: cloudflare.Settings{Profile: new("work"), TokenEnv: new("X")}, file: good, problem: "not both"},
	} {
		t.Run(name, func(t *testing.T) {
			s := cloudflaretest.Start(t)
			other := s.AddAccount("Other")
			s.Setenv(t)
			t.Setenv("CLOUDFLARE_API_TOKEN", "")
			folder := t.TempDir()
			t.Setenv("XDG_CONFIG_HOME", folder)
			for name, value := range c.env {
				t.Setenv(name, strings.ReplaceAll(value, "TOKEN", s.Token))
			}
			if c.file != nil {
				path := filepath.Join(folder, "athanor", "cloudflare.yaml")
				if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(c.file(s)), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(path, max(c.mode, 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			cloud, err := cloudflare.Provider().Open(t.Context(), &c.settings)
			if err != nil {
				t.Fatal(err)
			}
			place, err := cloud.Place(t.Context())
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) || cloud.Classify(err).Retries() {
					t.Errorf("have %v, want %q", err, c.problem)
				}
				if text := strings.Join(append(reconcile.Hints(err), err.Error()), "\n"); strings.Contains(text, stray) || strings.Contains(text, s.Token) {
					t.Errorf("a token is told: %s", text)
				}
				return
			}
			want := s.Account
			if c.other {
				want = other
			}
			if err != nil || place.Account != want {
				t.Errorf("have %v, %v, want %s", place, err, want)
			}
		})
	}
}
