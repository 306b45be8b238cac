//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
)

// drilled is a stage of a team, with a secret of each kind that the drill has commands for.
const drilled = `stack: shop
secrets: {apiKey: {sealed: true}}
resources:
  pw: {kind: random.Password, props: {version: 0}}
  keys: {kind: local.File, props: {path: keys.txt, mode: "0600", content: "${secret.apiKey} ${pw.value}"}}
`

// stolen finds the commands of the drill.
var stolen = regexp.MustCompile("(?s)## A laptop was stolen\n.*?```sh\n(.*?)```")

// TestDrill does what docs/secrets.md says for the day that a laptop is stolen: the commands are those of the page. Whoever
// has the laptop and everything that was stored until then opens nothing of what is stored afterwards.
func TestDrill(t *testing.T) {
	page, err := os.ReadFile("../../docs/secrets.md")
	if err != nil {
		t.Fatal(err)
	}
	found := stolen.FindSubmatch(page)
	if found == nil {
		t.Fatal("the page has no drill")
	}
	w := newWorld(t, drilled)
	identity := func(name string) *age.X25519Identity {
		id, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		w.write(name, id.String()+"\n")
		return id
	}
	ada, laptop := identity("ada.txt"), identity("laptop.txt")
	as := func(name string) { w.env = append(w.env, "ATHANOR_AGE_IDENTITY="+filepath.Join(w.dir, name)) }
	w.env = append(w.env, "REST="+ada.Recipient().String())
	w.write("first.txt", "the-first-key-of-the-api")
	w.write("new-key.txt", "the-second-key-of-the-api")
	w.shell(`athanor secret set apiKey --stage prod < first.txt`)
	w.shell(`athanor secret rewrap --stage prod --recipient ` + ada.Recipient().String() + ` --recipient ` + laptop.Recipient().String())
	as("ada.txt")
	w.shell(`athanor deploy --stage prod --yes`)
	// The stage was born on the laptop: its key file goes with it.
	theft := t.TempDir()
	if err := os.CopyFS(theft, os.DirFS(w.dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(theft, "laptop.txt"), 0o600); err != nil { // a copy of a folder has modes of its own
		t.Fatal(err)
	}
	home := w.home()
	if err := os.Rename(filepath.Join(home, "athanor", "key"), filepath.Join(theft, "key")); err != nil {
		t.Fatal(err)
	}

	listed := ""
	for line := range strings.Lines(string(found[1])) {
		if strings.HasPrefix(line, "athanor deploy") {
			w.write("athanor.yaml", strings.Replace(drilled, "version: 0", "version: 1", 1))
		}
		listed = w.shell(line)
		if strings.Contains(line, "rotate --stage prod  ") {
			if want := "keys props.content\npw value\nsecret apiKey\n"; listed != want {
				t.Errorf("the old key could open\n%swant\n%s", listed, want)
			}
		}
	}
	if listed != "" {
		t.Errorf("after the drill the old key still knows\n%s", listed)
	}
	if !strings.HasPrefix(w.read("keys.txt"), "the-second-key-of-the-api ") {
		t.Errorf("deployed is %q", w.read("keys.txt"))
	}
	if who := w.shell("athanor secret recipients --stage prod"); strings.Contains(who, laptop.Recipient().String()) || !strings.Contains(who, ada.Recipient().String()) {
		t.Errorf("the ring opens for\n%s", who)
	}

	// The thief takes today's store and files with everything that was on the laptop.
	for _, name := range []string{".athanor/state.db", "shop.prod.key.json", "shop.prod.secrets.json"} {
		data, err := os.ReadFile(filepath.Join(w.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(theft, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, way := range []string{"ATHANOR_AGE_IDENTITY=" + filepath.Join(theft, "laptop.txt"), "ATHANOR_KEY_FILE=" + filepath.Join(theft, "key")} {
		cmd := w.command("state", "show", "pw", "--reveal", "--stage", "prod")
		cmd.Dir, cmd.Env = theft, append(slices.Clip(w.env), "ATHANOR_AGE_IDENTITY=", way)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "is not at hand") {
			t.Errorf("with %s the thief reads: %v\n%s", way, err, out)
		}
	}
}

// shell runs a command line in the world and returns what it prints on standard output.
func (w *world) shell(line string) string {
	w.t.Helper()
	cmd := limited(w.t, "sh", "-eu", "-c", line)
	cmd.Dir, cmd.Env = w.dir, w.env
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("%s: %v\n%s%s", line, err, out, errs.String())
	}
	return string(out)
}
