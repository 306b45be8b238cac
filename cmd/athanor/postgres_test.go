//go:build unix

package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/athanor-dev/athanor/statestore/postgres/pgtest"
)

// inDatabase keeps the record of a world in a database.
func (w *world) inDatabase(url string) {
	w.env = append(w.env, "ATHANOR_STORE="+url)
}

// TestRecordInADatabase takes the example through its life with nothing of its record on disk, and finds no secret in
// what the server was told, keeps and logs.
func TestRecordInADatabase(t *testing.T) {
	server := pgtest.Launch(t, "log_statement=all", "log_parameter_max_length=-1")
	stack, err := os.ReadFile("../../examples/site/athanor.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, string(stack))
	if err := os.CopyFS(filepath.Join(w.dir, "assets"), os.DirFS("../../examples/site/assets")); err != nil {
		t.Fatal(err)
	}
	const dbPassword = "the-database-password"
	url := server.Role(t, server.URL("postgres"), dbPassword)
	role, _, _ := strings.Cut(strings.TrimPrefix(url, "postgres://"), ":")
	pgtest.Exec(t, server.URL("postgres"), "grant create on database postgres to "+role)
	w.inDatabase(url)
	if help := w.run(0, "deploy", "--help"); strings.Contains(help, dbPassword) {
		t.Error("the help shows the password of the database")
	}

	w.run(2, "plan", "--out", "plan.json")
	saved, err := os.ReadFile(filepath.Join(w.dir, "plan.json"))
	if err != nil || bytes.Contains(saved, []byte(dbPassword)) || !bytes.Contains(saved, []byte("postgres://"+role+"@")) {
		t.Errorf("the saved plan names no store, or its password: %v", err)
	}
	wantCounts(t, w.summary(0, "deploy", "plan.json", "--yes"), map[string]float64{"created": 7, "failed": 0})
	wantCounts(t, w.summary(0, "deploy", "--yes"), map[string]float64{"unchanged": 7, "commits": 0})
	if list := w.run(0, "state", "list"); len(strings.Fields(list)) < 7 || !strings.Contains(list, "manifest") {
		t.Errorf("state list: %s", list)
	}
	if index := w.run(0, "output", "index"); strings.TrimSpace(index) != "public/index.html" {
		t.Errorf("output: %s", index)
	}
	password := w.run(0, "output", "password", "--reveal")
	tells(t, strings.TrimSpace(password), map[string]string{"the database": everything(t, server, "credentials"), "the server's log": server.Log(t)})
	var rotated struct {
		Scraps   bool     `json:"scraps"`
		ScrapsIn []string `json:"scrapsIn"`
	}
	if err := json.Unmarshal([]byte(w.run(0, "secret", "rotate", "--json")), &rotated); err != nil {
		t.Fatal(err)
	}
	in := strings.Join(rotated.ScrapsIn, "\n")
	if !rotated.Scraps || !strings.Contains(in, "write-ahead log") || !strings.Contains(in, "backups") || strings.Contains(in, "tables") {
		t.Errorf("what the old key sealed is said to be in: %s", in)
	}
	if w.has(".athanor/state.db") {
		t.Error("there is a record on disk too")
	}
	wantCounts(t, w.summary(0, "destroy", "--yes"), map[string]float64{"deleted": 7})
	if list := w.run(0, "state", "list"); strings.Contains(list, "manifest") {
		t.Errorf("after destroy: %s", list)
	}
}

// everything is every value of every table of the store, which has something of an address.
func everything(t *testing.T, server *pgtest.Server, address string) string {
	t.Helper()
	conn := pgtest.Connect(t, server.URL("postgres"))
	defer conn.Close(t.Context())
	var all strings.Builder
	for _, table := range []string{"about", "stages", "records"} {
		rows, err := conn.Query(t.Context(), "select * from athanor."+table)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values, err := rows.Values()
			if err != nil {
				t.Fatal(err)
			}
			for _, value := range values {
				if data, ok := value.([]byte); ok {
					all.Write(data)
				}
				fmt.Fprintln(&all, value)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(all.String(), address) {
		t.Fatal("the record is not where it is searched")
	}
	return all.String()
}

// tells fails when a text has a secret in it: as it is, in base64, or in hexadecimal digits as the server logs bytes.
func tells(t *testing.T, secret string, texts map[string]string) {
	t.Helper()
	if len(secret) < 16 {
		t.Fatalf("no secret: %q", secret)
	}
	for name, text := range texts {
		for _, form := range append(forms(secret), hex.EncodeToString([]byte(secret))) {
			if strings.Contains(text, form) {
				t.Errorf("%s shows the secret, as %q", name, form)
			}
		}
	}
}

// TestManyDeployOneStage: of real processes that deploy one stage at once, one does, and the others name it and end.
// When it is killed the next one goes on at once.
func TestManyDeployOneStage(t *testing.T) {
	w := newGated(t)
	w.inDatabase(pgtest.Start(t).Schema(t))
	const n = 4
	type outcome struct {
		cmd    *exec.Cmd
		code   int
		stderr string
	}
	outcomes := make(chan outcome, n)
	var running sync.WaitGroup
	for range n {
		cmd := w.command("deploy", "--yes")
		cmd.SysProcAttr.Setpgid = true
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			code := exitCode(t, cmd, cmd.Wait())
			outcomes <- outcome{cmd, code, errs.String()}
		})
		t.Cleanup(func() { _ = cmd.Process.Kill() })
	}
	w.await("started")
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	holder := ""
	for range n - 1 { // they end while the holder waits at the gate
		lost := awaited(t, outcomes, "the other one")
		pid := lineOf(lost.stderr, "pid")
		if holder == "" {
			holder = pid
		}
		if lost.code != 3 || pid != holder || pid == fmt.Sprint(lost.cmd.Process.Pid) || lineOf(lost.stderr, "host") != host || lineOf(lost.stderr, "since") == "" {
			t.Errorf("exit code %d: %s", lost.code, lost.stderr)
		}
	}
	if starts, _ := os.ReadFile(filepath.Join(w.dir, "starts")); string(starts) != ".\n" {
		t.Errorf("%d processes changed the world", bytes.Count(starts, []byte(".")))
	}
	pid := 0
	if _, err := fmt.Sscan(holder, &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	running.Wait()
	w.openNext()
	counts := w.summary(0, "deploy", "--yes")
	wantCounts(t, counts, map[string]float64{"created": 2, "failed": 0})
	// Its file was whole in any case; that it is as declared was not yet written in some.
	if counts["unchanged"].(float64)+counts["recovered"].(float64) != 1 {
		t.Errorf("what was made before is made again: %v", counts)
	}
	w.tookOverTheDead()
	wantCounts(t, w.summary(0, "deploy"), map[string]float64{"unchanged": 3, "commits": 0})
}

// lineOf is what stands behind a name in the list that describes a holder.
func lineOf(text, name string) string {
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == name {
			return fields[1]
		}
	}
	return ""
}

// TestDatabaseAwayInMidRun: the server is stopped while a resource is being made and comes back; the run goes on as if
// nothing had been.
func TestDatabaseAwayInMidRun(t *testing.T) {
	server := pgtest.Launch(t)
	w := newGated(t)
	w.inDatabase(server.URL("postgres"))
	deploy := w.start("athanor", "deploy", "--yes", "--json")
	w.await("started")
	server.Stop(t)
	w.open()
	w.await("done") // its result cannot be written now
	server.Resume(t)
	deploy.end(0)
	wantCounts(t, w.summary(0, "deploy", "--yes"), map[string]float64{"unchanged": 3, "commits": 0})
}
