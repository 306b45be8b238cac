package seal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRing adds keys: each opens what it sealed, the newest seals, and who has only an older one opens nothing new.
func TestRing(t *testing.T) {
	m := newTeam(t)
	home := m.on("home")
	first := m.find(home, "")
	was := first.Seal([]byte("was"), nil)
	second, err := first.Next()
	if err != nil {
		t.Fatal(err)
	}
	third, err := second.Next()
	if err != nil {
		t.Fatal(err)
	}
	if third.Number() != 3 || len(third.Ring()) != 3 || third.By(second.ID()).Number() != 2 {
		t.Errorf("the ring is %v", third.Ring())
	}
	is := third.Seal([]byte("is"), nil)
	for name, ring := range map[string]*Key{"third": third, "kept": third.Keeping(func(id string) bool { return id == first.ID() })} {
		for sealed, want := range map[string]string{string(was): "was", string(is): "is"} {
			if plain, err := ring.Open([]byte(sealed), nil); err != nil || string(plain) != want {
				t.Errorf("%s: %q, %v", name, plain, err)
			}
		}
	}
	if _, err := first.Open(is, nil); !errors.Is(err, ErrKey) || SealedBy(is) != third.ID() {
		t.Errorf("an old key opens what is new: %v", err)
	}
	if _, err := third.Keeping(func(string) bool { return false }).Open(was, nil); !errors.Is(err, ErrKey) {
		t.Errorf("a key that left opens: %v", err)
	}
	if third.Check(first.ID()) != nil || first.Check(third.ID()) == nil {
		t.Error("a ring fits the keys that it has, and no other")
	}
	if string(third.Derive("x", 8)) == string(first.Derive("x", 8)) || string(third.By(first.ID()).Derive("x", 8)) != string(first.Derive("x", 8)) {
		t.Error("new values come from the new key, old ones from the old")
	}
	if len(first.Ring()) != 1 {
		t.Error("a ring changed under its owner")
	}
}

// TestWrappedRing wraps a ring and opens it elsewhere, from beside the program or from the store, whichever is newer.
func TestWrappedRing(t *testing.T) {
	m := newTeam(t)
	home := m.on("home")
	born := m.find(home, "")
	ada := identity(t)
	to := Wrapping{Recipients: []string{ada.Recipient().String()}}
	m.wrap(born, home, to)
	before, err := home.Wrapped()
	if err != nil || !strings.Contains(string(before), `"athanorKey": 1`) {
		t.Fatalf("a ring of one is not as it was: %s, %v", before, err)
	}
	ring, err := born.Next()
	if err != nil {
		t.Fatal(err)
	}
	m.wrap(ring, home, to)
	if _, err := Find(home, born.ID()); !errors.Is(err, ErrKey) {
		t.Errorf("the first key alone opens the ring: %v", err)
	}
	t.Setenv(EnvAgeIdentity, ada.String())
	other := m.on("elsewhere")
	for _, known := range []string{"", born.ID(), ring.ID()} {
		found := m.find(other, known)
		same(t, "the ring for "+known, ring, found)
		if len(found.Ring()) != 2 || found.Number() != 2 {
			t.Errorf("the ring has %v", found.Ring())
		}
	}
	after, err := home.Wrapped()
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(m.dir, "shop.prod.key.json"), string(before))
	if _, err := Find(other, ring.ID()); !errors.Is(err, ErrKey) {
		t.Errorf("an older checkout has the newest key: %v", err)
	}
	other.Stored = after
	same(t, "the ring of the store", ring, m.find(other, ring.ID()))
	if who, err := other.Recipients(); err != nil || len(who) != 1 || who[0].To != ada.Recipient().String() || len(who[0].Keys) != 2 {
		t.Errorf("recipients %+v, %v", who, err)
	}
	if w, err := other.Again(); err != nil || len(w.Recipients) != 1 {
		t.Errorf("again for %+v, %v", w, err)
	}
}

// TestForgedRing adds a key to a ring as somebody would who knows the recipients alone, or a key that has left: refused.
func TestForgedRing(t *testing.T) {
	m := newTeam(t)
	home := m.on("home")
	born := m.find(home, "")
	ada := identity(t)
	t.Setenv(EnvAgeIdentity, ada.String())
	to := Wrapping{Recipients: []string{ada.Recipient().String()}}
	honest, err := born.Next()
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := keyOf([]byte("a key of somebody else"))
	if err != nil {
		t.Fatal(err)
	}
	forged := *stranger
	forged.number, forged.older, forged.proof = 3, honest.Ring(), stranger.prove(stranger)
	m.wrap(&forged, home, to)
	if _, err := Find(home, honest.ID()); !errors.Is(err, ErrKey) {
		t.Errorf("a stranger's key seals: %v", err)
	}
	stolen := *stranger
	stolen.number, stolen.older, stolen.proof = 2, born.Ring(), born.prove(stranger)
	m.wrap(&stolen, home, to)
	if _, err := Find(home, honest.ID()); !errors.Is(err, ErrKey) {
		t.Errorf("who has the first key takes the place of the second: %v", err)
	}
}

// TestBornOfPassphrase makes keys with a random salt, and still opens what was derived without one.
func TestBornOfPassphrase(t *testing.T) {
	m := newTeam(t)
	t.Setenv(EnvPassphrase, "correct horse")
	one, two := m.on("one"), m.on("two")
	two.Beside = []string{t.TempDir()}
	a, b := m.find(one, ""), m.find(two, "")
	if a.ID() == b.ID() {
		t.Error("two stages of one name and passphrase have one key")
	}
	same(t, "again", a, m.find(one, a.ID()))
	if _, err := os.Stat(filepath.Join(m.dir, "shop.prod.key.json")); err != nil {
		t.Error(err)
	}
	three := m.on("three")
	three.Beside = []string{t.TempDir()}
	derived, err := source{os.Getenv, os.UserConfigDir}.derived(three, false)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "derived before", derived, m.find(three, derived.ID()))
	if data, err := three.Wrapped(); data != nil || err != nil {
		t.Errorf("a stage that is known was wrapped: %s, %v", data, err)
	}
}

// TestResealedSecrets moves sealed secrets to the newest key of a ring.
func TestResealedSecrets(t *testing.T) {
	m := newTeam(t)
	home := m.on("home")
	born := m.find(home, "")
	secrets, err := home.Secrets()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if err := secrets.Set(born, name, "value of "+name); err != nil {
			t.Fatal(err)
		}
	}
	ring, err := born.Next()
	if err != nil {
		t.Fatal(err)
	}
	if err := secrets.Reseal(ring); err != nil {
		t.Fatal(err)
	}
	if secrets, err = home.Secrets(); err != nil || secrets.Key != ring.ID() {
		t.Fatalf("sealed by %s, %v", secrets.Key, err)
	}
	for _, name := range secrets.Names() {
		if value, err := secrets.Get(ring, name); err != nil || value != "value of "+name {
			t.Errorf("%s: %q, %v", name, value, err)
		}
		if _, err := secrets.Get(born, name); !errors.Is(err, ErrKey) {
			t.Errorf("%s opens with the old key: %v", name, err)
		}
	}
}
