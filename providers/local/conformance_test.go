package local

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
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

// at returns the path of a name below the object.
func at(w kindtest.World, to kindtest.Edited, name string) string {
	return filepath.Join(w.Dir, to.Attrs["path"].(string), name)
}

// rewrite gives a file other content, as an editor does: its mode stays, or becomes that of new files.
func rewrite(t kindtest.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatalf("%v", err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatalf("%v", err)
	}
}

// textOf is the content of a file of the stack, "" for none.
func textOf(t kindtest.T, w kindtest.World, name string) string {
	t.Helper()
	if name == "" {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(w.Dir, name))
	if err != nil {
		t.Fatalf("%v", err)
	}
	return string(text)
}

// setFileMode gives a file other permissions.
func setFileMode(t kindtest.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatalf("%v", err)
	}
}

// removeAll takes the object away.
func removeAll(t kindtest.T, w kindtest.World, to kindtest.Edited) {
	t.Helper()
	if err := os.RemoveAll(at(w, to, "")); err != nil {
		t.Fatalf("%v", err)
	}
}

// editFolder makes the files of a folder those that are wanted, and leaves others alone.
func editFolder(t kindtest.T, w kindtest.World, to kindtest.Edited) {
	t.Helper()
	want, _ := to.Value.(map[string]any)
	for _, name := range to.Attrs["files"].([]any) {
		if _, wanted := want[name.(string)]; !wanted {
			if err := os.Remove(at(w, to, name.(string))); err != nil {
				t.Fatalf("%v", err)
			}
		}
	}
	for name, text := range want {
		rewrite(t, at(w, to, name), text.(string))
	}
}

// copyFolder gives the files of a folder the content that they have in another one, and removes those that are not there.
func copyFolder(t kindtest.T, w kindtest.World, to kindtest.Edited) {
	t.Helper()
	for _, name := range to.Attrs["files"].([]any) {
		path, isFile := at(w, to, name.(string)), !strings.HasSuffix(name.(string), "/")
		text, err := os.ReadFile(filepath.Join(w.Dir, to.Text(), name.(string)))
		switch {
		case err == nil && isFile && to.Text() != "":
			rewrite(t, path, string(text))
		default:
			if err := os.RemoveAll(path); err != nil {
				t.Fatalf("%v", err)
			}
		}
	}
}

func TestFileConforms(t *testing.T) {
	t.Parallel()
	kindtest.Run(t, kindtest.Suite{
		Kind:  fileKind.Erase(),
		World: disk(true),
		Base:  map[string]any{"path": "out/a.txt", "content": "hello"},
		Variants: []kindtest.Variant{
			{Name: "edited", Props: map[string]any{"path": "out/a.txt", "content": "bye", "mode": "0600"}},
			{Name: "long", Props: map[string]any{"path": "out/a.txt", "content": strings.Repeat("long ", 4000)}},
			{Name: "copied", Props: map[string]any{"path": "out/a.txt", "source": "src/one.txt"}},
			{Name: "moved", Props: map[string]any{"path": "elsewhere/b.txt", "content": "hello"}},
			{Name: "empty", Props: map[string]any{"path": "out/a.txt"}},
		},
		Hands: map[tree.Path]kindtest.Hand{
			"content": func(t kindtest.T, w kindtest.World, to kindtest.Edited) { rewrite(t, at(w, to, ""), to.Text()) },
			"source": func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
				rewrite(t, at(w, to, ""), textOf(t, w, to.Text()))
			},
			"mode": func(t kindtest.T, w kindtest.World, to kindtest.Edited) {
				mode, err := strconv.ParseUint(cmp.Or(to.Text(), "0644"), 8, 32)
				if err != nil {
					t.Fatalf("%v", err)
				}
				setFileMode(t, at(w, to, ""), fs.FileMode(mode))
			},
			"": removeAll,
		},
		Others:  map[tree.Path][]any{"source": {"src/two.txt"}, "mode": {"0640", "0755"}},
		Steady:  map[tree.Path]string{"path": "a file that was moved away is gone, and the other one is nobody's"},
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
		Kind:  directoryKind.Erase(),
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
		Hands:  map[tree.Path]kindtest.Hand{"files": editFolder, "source": copyFolder, "": removeAll},
		Steady: map[tree.Path]string{"path": "a folder that was moved away is gone, and the other one is nobody's"},
		Open:   map[tree.Path]string{"files": "files that others put into the folder are theirs"},
		Edits: []kindtest.Edit{ // what no prop says: whether a file is executable
			{Path: `files["a.txt"]`, From: "copied", Do: executable("a.txt", 0o755)},
			{Path: `files["run.sh"]`, From: "copied", Do: executable("run.sh", 0o644)},
		},
		Alias:   map[tree.Path]tree.Path{"source": "files"},
		Silent:  map[tree.Path]string{"source": "valid only without files, so never changed alone"},
		Secrets: []tree.Path{`files["a.txt"]`},
		Fault:   errnoOf,

		Unreadable: map[tree.Path]string{"files": "empty folders, executables and binary files come from a source alone"},
	})
}

// executable makes a file of a folder so, or makes it not so.
func executable(name string, mode fs.FileMode) func(kindtest.T, kindtest.World, map[string]any) {
	return func(t kindtest.T, w kindtest.World, attrs map[string]any) {
		t.Helper()
		setFileMode(t, at(w, kindtest.Edited{Attrs: attrs}, name), mode)
	}
}

// none is a world without objects of the kind.
func none(t kindtest.T) kindtest.World {
	return kindtest.World{Cloud: machine{}, Dir: t.TempDir()}
}

func TestValueConforms(t *testing.T) {
	t.Parallel()
	kindtest.Run(t, kindtest.Suite{
		Kind:  valueKind.Erase(),
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
		Kind: commandKind.Erase(),
		World: func(t kindtest.T) kindtest.World {
			w := none(t)
			if err := errors.Join(os.Mkdir(filepath.Join(w.Dir, "sub"), 0o755), os.WriteFile(filepath.Join(w.Dir, "in"), []byte("in"), 0o600)); err != nil {
				t.Fatalf("%v", err)
			}
			return w
		},
		Base: map[string]any{"run": "echo hello $WHO", "env": map[string]any{"WHO": "you"}},
		Variants: []kindtest.Variant{
			{Name: "list", Props: map[string]any{"run": []any{"echo", "a  b"}, "env": map[string]any{"WHO": "me", "MORE": "x"}}},
			{Name: "all", Props: map[string]any{
				"run": "echo $WHO", "env": map[string]any{"WHO": "you"}, "dir": "sub", "triggers": []any{"a"}, "undo": "true", "timeout": "20s",
				"inputs": []any{"in"}, "outputs": []any{"sub"}, "ignore": []any{"sub"}, "inDev": false,
			}},
		},
		Secrets: []tree.Path{"env.WHO"},
		Fault:   errnoOf,
	})
}
