//go:build unix

package tracetest_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/athanor-dev/athanor/statestore/tracetest"
)

// childFolder makes a copy of the test binary the process that is traced.
const childFolder = "TRACETEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		if err := work(dir); err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// work does one of each operation, through a root that is opened, as the kinds do, and by path.
func work(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	steps := []func() error{
		func() error { return os.WriteFile("elsewhere", []byte("not shown"), 0o600) },
		func() error { return root.Mkdir("sub", 0o700) },
		func() error { return os.WriteFile(filepath.Join(dir, "sub", "a"), []byte("first"), 0o600) },
		func() error { return appended(filepath.Join(dir, "sub", "a")) },
		func() error { return root.Chmod("sub/a", 0o640) },
		func() error { return os.Link(filepath.Join(dir, "sub", "a"), filepath.Join(dir, "b")) },
		func() error { return root.Rename("b", "c") },
		func() error { return root.Remove("c") },
		func() error { return synced(dir) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func appended(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(" second"); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if f, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return err
	}
	_, err = f.WriteAt([]byte("FIR"), 0)
	return errors.Join(err, f.Sync(), f.Truncate(4), f.Close())
}

func synced(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// traced runs the child under watch and gives what it did, its exit status and its output.
func traced(t *testing.T, dir string, before func(tracetest.Op) tracetest.Order) (ops []tracetest.Op, status syscall.WaitStatus, out string) {
	t.Helper()
	output, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	attr := &os.ProcAttr{Dir: t.TempDir(), Env: append(os.Environ(), childFolder+"="+dir), Files: []*os.File{nil, output, output}}
	watch := tracetest.Watch{Under: []string{dir}, Before: before, After: func(op tracetest.Op) { ops = append(ops, op) }}
	status, err = tracetest.Run(os.Args[:1], attr, watch)
	if errors.Is(err, tracetest.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(output.Name())
	if err != nil {
		t.Fatal(err)
	}
	return ops, status, string(data)
}

func said(dir string, ops []tracetest.Op) []string {
	var all []string
	for _, op := range ops {
		all = append(all, strings.ReplaceAll(op.String(), dir+"/", ""))
	}
	return all
}

var everything = []string{
	"make directory sub", "create sub/a", "write sub/a [0:5]", "write sub/a [5:12]", "mode sub/a", "link sub/a to b", "rename b to c", "remove c",
}

func TestEachOperationIsSeen(t *testing.T) {
	dir := t.TempDir()
	ops, status, out := traced(t, dir, nil)
	if status.ExitStatus() != 0 {
		t.Fatal(out)
	}
	want := slices.Insert(slices.Clone(everything), 4, "write sub/a [0:3]", "sync sub/a", "truncate sub/a to 4")
	want = append(want, "sync "+dir)
	if have := said(dir, ops); !slices.Equal(have, want) {
		t.Errorf("seen:\n%s\nwant:\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
	for _, op := range ops {
		if op.Inode == 0 && op.Kind != tracetest.Rename && op.Kind != tracetest.Remove && op.Kind != tracetest.Mode {
			t.Errorf("%s: no inode", op)
		}
	}
}

// What is killed before an operation has done everything before it and nothing after.
func TestKilledBeforeAnOperation(t *testing.T) {
	for n := range 12 {
		dir := t.TempDir()
		at := 0
		ops, status, _ := traced(t, dir, func(tracetest.Op) tracetest.Order {
			at++
			return tracetest.Order{Kill: at == n+1}
		})
		if !status.Signaled() || status.Signal() != syscall.SIGKILL || len(ops) != n {
			t.Fatalf("killed before operation %d: %v after %d operations", n+1, status, len(ops))
		}
		if _, err := os.Stat(filepath.Join(dir, "sub")); (err == nil) != (n >= 1) {
			t.Errorf("killed before operation %d: the folder: %v", n+1, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "c")); (err == nil) != (n == 10) {
			t.Errorf("killed before operation %d: the new name: %v", n+1, err)
		}
	}
}

func TestAnOperationFails(t *testing.T) {
	dir := t.TempDir()
	_, status, out := traced(t, dir, func(op tracetest.Op) tracetest.Order {
		if op.Kind == tracetest.Write && op.Offset == 5 {
			return tracetest.Order{Fail: syscall.ENOSPC}
		}
		return tracetest.Order{}
	})
	if status.ExitStatus() != 3 || !strings.Contains(out, "no space left on device") {
		t.Fatalf("status %v: %s", status, out)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "sub", "a")); string(data) != "first" || err != nil {
		t.Errorf("the file holds %q, %v", data, err)
	}
}

func TestKilledAtAStep(t *testing.T) {
	output, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	last := 0
	status, err := tracetest.Run(os.Args[:1], &os.ProcAttr{Env: append(os.Environ(), childFolder+"="+t.TempDir()), Files: []*os.File{nil, output, output}},
		tracetest.Watch{Step: func(n int) tracetest.Order {
			last = n
			return tracetest.Order{Kill: n == 40}
		}})
	if errors.Is(err, tracetest.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil || !status.Signaled() || last < 40 {
		t.Errorf("status %v after %d steps, %v", status, last, err)
	}
}

// played gives the folders that may be found after each operation.
func played(t *testing.T, ops []tracetest.Op, root string, chance *rand.Rand) []string {
	t.Helper()
	disk, err := tracetest.NewDisk(root)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, op := range ops {
		disk.Apply(op)
		into := t.TempDir()
		if err := disk.Lose(chance, into); err != nil {
			t.Fatal(err)
		}
		found = append(found, into)
	}
	return found
}

func TestDisk(t *testing.T) {
	root := t.TempDir()
	sub := filepath.Join(root, "sub")
	inode := func(path string) uint64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Sys().(*syscall.Stat_t).Ino
	}
	ops := []tracetest.Op{
		{Kind: tracetest.MakeDir, Path: sub, Inode: 1 << 60},
		{Kind: tracetest.Create, Path: filepath.Join(sub, "a"), Inode: 1 << 61},
		{Kind: tracetest.Write, Path: filepath.Join(sub, "a"), Inode: 1 << 61, Data: bytes.Repeat([]byte("x"), 2048)},
		{Kind: tracetest.Sync, Path: filepath.Join(sub, "a"), Inode: 1 << 61},
		{Kind: tracetest.Sync, Path: sub, Inode: 1 << 60},
		{Kind: tracetest.Sync, Path: root, Inode: inode(root)},
	}
	for seed := range uint64(200) {
		found := played(t, ops, root, rand.New(rand.NewPCG(seed, 0)))
		data, err := os.ReadFile(filepath.Join(found[5], "sub", "a"))
		if err != nil || !bytes.Equal(data, ops[2].Data) {
			t.Fatalf("seed %d: what is synced with all its folders is lost: %d bytes, %v", seed, len(data), err)
		}
		if data, err := os.ReadFile(filepath.Join(found[4], "sub", "a")); err == nil && !bytes.Equal(data, ops[2].Data) {
			t.Fatalf("seed %d: synced content is damaged", seed)
		}
	}
	kinds := map[string]bool{}
	for seed := range uint64(200) {
		found := played(t, ops, root, rand.New(rand.NewPCG(seed, 1)))
		if _, err := os.Stat(filepath.Join(found[4], "sub")); err != nil {
			kinds["no folder"] = true
		}
		switch data, err := os.ReadFile(filepath.Join(found[2], "sub", "a")); {
		case err != nil:
			kinds["no file"] = true
		case len(data) < 2048:
			kinds["short"] = true
		case bytes.Equal(data, ops[2].Data):
			kinds["whole"] = true
		case bytes.Contains(data, make([]byte, 512)):
			kinds["holes"] = true
		default:
			kinds["noise"] = true
		}
	}
	if len(kinds) != 6 {
		t.Errorf("only these losses come: %v", kinds)
	}
	if found := played(t, ops, root, nil); len(found) != 6 {
		t.Error("not played")
	} else if data, err := os.ReadFile(filepath.Join(found[2], "sub", "a")); len(data) != 2048 || err != nil {
		t.Errorf("without loss: %d bytes, %v", len(data), err)
	}
}
