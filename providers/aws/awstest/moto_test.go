package awstest

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestNoOrphan starts the emulator in a process of its own, ends that process
// in different ways, and waits for the emulator's port to close.
func TestNoOrphan(t *testing.T) {
	const mark = "emulator at "
	if os.Getenv("AWSTEST_ORPHAN") != "" {
		fmt.Println(mark + strings.TrimPrefix(emulator(t), "http://"))
		if os.Getenv("AWSTEST_ORPHAN") == "kill" {
			select {}
		}
		return
	}
	Start(t) // skips where there is none
	for _, end := range []string{"kill", "exit"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNoOrphan$", "-test.timeout=2m")
		cmd.Env = append(os.Environ(), "AWSTEST_ORPHAN="+end)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var address string
		for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
			_, address, _ = strings.Cut(lines.Text(), mark)
		}
		if address == "" {
			t.Fatalf("%s: no address", end)
		}
		if end == "kill" {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		if err := cmd.Wait(); (err == nil) != (end == "exit") {
			t.Errorf("%s: %v", end, err)
		}
		if !closes(address) {
			t.Errorf("%s: the emulator still listens on %s", end, address)
		}
	}
}

// closes polls until nobody listens at the address.
func closes(address string) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(2 * time.Minute); ; {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return true
		}
		conn.Close()
		select {
		case <-tick.C:
		case <-limit:
			return false
		}
	}
}

// TestChosenEmulator: what $ATHANOR_MOTO names must be there, since a test
// skipped for a misspelt path would never be missed.
func TestChosenEmulator(t *testing.T) {
	t.Setenv("ATHANOR_MOTO", t.TempDir()+"/moto_server")
	if path, err := find(); err == nil || !strings.Contains(err.Error(), "ATHANOR_MOTO") {
		t.Errorf("find: %q, %v", path, err)
	}
}

// TestCommand: a script of Python is started by emulator.py, anything else as it is.
func TestCommand(t *testing.T) {
	for first, ours := range map[string]bool{
		"#!/opt/venv/bin/python": true, "#!/opt/venv/bin/python3.11\r": true,
		"#!/usr/bin/env python3": false, "#!/bin/sh": false, "\x7fELF": false, "": false,
	} {
		path := filepath.Join(t.TempDir(), "moto_server")
		if err := os.WriteFile(path, []byte(first+"\nmain()\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := command(path, "-p", "0")
		if have := slices.Contains(cmd.Args, emulatorProgram); have != ours || !slices.Equal(cmd.Args[len(cmd.Args)-2:], []string{"-p", "0"}) {
			t.Errorf("%q is started by %v", first, cmd.Args)
		}
	}
}

// TestEmulatorFails shows the exception with which the emulator itself fails, which callers see as a page that no service sends.
func TestEmulatorFails(t *testing.T) {
	s := Start(t)
	var told bytes.Buffer
	s.emulator.told = &told
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL+"/bucket/key?uploadId=none&partNumber=one", strings.NewReader("part"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+AccessKey(s.Account)+"/20261128/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusInternalServerError || !strings.Contains(told.String(), "S3.UploadPart") || !strings.Contains(told.String(), "ValueError: invalid literal") {
		t.Errorf("%s, and it is told:\n%s", res.Status, &told)
	}
}
