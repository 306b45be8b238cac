package pgtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestMain lets a copy of the test binary start the server and wait for its end.
func TestMain(m *testing.M) {
	if os.Getenv("PGTEST_CHILD") == "" {
		os.Exit(m.Run())
	}
	s, err := running()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.dir)
	select {}
}

// TestAServerEndsWithItsBinary: a killed test binary leaves neither a process nor a file.
func TestAServerEndsWithItsBinary(t *testing.T) {
	Start(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PGTEST_CHILD=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 512)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	dir := string(bytes.TrimSpace(line[:n]))
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("the child said %q: %v", dir, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for deadline := time.Now().Add(startLimit); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(dir); os.IsNotExist(err) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is still there", dir)
		}
	}
}

func TestStopAndResume(t *testing.T) {
	s := Launch(t, "log_statement=all")
	url := s.Database(t)
	Exec(t, url, "create table kept (n int)", "insert into kept values (7)")
	s.Stop(t)
	if conn, err := pgx.Connect(t.Context(), url); err == nil {
		conn.Close(t.Context())
		t.Error("a stopped server answers")
	}
	s.Resume(t)
	var n int
	conn := Connect(t, url)
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), "select n from kept").Scan(&n); err != nil || n != 7 {
		t.Errorf("%d, %v", n, err)
	}
	if !strings.Contains(s.Log(t), "create table kept") {
		t.Error("a setting was not taken")
	}
}

func TestRolesNeedTheirPassword(t *testing.T) {
	s := Start(t)
	url := s.Role(t, s.Database(t), "it's a $ecret")
	Connect(t, url).Close(t.Context())
	if conn, err := pgx.Connect(t.Context(), strings.Replace(url, "ecret", "ecre", 1)); err == nil {
		conn.Close(t.Context())
		t.Error("a wrong password is taken")
	}
}
