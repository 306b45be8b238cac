package seal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
)

// team is a program's folder and the machines of people who work on it.
type team struct {
	t   *testing.T
	dir string
}

func newTeam(t *testing.T) *team {
	clean(t)
	t.Setenv(EnvAgeIdentity, "")
	return &team{t, t.TempDir()}
}

// on is the stage as seen from a machine of its own.
func (m *team) on(machine string) Place {
	return Place{Config: filepath.Join(m.dir, "machines", machine), Beside: []string{m.dir}, Stack: "shop", Stage: "prod"}
}

func (m *team) find(p Place, known string) *Key {
	m.t.Helper()
	k, err := Find(p, known)
	if err != nil {
		m.t.Fatal(err)
	}
	return k
}

func (m *team) wrap(k *Key, p Place, w Wrapping) {
	m.t.Helper()
	path, err := k.Wrap(p, w)
	if err != nil || path != filepath.Join(m.dir, "shop.prod.key.json") {
		m.t.Fatalf("%s, %v", path, err)
	}
}

func identity(t *testing.T) *age.X25519Identity {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func same(t *testing.T, what string, a, b *Key) {
	t.Helper()
	if a.ID() != b.ID() || string(a.Derive("i", 16)) != string(b.Derive("i", 16)) {
		t.Errorf("%s: another key", what)
	}
	if plain, err := b.Open(a.Seal([]byte("x"), nil), nil); err != nil || string(plain) != "x" {
		t.Errorf("%s: it does not open: %v", what, err)
	}
}

// A wrapped key opens with any one of the ways, is the same key, and says what would open it when nothing does.
func TestWrap(t *testing.T) {
	m := newTeam(t)
	home := m.on("home")
	born := m.find(home, "")
	if o := born.Origin(); !o.Alone || !strings.Contains(o.Text, filepath.Join("home", "key")) {
		t.Errorf("a key is born of %+v", o)
	}
	ada, bob := identity(t), identity(t)
	shared := filepath.Join(m.dir, "shared", "key")
	m.wrap(born, home, Wrapping{Recipients: []string{ada.Recipient().String(), bob.Recipient().String()}, Passphrase: "correct horse", KeyFile: shared})
	for name, set := range map[string]func(*testing.T, Place){
		"identity":      func(t *testing.T, _ Place) { t.Setenv(EnvAgeIdentity, bob.String()) },
		"identity file": func(t *testing.T, p Place) { put(t, filepath.Join(p.Config, "age.txt"), "# ada\n"+ada.String()+"\n") },
		"named file": func(t *testing.T, _ Place) {
			path := filepath.Join(m.dir, "id")
			put(t, path, ada.String()+"\n")
			t.Setenv(EnvAgeIdentity, path)
		},
		"passphrase": func(t *testing.T, _ Place) { t.Setenv(EnvPassphrase, "correct horse") },
		"key file":   func(t *testing.T, _ Place) { t.Setenv(EnvKeyFile, shared) },
		"born with": func(t *testing.T, p Place) {
			copyFile(t, filepath.Join(home.Config, "key"), filepath.Join(p.Config, "key"))
		},
		"several, wrong": func(t *testing.T, p Place) { t.Setenv(EnvPassphrase, "wrong"); t.Setenv(EnvKeyFile, shared) },
	} {
		t.Run(name, func(t *testing.T) {
			p := m.on(name)
			set(t, p)
			k := m.find(p, born.ID())
			same(t, name, born, k)
			if k.Origin().Alone {
				t.Errorf("%+v is not the only way", k.Origin())
			}
		})
	}
	_, err := Find(m.on("stranger"), "")
	missing, ok := errors.AsType[*KeyError](err)
	if !ok || missing.Want != born.ID() || missing.Have != "" || len(missing.Ways) != 3 || !strings.Contains(missing.Hint(), ada.Recipient().String()) {
		t.Errorf("nothing at hand: %v", err)
	}
	if _, err := os.Stat(m.on("stranger").Config); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a key was made beside a wrapped one")
	}
	if _, err := Find(home, "0011223344556677"); !errors.Is(err, ErrKey) {
		t.Errorf("a store that knows another key: %v", err)
	}
}

// Wrapping again changes who can open it, and never the key.
func TestWrapAgain(t *testing.T) {
	m := newTeam(t)
	born := m.find(m.on("home"), "")
	ada := identity(t)
	m.wrap(born, m.on("home"), Wrapping{Passphrase: "first"})
	t.Setenv(EnvPassphrase, "first")
	second := m.find(m.on("elsewhere"), born.ID())
	m.wrap(second, m.on("elsewhere"), Wrapping{Recipients: []string{ada.Recipient().String()}})
	if _, err := Find(m.on("elsewhere"), born.ID()); !errors.Is(err, ErrKey) {
		t.Errorf("the first passphrase still opens it: %v", err)
	}
	t.Setenv(EnvPassphrase, "")
	t.Setenv(EnvAgeIdentity, ada.String())
	same(t, "wrapped twice", born, m.find(m.on("third"), born.ID()))
	m.wrap(second, m.on("third"), Wrapping{KeyFile: filepath.Join(m.on("third").Config, "key")})
	if k := m.find(m.on("third"), ""); !k.Origin().Alone {
		t.Errorf("%+v is all that there is", k.Origin())
	}
}

func TestWrapRefuses(t *testing.T) {
	m := newTeam(t)
	home := m.on("home")
	k := m.find(home, "")
	for name, w := range map[string]Wrapping{
		"nobody": {}, "no recipient": {Recipients: []string{"age1nonsense"}}, "an identity": {Recipients: []string{identity(t).String()}},
	} {
		if _, err := k.Wrap(home, w); !errors.Is(err, ErrWrapping) || strings.Contains(err.Error(), "SECRET-KEY-1") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if file, err := home.wrapped(); file != nil || err != nil {
		t.Errorf("something was written: %v, %v", file, err)
	}
	for name, text := range map[string]string{
		"no JSON":       "{",
		"other stage":   `{"athanorKey":1,"stack":"shop","stage":"test","key":"0011223344556677"}`,
		"later version": `{"athanorKey":2,"stack":"shop","stage":"prod","key":"0011223344556677"}`,
	} {
		put(t, home.keyPath(m.dir), text)
		if _, err := Find(home, ""); !errors.Is(err, ErrKeyFile) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A file that holds another key than it says was put together by somebody.
	other := m.find(Place{Config: home.Config, Beside: []string{t.TempDir()}, Stack: "shop", Stage: "prod"}, "")
	m.wrap(other, home, Wrapping{Passphrase: "p"})
	data, err := os.ReadFile(home.keyPath(m.dir))
	if err != nil {
		t.Fatal(err)
	}
	put(t, home.keyPath(m.dir), strings.Replace(string(data), other.ID(), "0011223344556677", 1))
	t.Setenv(EnvPassphrase, "p")
	if _, err := Find(home, ""); !errors.Is(err, ErrKeyFile) {
		t.Errorf("another key than it says: %v", err)
	}
	t.Setenv(EnvAgeIdentity, "AGE-SECRET-KEY-1WRONG")
	m.wrap(other, home, Wrapping{Recipients: []string{identity(t).Recipient().String()}})
	if _, err := Find(home, ""); !errors.Is(err, ErrKeyFile) || strings.Contains(err.Error(), "1WRONG") {
		t.Errorf("an identity that is none: %v", err)
	}
}

func TestSecrets(t *testing.T) {
	m := newTeam(t)
	home := m.on("home")
	k := m.find(home, "")
	open := func() *Secrets {
		t.Helper()
		s, err := home.Secrets()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := open(); len(s.Names()) != 0 || s.Remove("a") == nil {
		t.Errorf("%+v", s)
	}
	for name, value := range map[string]string{"a": "one", "b": "two\nlines", "c": ""} {
		if err := open().Set(k, name, value); err != nil {
			t.Fatal(err)
		}
		if got, err := open().Get(k, name); got != value || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	s := open()
	if !slices.Equal(s.Names(), []string{"a", "b", "c"}) || s.Key != k.ID() || s.Path != filepath.Join(m.dir, "shop.prod.secrets.json") {
		t.Errorf("%+v", s)
	}
	if _, err := s.Get(k, "d"); !errors.Is(err, ErrNoSecret) {
		t.Errorf("none of that name: %v", err)
	}
	s.Sealed["b"] = s.Sealed["a"]
	if _, err := s.Get(k, "b"); !errors.Is(err, ErrBroken) {
		t.Errorf("moved to another name: %v", err)
	}
	if err := open().Remove("b"); err != nil || !slices.Equal(open().Names(), []string{"a", "c"}) {
		t.Errorf("%v, %v", open().Names(), err)
	}
	// On another machine the file names the key that is needed, and no other one is made.
	_, err := Find(m.on("stranger"), "")
	if e, ok := errors.AsType[*KeyError](err); !ok || e.Want != k.ID() {
		t.Errorf("without the key: %v", err)
	}
	other := m.find(Place{Config: m.on("stranger").Config, Stack: "shop", Stage: "prod"}, "")
	if _, err := open().Get(other, "a"); !errors.Is(err, ErrKey) {
		t.Errorf("with another key: %v", err)
	}
	if err := open().Set(other, "d", "x"); !errors.Is(err, ErrKey) {
		t.Errorf("two keys in one file: %v", err)
	}
}

// A name with slashes in it leads to no other folder.
func TestNamesStayInTheFolder(t *testing.T) {
	for _, p := range []Place{{Stack: "../../etc", Stage: "x"}, {Stack: "a", Stage: `..\..\b`}, {Stack: "..", Stage: "/x"}} {
		if path := p.keyPath("dir"); filepath.Dir(path) != "dir" {
			t.Errorf("%+v is kept in %s", p, path)
		}
	}
}

func TestFolderOfTheKey(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing there")
	}
	m := newTeam(t)
	home := m.on("home")
	m.find(home, "")
	for mode, fine := range map[fs.FileMode]bool{0o777: false, 0o702: false, fs.ModeSticky | 0o777: true, 0o755: true} {
		if err := os.Chmod(home.Config, mode); err != nil {
			t.Fatal(err)
		}
		_, err := Find(home, "")
		if e, ok := errors.AsType[*KeyFileError](err); fine && err != nil || !fine && (!ok || e.Hint() != "chmod o-w "+home.Config) {
			t.Errorf("a folder with mode %v: %v", mode, err)
		}
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	put(t, to, string(data))
}
