//go:build unix

package main

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	bbolt "go.etcd.io/bbolt"

	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
	"github.com/athanor-dev/athanor/statestore/proctest"
	"github.com/athanor-dev/athanor/statestore/s3/s3test"
)

// vault is a stack with secrets of all sources, alone and inside other values, most of which end in the folder "made".
// %s is a last resource.
const vault = `stack: vault
secrets:
  env: {env: ATHANOR_SECRET_API_KEY}
  file: {file: key.txt}
  sealed: {sealed: true}
resources:
  pw: {kind: random.Password, props: {length: 24}}
  dir: {kind: local.Directory, props: {path: made}}
  plain:
    kind: local.File
    props: {path: made/plain.txt, mode: "0600", content: "${secret.env} ${secret.file} ${secret.sealed} ${pw.value}\n"}
    options: {dependsOn: [dir]}
  json:
    kind: local.File
    props:
      path: made/a.json
      mode: "0600"
      content: {$json: {env: "${secret.env}", nested: {$json: ["${secret.file}", "${pw.value}"]}, sealed: "x${secret.sealed}y"}}
    options: {dependsOn: [dir]}
  url:
    kind: local.File
    props: {path: made/url.txt, mode: "0600", content: {$url: "postgres://%%s@db/x?a=${secret.sealed}", args: [{user: app, password: "${secret.env}"}]}}
    options: {dependsOn: [dir]}
  value: {kind: local.Value, props: {input: {list: ["${secret.file}", "of ${pw.value}"], link: "https://u:${pw.value}@h/"}}}
%s
outputs:
  pw: ${pw.value}
  link: "https://user:${pw.value}@host/"
  env: ${secret.env}
  value: ${value.output}
`

const (
	// whispers prints every secret in every form that a shell knows, and fails.
	whispers = `  bad:
    kind: local.Command
    props:
      env: {A: "${secret.env}", B: "${secret.file}", C: "${secret.sealed}", D: "${pw.value}"}
      run: |
        for s in "$A" "$B" "$C" "$D"; do
          echo "plain $s and $(printf %s "$s" | base64 -w0) and $(printf 'x%s' "$s" | base64 -w0) and $(printf 'xy%s' "$s" | base64 -w0)" >&2
          echo "plain $s" ; done
        for s in "$A" "$B" "$C" "$D"; do
          printf 'in lines\n%s and %s\n' "$(printf 'a text of some length that is not secret: %s' "$s" | base64 -w64)" "$(printf %s "$s" | base64 -w76)"
          printf %s "$s" | od -An -v -tx1 | tr -d ' \n'; echo
          printf %s "$s" | od -An -v -tx1 | tr -d ' \n' | tr a-f A-F; echo
          printf %s "$s" | sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g; s/"/\&#34;/g'; echo
          printf %s "$s" | sed 's/\\/\\\\/g; s/"/\\"/g; s/\\/\\\\/g; s/"/\\"/g'; echo
          printf 'cut off: %.17s…\n' "$s"
        done >&2
        exit 3
  hooked: {kind: local.Value, props: {input: "${plain.digest}"}, options: {before: ["cat made/plain.txt made/a.json made/url.txt; exit 1"]}}`
	waits = `  wait:
    kind: local.Command
    props: {run: "touch started; read x < gate", env: {A: "${secret.env}", B: "${secret.file}", C: "${secret.sealed}", D: "${pw.value}"}, timeout: 10m}`
)

// No secret, in whatever form and wherever it came from, is in anything that is printed or kept, in a file, or every night in a database or
// a bucket.
func TestSecretsLeakNowhere(t *testing.T) {
	t.Parallel()
	t.Run("bolt", func(t *testing.T) {
		leaksNowhere(t, account(), func(*world) {}, func() map[string]string { return nil })
	})
	if !proctest.Whole() {
		return
	}
	t.Run("postgres", func(t *testing.T) {
		server := pgtest.Launch(t, "log_statement=all", "log_parameter_max_length=-1")
		leaksNowhere(t, "role postgres", func(w *world) { w.inDatabase(server.URL("postgres")) }, func() map[string]string {
			return map[string]string{"the database": everything(t, server, "plain"), "the server's log": server.Log(t)}
		})
	})
	t.Run("s3", func(t *testing.T) {
		server := s3test.Start(t, s3test.Versitygw)
		leaksNowhere(t, account(), func(w *world) {
			w.env = append(append(w.env, server.Environment()...), "ATHANOR_STORE="+server.URL(t, "infra"))
		}, func() map[string]string {
			return map[string]string{"the bucket": everythingIn(t, server.Dir())}
		})
	})
}

// account is what the system has authenticated.
func account() string { return fmt.Sprintf("uid %d", os.Getuid()) }

// leaksNowhere takes a stack with secrets through its life, in a store that in names, and looks for them in what was
// printed, in every file, and in what the store kept outside of the project. History names who is authenticated.
func leaksNowhere(t *testing.T, identity string, in func(*world), kept func() map[string]string) {
	env, file, sealed := `S3cr3t "env" \ /+=&<é>%41`, `f1le's ünd/s0 "on"`, `sealed+thing/with=signs&more?`
	w := newWorld(t, fmt.Sprintf(vault, ""))
	in(w)
	temporary := t.TempDir()
	w.env = append(w.env, "ATHANOR_SECRET_API_KEY="+env, "TMPDIR="+temporary)
	w.fifo("gate")
	w.write("key.txt", file+"\n")
	printed := map[string]string{}
	run := func(code int, args ...string) {
		t.Helper()
		p := w.start("athanor", args...)
		if len(args) > 1 && args[0] == "secret" && args[1] == "set" {
			t.Fatal("it needs standard input")
		}
		p.end(code)
		printed[strings.Join(args, " ")] = p.out.String() + p.errs.String()
	}
	set := w.command("secret", "set", "sealed")
	set.Stdin = strings.NewReader(sealed)
	if out, err := set.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run(2, "plan", "--detailed", "--out", "plan.json")
	run(2, "plan", "--json")
	run(0, "deploy", "plan.json", "--yes")
	run(0, "deploy", "--yes", "--force", "--json")
	run(0, "plan")
	generated := strings.TrimSpace(w.run(0, "output", "pw", "--reveal"))
	w.write("athanor.yaml", fmt.Sprintf(vault, whispers))
	run(2, "plan", "--json", "--detailed")
	run(4, "deploy", "--yes")
	run(4, "deploy", "--yes", "--json")
	w.write("athanor.yaml", fmt.Sprintf(vault, waits))
	for name, signal := range map[string]syscall.Signal{"crash": syscall.SIGQUIT, "killed": syscall.SIGKILL} {
		_ = os.Remove(filepath.Join(w.dir, "started"))
		p := w.start("athanor", "deploy", "--yes", "--json")
		w.await("started")
		p.signal(signal)
		<-p.ended
		printed[name] = p.out.String() + p.errs.String()
		if name == "crash" && !strings.Contains(printed[name], "goroutine ") {
			t.Errorf("it did not crash: %s", printed[name])
		}
	}
	w.passing("gate")
	run(0, "deploy", "--yes")
	for _, args := range [][]string{
		{"history"},
		{"history", "--json"},
		{"events"},
		{"events", "--json"},
		{"state", "list", "--json"},
		{"state", "show", "json"},
		{"state", "show", "value", "--json"},
		{"state", "show", "wait"},
		{"graph", "--json"},
		{"output"},
		{"output", "--json"},
		{"secret", "list"},
	} {
		run(0, args...)
	}
	for _, line := range w.lines("history") {
		if line["identity"] != identity || line["user"] != "tester" {
			t.Errorf("history names user %v and identity %v, want %q", line["user"], line["identity"], identity)
		}
		run(0, "events", line["run"].(string), "--json")
	}
	run(2, "destroy", "--dry-run", "--json")
	run(0, "state", "export")
	if err := os.Chmod(filepath.Join(w.dir, "made", "url.txt"), 0o644); err != nil { // a manual change that drift shows
		t.Fatal(err)
	}
	run(2, "drift", "--json")
	run(2, "drift")
	run(2, "plan", "--json", "--detailed")
	run(0, "deploy", "--yes", "--json")
	run(0, "orphans", "--json")
	run(0, "state", "check", "--json")
	run(0, "state", "export", "--out", "export.json")
	run(0, "secret", "rotate")
	run(0, "secret", "rotate", "--list-exposed", "--json")
	run(0, "secret", "recipients")
	run(0, "plan")
	run(0, "history", "--json")
	maps.Copy(printed, kept())
	w.searched(printed, temporary, map[string]string{"env": env, "file": file, "sealed": sealed, "generated": generated})
}

// searched looks for secrets in what was printed and in all files but those that are to hold them.
func (w *world) searched(printed map[string]string, temporary string, secrets map[string]string) {
	w.t.Helper()
	kept, files := map[string]string{}, 0
	for _, dir := range []string{w.dir, temporary, filepath.Dir(w.home())} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.Name() == "made":
				return filepath.SkipDir
			case !d.Type().IsRegular() || d.Name() == "key.txt":
				return nil
			}
			data, err := os.ReadFile(path)
			kept[path] = string(data)
			if filepath.Ext(path) == ".db" {
				kept[path+", unpacked"] = unpacked(w.t, path)
			}
			files++
			return err
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	for _, must := range []string{"vault.dev-tester.key.json", "plan.json", "export.json", "vault.dev-tester.secrets.json"} {
		if kept[filepath.Join(w.dir, must)] == "" {
			w.t.Errorf("%s was not searched, among %d files", must, files)
		}
	}
	// An event that was committed alone is not packed.
	state := filepath.Join(w.dir, ".athanor", "state.db")
	if kept[state] != "" && !strings.Contains(kept[state]+kept[state+", unpacked"], `"address":"plain"`) {
		w.t.Errorf("the events in %s were not searched", state)
	}
	for name, secret := range secrets {
		if !strings.Contains(w.read("made/plain.txt"), secret) {
			w.t.Errorf("%s is not even where it belongs", name)
		}
		for _, form := range forms(secret) {
			for _, texts := range []map[string]string{printed, kept} {
				for where, text := range texts {
					if i := strings.Index(text, form); i >= 0 {
						w.t.Errorf("%s: the secret %s shows as %q: …%q", where, name, form, text[max(0, i-60):i+len(form)])
					}
				}
			}
		}
	}
}

// unpacked is what the packs of events in a state file hold, which are compressed: each value that begins as a pack does.
func unpacked(t *testing.T, path string) string {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const format, head = 2, 1 + 4 + 8
	var all strings.Builder
	var walk func(b *bbolt.Bucket) error
	walk = func(b *bbolt.Bucket) error {
		return b.ForEach(func(key, value []byte) error {
			if value == nil {
				return walk(b.Bucket(key))
			}
			if len(value) <= head || value[0] != format {
				return nil
			}
			_, n := binary.Uvarint(value[head:])
			if n <= 0 {
				return nil
			}
			plain, err := io.ReadAll(flate.NewReader(bytes.NewReader(value[head+n:])))
			if err == nil {
				all.Write(plain)
			}
			return nil // what is no stream is no pack
		})
	}
	err = db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error { return walk(b) })
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// home is the world's configuration folder.
func (w *world) home() string {
	for _, v := range w.env {
		if dir, ok := strings.CutPrefix(v, "XDG_CONFIG_HOME="); ok {
			w.t.Helper()
			return dir
		}
	}
	return ""
}
