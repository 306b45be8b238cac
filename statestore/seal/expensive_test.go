package seal

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"filippo.io/age/armor"
)

// TestExpensive: a wrapped key in a checkout does not choose how much memory and time a guess of the passphrase takes, nor
// how many are made.
func TestExpensive(t *testing.T) {
	t.Setenv(EnvPassphrase, "correct horse")
	p := Place{Config: t.TempDir(), Beside: []string{t.TempDir()}, Stack: "shop", Stage: "prod"}
	if _, err := Find(p, ""); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(KeyPath(p))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*wrappedFile){
		"a large factor": func(f *wrappedFile) {
			plain, err := io.ReadAll(armor.NewReader(strings.NewReader(f.Wraps[0].Sealed)))
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			w := armor.NewWriter(&text)
			if _, err := w.Write(bytes.Replace(plain, []byte(" 16\n"), []byte(" 22\n"), 1)); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			f.Wraps[0].Sealed = text.String()
		},
		"many": func(f *wrappedFile) { f.Wraps = slices.Repeat(f.Wraps, 2) },
	} {
		var file wrappedFile
		if err := json.Unmarshal(good, &file); err != nil {
			t.Fatal(err)
		}
		change(&file)
		if err := writeJSON(KeyPath(p), file); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		k, err := Find(p, "")
		runtime.ReadMemStats(&after)
		const most = 1 << 30
		if spent := after.TotalAlloc - before.TotalAlloc; err == nil || k != nil || spent > most {
			t.Errorf("%s: %v, %v, after %d MiB", name, k, err, spent>>20)
		}
	}
}
