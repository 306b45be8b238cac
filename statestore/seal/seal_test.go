package seal

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// clean keeps the tests away from the user's own key.
func clean(t *testing.T) string {
	t.Setenv(EnvKeyFile, "")
	t.Setenv(EnvPassphrase, "")
	return filepath.Join(t.TempDir(), "athanor")
}

func key(t *testing.T, dir, stack, stage string) *Key {
	t.Helper()
	k, err := LoadOrMake(dir, stack, stage)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestSealOpen(t *testing.T) {
	k := key(t, clean(t), "shop", "test")
	plain, aad := []byte("a secret"), []byte("address")
	sealed := k.Seal(plain, aad)
	if got, err := k.Open(sealed, aad); err != nil || !bytes.Equal(got, plain) {
		t.Fatalf("%q, %v", got, err)
	}
	if bytes.Contains(sealed, plain) || bytes.Equal(sealed, k.Seal(plain, aad)) {
		t.Error("sealing shows the plain text, or that two are the same")
	}
	if _, err := k.Open(sealed, []byte("elsewhere")); !errors.Is(err, ErrBroken) {
		t.Errorf("bound to another address: %v", err)
	}
	for i := range sealed {
		spoiled := bytes.Clone(sealed)
		spoiled[i] ^= 1
		if _, err := k.Open(spoiled, aad); !errors.Is(err, ErrBroken) && !errors.Is(err, ErrKey) {
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
	for n := range sealed {
		if _, err := k.Open(sealed[:n], aad); !errors.Is(err, ErrBroken) {
			t.Errorf("cut to %d: %v", n, err)
		}
	}
	if got, err := k.Open(k.Seal(nil, nil), nil); err != nil || len(got) != 0 {
		t.Errorf("nothing: %q, %v", got, err)
	}
}

// TestFormats: what an older version sealed opens too, and needs no head.
func TestFormats(t *testing.T) {
	k := key(t, clean(t), "shop", "test")
	for format, needs := range map[byte]bool{plainFormat: false, headedFormat: true} {
		sealed := k.sealAs(format, []byte("x"), nil)
		if plain, err := k.Open(sealed, nil); err != nil || string(plain) != "x" || NeedsHead(sealed) != needs || SealedBy(sealed) != k.ID() {
			t.Errorf("format %d: %q, %v, needs a head: %v", format, plain, err, NeedsHead(sealed))
		}
		sealed[0] ^= plainFormat ^ headedFormat
		if _, err := k.Open(sealed, nil); !errors.Is(err, ErrBroken) {
			t.Errorf("format %d is not authenticated: %v", format, err)
		}
	}
	if sealed := k.Seal(nil, nil); !NeedsHead(sealed) || NeedsHead(nil) || NeedsHead([]byte("text")) {
		t.Error("what is sealed for a state needs a head, and nothing else")
	}
}

func TestStagesHaveKeysOfTheirOwn(t *testing.T) {
	dir := clean(t)
	k := key(t, dir, "shop", "test")
	if again := key(t, dir, "shop", "test"); again.ID() != k.ID() || again.Digest("d", []byte("x")) != k.Digest("d", []byte("x")) {
		t.Error("the same stage has another key the second time")
	}
	for _, other := range []*Key{key(t, dir, "shop", "prod"), key(t, dir, "shopt", "est"), key(t, filepath.Join(dir, "else"), "shop", "test")} {
		if other.ID() == k.ID() || other.Digest("d", []byte("x")) == k.Digest("d", []byte("x")) || bytes.Equal(other.Derive("i", 8), k.Derive("i", 8)) {
			t.Error("two stages or files share a key")
		}
		_, err := other.Open(k.Seal([]byte("x"), nil), nil)
		if e, ok := errors.AsType[*KeyError](err); !ok || e.Want != k.ID() || e.Have != other.ID() {
			t.Errorf("opening with another key: %v", err)
		}
	}
}

func TestDigestAndDerive(t *testing.T) {
	k := key(t, clean(t), "shop", "test")
	if k.Digest("a", []byte("bc")) == k.Digest("ab", []byte("c")) || k.Digest("a", nil) == k.Digest("b", nil) {
		t.Error("domains run into each other")
	}
	long := k.Derive("password", 20_000)
	if len(long) != 20_000 || !bytes.HasPrefix(long, k.Derive("password", 33)) || bytes.Equal(long[:32], k.Derive("passwore", 32)) {
		t.Error("derived bytes are not a stream of their own")
	}
	if bytes.Equal(long[:32], long[32:64]) || len(k.Derive("x", 0)) != 0 {
		t.Error("derived bytes repeat")
	}
}

func TestKeyFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits here")
	}
	dir := clean(t)
	k := key(t, dir, "shop", "test")
	path := filepath.Join(dir, "key")
	for name, want := range map[string]fs.FileMode{path: 0o600, dir: fs.ModeDir | 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := LoadOrMake(dir, "shop", "test")
	if e, ok := errors.AsType[*KeyFileError](err); !ok || !strings.Contains(e.Hint(), "chmod 600") {
		t.Errorf("readable by others: %v", err)
	}
	if err := os.WriteFile(path, []byte("athanor-key-1:abc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadOrMake(dir, "shop", "test"); !errors.Is(err, ErrKeyFile) {
		t.Errorf("half a key: %v", err)
	}
	if text := k.String(); strings.Contains(text, string(k.derive)) || text != "key "+k.ID() {
		t.Errorf("a printed key reads %q", text)
	}
}

func TestAKnownKeyIsNeverMade(t *testing.T) {
	dir := clean(t)
	load := func(known string) (*Key, error) {
		return Find(Place{Config: dir, Stack: "shop", Stage: "test"}, known)
	}
	_, err := load("0011223344556677")
	if e, ok := errors.AsType[*KeyError](err); !ok || e.Want != "0011223344556677" || e.Have != "" || e.Hint() == "" {
		t.Errorf("no key at hand: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("it made something")
	}
	k := key(t, dir, "shop", "test")
	if got, err := load(k.ID()); err != nil || got.ID() != k.ID() {
		t.Errorf("%v", err)
	}
	_, err = load("0011223344556677")
	if e, ok := errors.AsType[*KeyError](err); !ok || e.Want != "0011223344556677" || e.Have != k.ID() {
		t.Errorf("another key at hand: %v", err)
	}
}

func TestManyMakeOneKey(t *testing.T) {
	dir := clean(t)
	var group sync.WaitGroup
	ids := make([]string, 20)
	for i := range ids {
		group.Go(func() {
			k, err := LoadOrMake(dir, "shop", "test")
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = k.ID()
		})
	}
	group.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("keys %v", ids)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("files left: %v", entries)
	}
}

func TestEnvironment(t *testing.T) {
	dir := clean(t)
	path := filepath.Join(t.TempDir(), "team", "key")
	t.Setenv(EnvKeyFile, path)
	fromFile := key(t, dir, "shop", "test")
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the named file was not made: %v", err)
	}
	t.Setenv(EnvPassphrase, "correct horse")
	one := key(t, dir, "shop", "test")
	if one.ID() == fromFile.ID() || one.ID() != key(t, dir, "shop", "test").ID() || one.ID() == key(t, dir, "shop", "prod").ID() {
		t.Error("a passphrase does not give one key for each stage")
	}
	t.Setenv(EnvPassphrase, "correct horsf")
	if one.ID() == key(t, dir, "shop", "test").ID() {
		t.Error("another passphrase gives the same key")
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the default folder was touched")
	}
}

func TestRememberedStore(t *testing.T) {
	dir := clean(t)
	project := t.TempDir()
	if id, err := RememberedStore(dir, project, "shop", "test"); id != "" || err != nil {
		t.Errorf("%q, %v", id, err)
	}
	for _, id := range []string{"one", "two", "two"} {
		if err := RememberStore(dir, project, "shop", "test", id); err != nil {
			t.Fatal(err)
		}
		if got, err := RememberedStore(dir, project+"/.", "shop", "test"); got != id || err != nil {
			t.Errorf("%q, %v, want %q", got, err, id)
		}
	}
	for _, other := range [][3]string{{project + "x", "shop", "test"}, {project, "shopt", "est"}, {project, "shop", "prod"}} {
		if id, err := RememberedStore(dir, other[0], other[1], other[2]); id != "" || err != nil {
			t.Errorf("%v remembers %q, %v", other, id, err)
		}
	}
}
