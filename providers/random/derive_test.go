package random

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// keyed is a stage's key for tests.
func keyed(key string) derive {
	return func(info string, n int) []byte {
		var out []byte
		for i := 0; len(out) < n; i++ {
			h := hmac.New(sha256.New, []byte(key))
			fmt.Fprintf(h, "%d %s", i, info)
			out = h.Sum(out)
		}
		return out[:n]
	}
}

// The values of a key are fixed for good: a change here would give every stage without state new passwords.
func TestValuesStay(t *testing.T) {
	t.Parallel()
	id, err := createID(t.Context(), kind.Site[IDProps, ID]{Want: idKind.WithDefaults(IDProps{Prefix: "p-"}), Derive: keyed("key")})
	if err != nil {
		t.Fatal(err)
	}
	if want := (ID{Hex: "p-e6ebae7534422412", Base32: "p-43v245juiisbe"}); id != want {
		t.Errorf("identifier %+v, want %+v", id, want)
	}
	if got, want := password(t, PasswordProps{}, "key"), "8O1UBXPodhBjkyWxGtRl9VmgBfrtv3wh"; got != want {
		t.Errorf("password %q, want %q", got, want)
	}
}

func password(t *testing.T, p PasswordProps, key string) string {
	t.Helper()
	made, err := createPassword(t.Context(), kind.Site[PasswordProps, Password]{Want: passwordKind.WithDefaults(p), Derive: keyed(key)})
	if err != nil {
		t.Fatal(err)
	}
	return string(made.Value)
}

func TestEveryInputCounts(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, p := range map[string]PasswordProps{
		"plain": {}, "version": {Version: 1}, "longer": {Length: new(33)}, "alphabet": {Alphabet: new("0123456789")},
		"same characters": {Alphabet: new("9876543210")},
	} {
		value := password(t, p, "key")
		if len(value) != *passwordKind.WithDefaults(p).Length {
			t.Errorf("%s: %q has the wrong length", name, value)
		}
		if strings.Trim(value, *passwordKind.WithDefaults(p).Alphabet) != "" {
			t.Errorf("%s: %q leaves the alphabet", name, value)
		}
		if other, ok := seen[value[:16]]; ok {
			t.Errorf("%s and %s begin alike", name, other)
		}
		seen[value[:16]] = name
	}
	if password(t, PasswordProps{}, "another key") == password(t, PasswordProps{}, "key") {
		t.Error("the key does not count")
	}
}

// Each character is equally likely: the sum of squared deviations stays within what chance gives once in a million.
func TestChoiceHasNoBias(t *testing.T) {
	t.Parallel()
	const each = 4000
	for _, size := range []int{10, 62, 100} {
		alphabet := make([]rune, size)
		for i := range alphabet {
			alphabet[i] = rune('!' + i)
		}
		count := map[rune]float64{}
		for _, r := range choose(keyed("key"), "info", alphabet, size*each) {
			count[r]++
		}
		chi := 0.0
		for _, r := range alphabet {
			chi += (count[r] - each) * (count[r] - each) / each
		}
		if free := float64(size - 1); chi > free+5*math.Sqrt(2*free) {
			t.Errorf("alphabet of %d: chi squared is %.0f", size, chi)
		}
	}
}

func TestAlphabetsAreChecked(t *testing.T) {
	t.Parallel()
	for alphabet, ok := range map[string]bool{
		"": false, "abc": false, strings.Repeat("a", 50): false, "0123456789": true, "äöüßéèêàâç": true,
		token.Plain.Ref(token.Ref{Address: "a", Path: "b"}): true,
	} {
		if err := checkPassword(PasswordProps{Alphabet: &alphabet}); (err == nil) != ok {
			t.Errorf("alphabet %q: %v", alphabet, err)
		}
	}
	if _, err := createID(t.Context(), kind.Site[IDProps, ID]{Want: idKind.WithDefaults(IDProps{})}); err == nil {
		t.Error("an identifier was made without a key")
	}
}
