package random

import (
	"context"
	"slices"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// PasswordProps declare one password.
type PasswordProps struct {
	// Length is the number of characters. Changing it replaces the password. Default: 32.
	Length *int `prop:"min=8,max=4096"`
	// Alphabet is the characters to choose from, each as likely as the others; one that is named twice counts
	// once. At least ten. Changing it replaces the password. Default: letters and digits.
	Alphabet *string
	// Version is any number; raising it gives another value. Changing it replaces the password. Default: 0.
	Version int
}

// Password is what others may refer to.
type Password struct {
	// Value is the password. It is secret.
	Value token.Secret
}

// livePassword is a password as it is on record.
type livePassword struct {
	props PasswordProps
	attrs Password
}

// lettersAndDigits is the alphabet of a password that names none.
const lettersAndDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// smallestAlphabet keeps a typing mistake from making a password that can be guessed.
const smallestAlphabet = 10

var passwordKind = &reconcile.Kind[PasswordProps, livePassword, Password]{
	Type: "random.Password",
	Doc: "A random password, kept sealed in the record. Without a record the same one is derived again from the stage's key, the address and the props. " +
		"For another value raise version.",
	Observe: func(_ context.Context, site reconcile.Site[PasswordProps, Password]) (livePassword, error) {
		if site.Last == nil {
			return livePassword{}, reconcile.ErrAbsent
		}
		live := livePassword{attrs: *site.Last, props: site.Want}
		if site.Had != nil {
			live.props = defaultPassword(*site.Had)
		}
		return live, nil
	},
	Create: createPassword,
	Compare: func(d *reconcile.Diff[livePassword], want PasswordProps, live livePassword) {
		reconcile.Fixed(d, "length", want.Length, live.props.Length)
		reconcile.Fixed(d, "alphabet", want.Alphabet, live.props.Alphabet)
		reconcile.Fixed(d, "version", want.Version, live.props.Version)
	},
	Attrs:    func(l livePassword) Password { return l.attrs },
	Delete:   func(context.Context, reconcile.Site[PasswordProps, Password]) error { return nil },
	Identity: func(Password) string { return "" },
	Defaults: defaultPassword,
	Check:    checkPassword,
	AtBirth:  []string{"value"},
	Recorded: true,
	Source:   source,
}

func defaultPassword(p PasswordProps) PasswordProps {
	if p.Length == nil {
		p.Length = new(32)
	}
	if p.Alphabet == nil {
		p.Alphabet = new(lettersAndDigits)
	}
	return p
}

func checkPassword(p PasswordProps) error {
	if p.Alphabet == nil || token.Has(*p.Alphabet) {
		return nil
	}
	if n := len(characters(*p.Alphabet)); n < smallestAlphabet || n > 1<<16 {
		return props.Errors{{Path: tree.Path("alphabet"), Problem: "want at least ten different characters"}}
	}
	return nil
}

// characters are the different characters of an alphabet, sorted.
func characters(alphabet string) []rune {
	runes := []rune(alphabet)
	slices.Sort(runes)
	return slices.Compact(runes)
}

func createPassword(_ context.Context, site reconcile.Site[PasswordProps, Password]) (Password, error) {
	if site.Derive == nil {
		return Password{}, errNoKey
	}
	p := site.Want
	alphabet := characters(*p.Alphabet)
	value := choose(site.Derive, info("random.Password", map[string]any{
		"length": int64(*p.Length), "alphabet": *p.Alphabet, "version": int64(p.Version),
	}), alphabet, *p.Length)
	return Password{Value: token.Secret(value)}, nil
}
