package watch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestIgnoreRules(t *testing.T) {
	dir := t.TempDir()
	rules := []string{
		"", "# no", "a/**/z", "b/**", "**/c.txt", "[de].txt", "[!f]g", `\#h`, "i?", "!ib", "/j", "k/l", "m/", `\!n`, "o ", "[broken", "p\\", "***",
	}
	if err := os.WriteFile(filepath.Join(dir, ignoreFile), []byte(strings.Join(rules[:len(rules)-1], "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, ignored := range map[string]bool{
		"a/z": true, "a/x/y/z": true, "az": false, "b/x": true, "c.txt": true, "x/c.txt": true, "d.txt": true, "x/e.txt": true, "h.txt": false,
		"xg": true, "fg": false, "#h": true, "ia": true, "ib": false, "j": true, "x/j": false, "k/l": true, "x/k/l": false, "m": false, "m/x": true, "!n": true, "o": true,
		"x~": true, ".x.swp": true, ".git/HEAD": true, ".gitignore": false,
	} {
		if have := newIgnored().path(dir, filepath.Join(dir, filepath.FromSlash(name))); have != ignored {
			t.Errorf("%s is ignored: %t, want %t", name, have, ignored)
		}
	}
}
