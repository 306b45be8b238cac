package local

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// errnoOf is the error number that stands for a class.
func errnoOf(class reconcile.Class) error {
	switch class {
	case reconcile.Denied:
		return &fs.PathError{Op: "open", Path: "injected", Err: syscall.EACCES}
	case reconcile.Throttled:
		return &fs.PathError{Op: "open", Path: "injected", Err: syscall.EMFILE}
	case reconcile.Transient:
		return &fs.PathError{Op: "open", Path: "injected", Err: syscall.EINTR}
	}
	return nil
}

// sources makes a stack's directory with files to copy from.
func sources(t kindtest.T, dir string) {
	t.Helper()
	for name, text := range map[string]string{
		"src/one.txt": "one", "src/two.txt": "two", "src/tree/a.txt": "a", "src/tree/run.sh": "#!/bin/sh\n", "src/tree/deep/b.txt": "b",
		"src/other/a.txt": "another a", "src/other/c.txt": "c",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatalf("%v", err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatalf("%v", err)
		}
	}
	for _, err := range []error{
		os.Chmod(filepath.Join(dir, "src/tree/run.sh"), 0o755),
		os.Mkdir(filepath.Join(dir, "src/tree/empty"), 0o755),
	} {
		if err != nil {
			t.Fatalf("%v", err)
		}
	}
}

// disk is a world in a folder of its own. Everything outside src counts.
func disk(single bool) func(t kindtest.T) kindtest.World {
	return func(t kindtest.T) kindtest.World {
		dir := t.TempDir()
		sources(t, dir)
		return kindtest.World{Cloud: machine{}, Dir: dir, Objects: func() []any {
			files := map[string]any{}
			err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				rel, _ := filepath.Rel(dir, path)
				if err != nil || rel == "." {
					return err
				}
				if rel == "src" {
					return fs.SkipDir
				}
				info, err := d.Info()
				if err != nil {
					return err
				}
				if d.IsDir() {
					if single {
						return nil
					}
					files[rel+"/"] = info.Mode().String()
					return nil
				}
				text, err := os.ReadFile(path)
				files[rel] = info.Mode().String() + " " + string(text)
				return err
			})
			if err != nil {
				t.Fatalf("%v", err)
			}
			if single {
				var all []any
				for name, v := range files {
					all = append(all, name+": "+v.(string))
				}
				return all
			}
			if len(files) == 0 {
				return nil
			}
			return []any{files}
		}}
	}
}

// edit writes, or with text nil removes, a file of the thing.
func edit(name string, mode fs.FileMode, text string) func(kindtest.T, kindtest.World, map[string]any) {
	return func(t kindtest.T, w kindtest.World, attrs map[string]any) {
		t.Helper()
		path := filepath.Join(w.Dir, attrs["path"].(string), name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatalf("%v", err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatalf("%v", err)
		}
	}
}

func TestFileConforms(t *testing.T) {
	t.Parallel()
	kindtest.Run(t, kindtest.Suite{
		Kind:  reconcile.Erase(fileKind),
		World: disk(true),
		Base:  map[string]any{"path": "out/a.txt", "content": "hello"},
		Variants: []kindtest.Variant{
			{Name: "edited", Props: map[string]any{"path": "out/a.txt", "content": "bye", "mode": "0600"}},
			{Name: "long", Props: map[string]any{"path": "out/a.txt", "content": strings.Repeat("long ", 4000)}},
			{Name: "copied", Props: map[string]any{"path": "out/a.txt", "source": "src/one.txt"}},
			{Name: "moved", Props: map[string]any{"path": "elsewhere/b.txt", "content": "hello"}},
			{Name: "empty", Props: map[string]any{"path": "out/a.txt"}},
		},
		Edits: []kindtest.Edit{
			{Path: "content", Do: edit("", 0o644, "edited by hand")},
			{Path: "mode", Do: edit("", 0o640, "hello")},
			{Path: "source", From: "copied", Do: edit("", 0o644, "edited by hand")},
		},
		Silent:  map[tree.Path]string{"source": "valid only without content, so never changed alone"},
		Secrets: []tree.Path{"content"},
		Fault:   errnoOf,

		Unreadable: map[tree.Path]string{"content": "what is long, or no text, is shown by its digest"},
	})
}

func TestDirectoryConforms(t *testing.T) {
	t.Parallel()
	files := func(kv ...string) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	kindtest.Run(t, kindtest.Suite{
		Kind:  reconcile.Erase(directoryKind),
		World: disk(false),
		Base:  map[string]any{"path": "out/site", "files": files("a.txt", "a", "deep/b.txt", "b", "deep/er/c.txt", "c")},
		Variants: []kindtest.Variant{
			{Name: "edited", Props: map[string]any{"path": "out/site", "files": files("a.txt", "a changed", "deep/b.txt", "b", "new/d.txt", "d")}},
			{Name: "reshaped", Props: map[string]any{"path": "out/site", "files": files("a.txt/inner", "a", "deep", "b")}},
			{Name: "copied", Props: map[string]any{"path": "out/site", "source": "src/tree"}},
			{Name: "recopied", Props: map[string]any{"path": "out/site", "source": "src/other"}},
			{Name: "moved", Props: map[string]any{"path": "elsewhere", "files": files("a.txt", "a")}},
			{Name: "empty", Props: map[string]any{"path": "out/site", "files": files()}},
		},
		Edits: []kindtest.Edit{
			{Path: `files["a.txt"]`, Do: edit("a.txt", 0o644, "edited by hand")},
			{Path: `files["a.txt"]`, From: "copied", Do: edit("a.txt", 0o755, "a")},
			{Path: `files["run.sh"]`, From: "copied", Do: edit("run.sh", 0o644, "#!/bin/sh\n")},
			{Path: `files["deep/b.txt"]`, Do: func(t kindtest.T, w kindtest.World, attrs map[string]any) {
				if err := os.Remove(filepath.Join(w.Dir, attrs["path"].(string), "deep/b.txt")); err != nil {
					t.Fatalf("%v", err)
				}
			}},
		},
		Alias:   map[tree.Path]tree.Path{"source": "files"},
		Silent:  map[tree.Path]string{"source": "valid only without files, so never changed alone"},
		Secrets: []tree.Path{`files["a.txt"]`},
		Fault:   errnoOf,

		Unreadable: map[tree.Path]string{"files": "empty folders, executables and binary files come from a source alone"},
	})
}

// none is a world without objects of the kind.
func none(t kindtest.T) kindtest.World {
	return kindtest.World{Cloud: machine{}, Dir: t.TempDir()}
}

func TestValueConforms(t *testing.T) {
	t.Parallel()
	kindtest.Run(t, kindtest.Suite{
		Kind:  reconcile.Erase(valueKind),
		World: none,
		Base:  map[string]any{"input": map[string]any{"a": "x", "list": []any{int64(1), "two"}}, "triggers": "one"},
		Variants: []kindtest.Variant{
			{Name: "other", Props: map[string]any{"input": "text", "triggers": "one"}},
			{Name: "triggered", Props: map[string]any{"input": int64(7), "triggers": map[string]any{"v": int64(2)}}},
			{Name: "bare", Props: map[string]any{}},
		},
	})
}

func TestCommandConforms(t *testing.T) {
	t.Parallel()
	kindtest.Run(t, kindtest.Suite{
		Kind: reconcile.Erase(commandKind),
		World: func(t kindtest.T) kindtest.World {
			w := none(t)
			if err := os.Mkdir(filepath.Join(w.Dir, "sub"), 0o755); err != nil {
				t.Fatalf("%v", err)
			}
			return w
		},
		Base: map[string]any{"run": "echo hello $WHO", "env": map[string]any{"WHO": "you"}},
		Variants: []kindtest.Variant{
			{Name: "list", Props: map[string]any{"run": []any{"echo", "a  b"}, "env": map[string]any{"WHO": "me", "MORE": "x"}}},
			{Name: "all", Props: map[string]any{
				"run": "echo $WHO", "env": map[string]any{"WHO": "you"}, "dir": "sub", "triggers": []any{"a"}, "undo": "true", "timeout": "20s",
			}},
		},
		Secrets: []tree.Path{"env.WHO"},
		Fault:   errnoOf,
	})
}
