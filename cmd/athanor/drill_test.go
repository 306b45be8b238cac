//go:build unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/aws/aws-sdk-go-v2/service/kms"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
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

// TestDrill does what docs/secrets.md says for the day that a laptop is stolen: the commands are those of the page. A
// thief who has the laptop and everything that was stored until then opens nothing of what is stored afterwards, by
// whichever way the laptop opened the stage.
func TestDrill(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/secrets.md")
	if err != nil {
		t.Fatal(err)
	}
	found := stolen.FindSubmatch(page)
	if found == nil {
		t.Fatal("the page has no drill")
	}
	for name, way := range map[string]func(t *testing.T, w *world) (rewrap, opens string){
		"age": func(t *testing.T, w *world) (string, string) {
			id := ageIdentity(t, w, "laptop.txt")
			return "--recipient " + id.String(), "ATHANOR_AGE_IDENTITY=" + filepath.Join(w.dir, "laptop.txt")
		},
		"key file": func(_ *testing.T, w *world) (string, string) {
			path := filepath.Join(w.dir, "laptop.key")
			return "--key-file " + path, "ATHANOR_KEY_FILE=" + path
		},
		"passphrase": func(_ *testing.T, w *world) (string, string) {
			w.write("phrase.txt", "correct horse battery staple\n")
			return "--passphrase < phrase.txt", "ATHANOR_PASSPHRASE=correct horse battery staple"
		},
		"AWS KMS": func(t *testing.T, w *world) (string, string) {
			server := awstest.Start(t)
			made, err := kms.NewFromConfig(server.Config(t)).CreateKey(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range server.Env() {
				w.env = append(w.env, name+"="+value) // the thief has the credentials too, until they are taken away
			}
			return "--recipient awskms:" + *made.KeyMetadata.Arn, "AWS_REGION=" + server.Region
		},
	} {
		t.Run(name, func(t *testing.T) { drill(t, string(found[1]), way) })
	}
}

// ageIdentity writes a new identity into a file of the world.
func ageIdentity(t *testing.T, w *world, name string) *age.X25519Recipient {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	w.write(name, id.String()+"\n")
	return id.Recipient()
}

func drill(t *testing.T, commands string, way func(t *testing.T, w *world) (rewrap, opens string)) {
	w := newWorld(t, drilled)
	ada := ageIdentity(t, w, "ada.txt").String()
	w.write("first.txt", "the-first-key-of-the-api")
	w.write("new-key.txt", "the-second-key-of-the-api")
	w.shell(`athanor secret set apiKey --stage prod < first.txt`)
	rewrap, opens := way(t, w)
	w.shell(`athanor secret rewrap --stage prod --recipient ` + ada + ` ` + rewrap)
	// The stage was born on the laptop: its key file goes with it.
	theft, home := t.TempDir(), w.home()
	if err := os.Rename(filepath.Join(home, "athanor", "key"), filepath.Join(theft, "key")); err != nil {
		t.Fatal(err)
	}
	for name, can := range map[string]string{"ada": "ATHANOR_AGE_IDENTITY=" + filepath.Join(w.dir, "ada.txt"), "the laptop": opens} {
		cmd := w.command("secret", "list", "--stage", "prod")
		cmd.Env = append(slices.Clip(w.env), can)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s cannot open the stage: %v\n%s", name, err, out)
		}
	}
	laptop := w.env
	w.env = append(slices.Clip(w.env), "REST="+ada, "ATHANOR_AGE_IDENTITY="+filepath.Join(w.dir, "ada.txt"))
	w.shell(`athanor deploy --stage prod --yes`)
	if err := os.CopyFS(theft, os.DirFS(w.dir)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"laptop.txt", "laptop.key"} { // a copy of a folder has modes of its own
		if err := os.Chmod(filepath.Join(theft, name), 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}

	listed := ""
	for line := range strings.Lines(commands) {
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
	if who := w.shell("athanor secret recipients --stage prod"); strings.Count(who, "\n") != 1 || !strings.Contains(who, ada) {
		t.Errorf("the ring opens for\n%s", who)
	}

	shows := func(dir, way string) (string, error) {
		cmd := w.command("state", "show", "pw", "--reveal", "--stage", "prod")
		cmd.Dir, cmd.Env = dir, append(slices.Clip(laptop), "ATHANOR_AGE_IDENTITY=", strings.ReplaceAll(way, w.dir, theft))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	// What the laptop has of the time before it opens, as the page says.
	if out, err := shows(theft, opens); err != nil {
		t.Errorf("the copy of the time before does not open, so that this proves nothing: %v\n%s", err, out)
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
	for _, way := range []string{opens, "ATHANOR_KEY_FILE=" + filepath.Join(theft, "key")} {
		if out, err := shows(theft, way); err == nil || !strings.Contains(out, "is not at hand") {
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
