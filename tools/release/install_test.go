package main

import (
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// host serves a release as the newest and as its version.
func host(t *testing.T, dir string) string {
	t.Helper()
	files := http.FileServer(http.Dir(dir))
	mux := http.NewServeMux()
	mux.Handle("/releases/latest/download/", http.StripPrefix("/releases/latest/download/", files))
	mux.Handle("/releases/download/v1.2.3/", http.StripPrefix("/releases/download/v1.2.3/", files))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/releases"
}

// install runs install.sh with a home of its own, and gives what it printed and its exit code.
func install(t *testing.T, home string, as *syscall.Credential, env ...string) (string, int) {
	t.Helper()
	script, err := os.ReadFile("../../install.sh")
	if err != nil {
		t.Fatal(err)
	}
	return installBy(t, string(script), home, as, env...)
}

func installBy(t *testing.T, script, home string, as *syscall.Credential, env ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh")
	cmd.Stdin = strings.NewReader(script)
	cmd.Dir = "/"
	cmd.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LC_ALL=C", "no_proxy=127.0.0.1"}, env...)
	if as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	}
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// folderHolds checks what an installation left in the folder of the binary.
func folderHolds(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var have []string
	for _, e := range entries {
		have = append(have, e.Name())
	}
	if strings.Join(have, " ") != strings.Join(want, " ") {
		t.Errorf("%s holds %v, want %v", dir, have, want)
	}
}

// TestInstall installs the newest release and a named one, over an older binary too, with curl and with wget.
func TestInstall(t *testing.T) {
	for _, program := range []string{"curl", "wget"} {
		t.Run(program, func(t *testing.T) {
			need(t, program)
			base := host(t, published(t, filesOf(t, sample(t))))
			bin := onlyWith(t, program)
			for _, version := range []string{"", "v1.2.3"} {
				home := t.TempDir()
				for range 2 {
					out, code := install(t, home, nil, "ATHANOR_RELEASES="+base, "ATHANOR_VERSION="+version, "PATH="+bin)
					want := "athanor v1.2.3 athanor-linux-" + runtime.GOARCH + " is in " + home + "/.local/bin/athanor\n"
					if code != 0 || !strings.HasPrefix(out, want) || !strings.Contains(out, "next:  export PATH=") {
						t.Fatalf("%d: %s", code, out)
					}
					folderHolds(t, filepath.Join(home, ".local/bin"), "athanor")
				}
			}
		})
	}
}

// onlyWith is a PATH that holds what the script uses and one program for downloads.
func onlyWith(t *testing.T, download string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range append(strings.Fields("sh uname mktemp rm mkdir awk cut head tail tar gzip cp chmod mv sha256sum ssh-keygen cat"), download) {
		if path, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// TestInstallRefuses: what is wrong is said, the exit code is 1, and nothing is installed.
func TestInstallRefuses(t *testing.T) {
	need(t, "curl")
	files := filesOf(t, sample(t))
	archive := "athanor-linux-" + runtime.GOARCH + ".tar.gz"
	with := func(name, text string) string {
		changed := maps.Clone(files)
		changed[name] = []byte(text)
		return host(t, published(t, changed))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	notRun := sample(t)
	for i := range notRun.binaries {
		notRun.binaries[i].program = []byte("#!/bin/sh\necho wrong system >&2\nexit 1\n")
	}
	for name, c := range map[string]struct {
		env  []string
		want string
	}{
		"wrong checksum":      {[]string{"ATHANOR_RELEASES=" + with(archive, "something else")}, "error: " + archive + " has the checksum "},
		"not listed":          {[]string{"ATHANOR_RELEASES=" + with("SHA256SUMS", "")}, "does not list " + archive},
		"part of a name":      {[]string{"ATHANOR_RELEASES=" + with("SHA256SUMS", digest(files[archive])+"  other-"+archive+"\n")}, "does not list " + archive},
		"no network":          {[]string{"ATHANOR_RELEASES=" + closed}, "cannot be downloaded: curl: (7)"},
		"no such version":     {[]string{"ATHANOR_RELEASES=" + host(t, published(t, files)), "ATHANOR_VERSION=v9.9.9"}, "/download/v9.9.9/SHA256SUMS cannot be downloaded: curl: (22)"},
		"no version":          {[]string{"ATHANOR_VERSION=newest"}, "ATHANOR_VERSION=newest is no version"},
		"does not run":        {[]string{"ATHANOR_RELEASES=" + host(t, published(t, filesOf(t, notRun)))}, "does not run here: wrong system"},
		"a file as folder":    {[]string{"ATHANOR_INSTALL_DIR=/dev/null/bin"}, "error: /dev/null/bin cannot be made: "},
		"no other than https": {[]string{"ATHANOR_RELEASES=file:///"}, "cannot be downloaded: curl: (1)"},
		"no temporary folder": {[]string{"TMPDIR=/dev/null"}, "no temporary folder can be made"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			out, code := install(t, home, nil, c.env...)
			if code != 1 || !strings.Contains(out, c.want) {
				t.Errorf("exit code %d: %s\nwant %s", code, out, c.want)
			}
			folderHolds(t, filepath.Join(home, ".local/bin"))
		})
	}
}

// TestInstallWithoutPermission: a folder that the user may not write is said before anything is downloaded.
func TestInstallWithoutPermission(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("as oneself; root is tried as nobody")
	}
	home, err := os.MkdirTemp("", "install") // t.TempDir's parent is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	folder := filepath.Join(home, "bin")
	if err := os.Mkdir(folder, 0o555); err != nil { //nolint:gosec // others read it
		t.Fatal(err)
	}
	if err := os.Chmod(home, 0o755); err != nil { //nolint:gosec // others read it
		t.Fatal(err)
	}
	var nobody *syscall.Credential
	if os.Getuid() == 0 {
		nobody = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	out, code := install(t, home, nobody, "ATHANOR_INSTALL_DIR="+folder, "ATHANOR_RELEASES=http://127.0.0.1:1")
	if want := "error: " + folder + " cannot be written\nhint:  ATHANOR_INSTALL_DIR=DIR"; code != 1 || !strings.HasPrefix(out, want) {
		t.Errorf("%d: %s", code, out)
	}
}

// TestInstallBreaksOff: a script that did not arrive whole does nothing, wherever it ends.
func TestInstallBreaksOff(t *testing.T) {
	script, err := os.ReadFile("../../install.sh")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSuffix(string(script), "main\n")
	if len(text) == len(script) {
		t.Fatal("the script does not end with its call of main")
	}
	for _, cut := range []int{len(text), len(text) * 9 / 10, len(text) / 2, len(text) / 3} {
		home := t.TempDir()
		if out, _ := installBy(t, text[:cut], home, nil, "ATHANOR_RELEASES=http://127.0.0.1:1"); strings.Contains(out, "127.0.0.1") {
			t.Errorf("%d of %d bytes: %s", cut, len(script), out)
		}
		folderHolds(t, home)
	}
}

// TestInstallSigned: with a file of signers, only checksums that one of them signed for a release are taken.
func TestInstallSigned(t *testing.T) {
	need(t, "curl")
	need(t, "ssh-keygen")
	keys := t.TempDir()
	signers := filepath.Join(keys, "signers")
	for _, name := range []string{"ours", "other"} {
		output(t, keys, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", name)
	}
	public, err := os.ReadFile(filepath.Join(keys, "ours.pub"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(signers, append([]byte("release@athanor.dev "), public...), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := published(t, filesOf(t, sample(t)))
	base := host(t, dir)
	for _, c := range []struct {
		name, want string
		code       int
		sign       func()
	}{
		{"no signature", "SHA256SUMS.sig cannot be downloaded", 1, func() {}},
		{"another key", "the signature of " + base, 1, func() {
			if err := sign(t.Context(), dir, filepath.Join(keys, "other")); err != nil {
				t.Fatal(err)
			}
		}},
		{"another purpose", "the signature of " + base, 1, func() {
			if err := os.Remove(filepath.Join(dir, "SHA256SUMS.sig")); err != nil {
				t.Fatal(err)
			}
			output(t, dir, "ssh-keygen", "-q", "-Y", "sign", "-n", "file", "-f", filepath.Join(keys, "ours"), "SHA256SUMS")
		}},
		{"ours", "is in ", 0, func() {
			if err := sign(t.Context(), dir, filepath.Join(keys, "ours")); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		c.sign()
		home := t.TempDir()
		if out, code := install(t, home, nil, "ATHANOR_RELEASES="+base, "ATHANOR_SIGNERS="+signers); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%s: %d: %s", c.name, code, out)
		}
	}
}
