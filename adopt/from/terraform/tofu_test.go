package terraform

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt/from"
)

// made is a state that the real tofu made: cmd/athanor's TestRealTofu writes them.
func made(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/tofu/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// withPassphrase are options under which a source may read a passphrase.
func withPassphrase(text string) from.Options {
	return from.Options{Name: "s", Env: func(name string) string {
		if name == from.PassphraseVariable {
			return text
		}
		return ""
	}}
}

const tofuPassphrase = "correct-horse-battery-staple"

// TestRealStates reads states of the real tofu with the real providers: nothing is left out, and what is secret is nowhere.
func TestRealStates(t *testing.T) {
	s, text := stackOf(t, "modules.tfstate", made(t, "modules.tfstate"), from.Options{})
	for address, want := range map[string]from.Outcome{
		"local_file.hello": from.Mapped, `local_file.each["b c"]`: from.Mapped, "local_sensitive_file.pw": from.Mapped,
		`module.m[1].module.deep.local_file.deep["x"]`: from.Mapped,
		"terraform_data.t": from.Needless, "null_resource.n": from.Needless, "random_password.db": from.Needless,
		"random_shuffle.s": from.Needless, "random_uuid.u": from.Needless, "tls_private_key.k": from.Needless,
	} {
		if got := outcomes(s)[address]; got != want {
			t.Errorf("%s is %q, want %q", address, got, want)
		}
	}
	if len(s.Entries) != 19 || len(resource(t, s, "m-1/deep/deep").For) != 2 || s.Outputs["pw"] == nil {
		t.Errorf("%d entries\n%s", len(s.Entries), text)
	}
	var doc struct {
		Outputs map[string]struct{ Value any }
	}
	if err := json.Unmarshal(made(t, "modules.tfstate"), &doc); err != nil {
		t.Fatal(err)
	}
	if password := fmt.Sprint(doc.Outputs["pw"].Value); len(password) < 20 || strings.Contains(text, password) {
		t.Error("the password stands in the stack")
	}
	if len(s.LetGo) != 1 || !strings.HasPrefix(s.LetGo[0], "tofu state rm ") {
		t.Error(s.LetGo)
	}
}

func TestEncryptedStates(t *testing.T) {
	for _, name := range []string{"encrypted.tfstate", "encrypted-blue.tfstate"} {
		s, _ := stackOf(t, name, made(t, name), withPassphrase(tofuPassphrase))
		if got := outcomes(s)["random_id.x"]; got != from.Needless {
			t.Errorf("%s: %q", name, got)
		}
	}
	source := Source{Find: kindsOf(t)}
	sealed := string(made(t, "encrypted.tfstate"))
	kms := `{"serial":1,"lineage":"x","meta":{"key_provider.aws_kms.k":"eyJjaXBoZXJ0ZXh0X2Jsb2IiOiJhYWFhIn0="},"encrypted_data":"AAAA","encryption_version":"v0"}`
	slow := strings.Replace(kms, "eyJjaXBoZXJ0ZXh0X2Jsb2IiOiJhYWFhIn0=", // a key that would take hours to make
		"eyJzYWx0IjoiQUFBQSIsIml0ZXJhdGlvbnMiOjIwMDAwMDAwMDAsImhhc2hfZnVuY3Rpb24iOiJzaGE1MTIiLCJrZXlfbGVuZ3RoIjozMn0=", 1)
	for name, c := range map[string]struct{ content, passphrase, says string }{
		"none":    {sealed, "", "the state is encrypted"},
		"wrong":   {sealed, "another-one-entirely", "does not open it"},
		"service": {kms, tofuPassphrase, "by aws_kms, and no passphrase opens that"},
		"slow":    {slow, tofuPassphrase, "made in a way that is not read"},
	} {
		_, err := source.Draft(from.File{Name: "s", Content: []byte(c.content)}, withPassphrase(c.passphrase))
		if err == nil || !strings.Contains(err.Error(), c.says) || !errors.Is(err, errEncrypted) && name != "slow" || c.passphrase != "" && strings.Contains(err.Error(), c.passphrase) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
