package random

import (
	"cmp"
	"context"
	"slices"

	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// PasswordProps declare one password.
type PasswordProps struct {
	// Length is the number of characters.
	Length *int `prop:"min=8,max=4096,default=32,immutable" wire:"-"`
	// Alphabet is the characters to choose from, each as likely as the others; one that is named twice counts
	// once. At least ten. Default: letters and digits.
	Alphabet *string `prop:"immutable" wire:"-"`
	// Version is any number; raising it gives another value.
	Version int `prop:"default=0,immutable" wire:"-"`
}

// Password is what others may refer to.
type Password struct {
	// Value is the password. It is secret.
	Value token.Secret `attr:"early"`
}

// lettersAndDigits is the alphabet of a password that names none.
const lettersAndDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// smallestAlphabet keeps a typing mistake from making a password that can be guessed.
const smallestAlphabet = 10

var passwordKind = &kind.StateKind[PasswordProps, Password]{
	Type: "random.Password",
	Doc: "A random password, kept sealed in state. Without state the same one is derived again from the stage's key, the address and the props. " +
		"For another value raise version.",
	Create: createPassword,
	Props:  kind.TableOf[PasswordProps](),
	Default: func(p PasswordProps) PasswordProps {
		p.Alphabet = cmp.Or(p.Alphabet, new(lettersAndDigits))
		return p
	},
	Check: checkPassword,
	API:   kind.API{Source: source},
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

func createPassword(_ context.Context, s kind.Site[PasswordProps, Password]) (Password, error) {
	if s.Derive == nil {
		return Password{}, errNoKey
	}
	p := s.Want
	alphabet := characters(*p.Alphabet)
	value := choose(s.Derive, info("random.Password", map[string]any{
		"length": int64(*p.Length), "alphabet": *p.Alphabet, "version": int64(p.Version),
	}), alphabet, *p.Length)
	return Password{Value: token.Secret(value)}, nil
}
