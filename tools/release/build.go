package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// target is a system that athanor is built for.
type target struct{ os, arch string }

var targets = []target{
	{"darwin", "amd64"}, {"darwin", "arm64"}, {"linux", "amd64"}, {"linux", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

// name is how the archive of a target is called, without its ending. It has no version, so that the address of the newest
// is always the same.
func (t target) name() string { return "athanor-" + t.os + "-" + t.arch }

// program is how the binary is called.
func (t target) program() string {
	if t.os == "windows" {
		return "athanor.exe"
	}
	return "athanor"
}

// builder is a checkout that is built with a cache of its own, empty for the user's.
type builder struct{ dir, cache string }

// export writes a commit into a folder, so that nothing is released that is not committed.
func export(ctx context.Context, root, commit, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	pack := exec.CommandContext(ctx, "git", "-C", root, "archive", commit)
	unpack := exec.CommandContext(ctx, "tar", "-x", "-C", dir)
	var err error
	if unpack.Stdin, err = pack.StdoutPipe(); err != nil {
		return err
	}
	pack.Stderr, unpack.Stderr = os.Stderr, os.Stderr
	if err := unpack.Start(); err != nil {
		return err
	}
	packed := pack.Run()
	if err := unpack.Wait(); err != nil {
		return err
	}
	return packed
}

// build compiles a package for a target.
func (b builder) build(ctx context.Context, r release, t target, pkg, out string) error {
	// An empty GOFLAGS would leave the user's own, which `go env -w` has set.
	env := []string{"CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off", "GOOS=" + t.os, "GOARCH=" + t.arch, "GOAMD64=v1", "GOARM64=v8.0"}
	if b.cache != "" {
		env = append(env, "GOCACHE="+b.cache)
	}
	flags := fmt.Sprintf("-s -w -buildid= -X main.version=%s -X main.commit=%s -X main.date=%s", r.version, r.commit, r.time.Format(time.RFC3339))
	return execute(ctx, b.dir, env, "go", "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", out, pkg)
}

// builtAlike builds a package by every builder and gives the file of the first. Files that differ are an error.
func builtAlike(ctx context.Context, builders []builder, r release, t target, pkg, work string) (string, error) {
	var first []byte
	name := ""
	for i, b := range builders {
		out := filepath.Join(work, fmt.Sprintf("%s.%d", t.name(), i))
		if err := b.build(ctx, r, t, pkg, out); err != nil {
			return "", fmt.Errorf("%s: %w", t.name(), err)
		}
		data, err := os.ReadFile(out)
		switch {
		case err != nil:
			return "", err
		case i == 0:
			first, name = data, out
		case !bytes.Equal(first, data):
			return "", fmt.Errorf("%s is not reproducible: two builds of the same commit differ", t.name())
		}
	}
	return name, nil
}
