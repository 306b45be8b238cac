package grants

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// Permission is what a user has allowed: VALUE or VALUE@PLACE of one kind. A value may itself hold an @, so it is not
// cut apart but compared with what is asked for.
type Permission struct {
	Kind Kind
	Text string
	// Placed says that the place must be there: a permission in the user's file is for one place of a stack.
	Placed bool
}

// Allows reports whether the permission is for what is asked.
func (p Permission) Allows(a Ask) bool {
	if p.Kind != a.Kind {
		return false
	}
	if p.fits(p.Text, a.Value) {
		return !p.Placed
	}
	value, placed := strings.CutSuffix(p.Text, "@"+a.Place)
	return placed && p.fits(value, a.Value)
}

// fits compares a value with one that is asked for. Paths, and stores that are files, may be written relative to the
// working directory, and by way of links; programs relative to the working directory. A provider that is installed is allowed now by its
// source, whatever is locked of it; for later it is allowed with its version and hash.
func (p Permission) fits(text, value string) bool {
	if text == value {
		return true
	}
	scheme := ""
	switch {
	case p.Kind == Program:
		return !p.Placed && fitsProgram(text, value)
	case p.Kind == Path:
	case p.Kind == Store && strings.HasPrefix(text, "bolt:"):
		scheme, text = "bolt:", strings.TrimPrefix(text, "bolt:")
	case p.Kind == Store && ForeignState(text) != "" && !strings.Contains(text, "://"):
		tool := ForeignState(text) + ":"
		scheme, text = tool, strings.TrimPrefix(text, tool)
	default:
		return false
	}
	if p.Placed && !filepath.IsAbs(text) {
		return false // a file that counts everywhere has no working directory
	}
	real, err := localfile.Real(text)
	return err == nil && scheme+real == value
}

func fitsProgram(text, value string) bool {
	if filepath.IsAbs(value) {
		whole, err := filepath.Abs(text)
		return err == nil && whole == value
	}
	source, _, _ := strings.Cut(value, " ")
	return strings.EqualFold(text, source) || strings.EqualFold(defaultRegistry+text, source)
}

// defaultRegistry is what a source of a provider without a host stands for.
const defaultRegistry = "registry.opentofu.org/"

// Parse reads permissions as flags and variables give them: KIND=VALUE or KIND=VALUE@PLACE.
func Parse(texts ...string) ([]Permission, error) {
	var list []Permission
	for _, text := range texts {
		kind, rest, ok := strings.Cut(text, "=")
		if !ok || rest == "" || !slices.Contains(Kinds(), Kind(kind)) {
			return nil, reconcile.WithHint(fmt.Errorf("permission %q: %w", text, errPermission),
				"--allow path=../shared/ca.pem")
		}
		list = append(list, Permission{Kind: Kind(kind), Text: rest})
	}
	return list, nil
}

var errPermission = errors.New(
	"want KIND=VALUE or KIND=VALUE@PLACE, and KIND is endpoint, store, path, env, identity or program")

// SplitList splits the value of $ATHANOR_ALLOW at the commas that a further permission follows: a value may hold
// commas.
func SplitList(text string) []string {
	var list []string
	for part := range strings.SplitSeq(text, ",") {
		kind, _, ok := strings.Cut(part, "=")
		switch {
		case ok && slices.Contains(Kinds(), Kind(strings.TrimSpace(kind))) || len(list) == 0:
			list = append(list, part)
		default:
			list[len(list)-1] += "," + part
		}
	}
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

// Missing lists what is asked for and not allowed.
func Missing(asks []Ask, allowed []Permission) []Ask {
	var list []Ask
	for _, a := range asks {
		if !slices.ContainsFunc(allowed, func(p Permission) bool { return p.Allows(a) }) {
			list = append(list, a)
		}
	}
	return list
}

// AllowedPaths lists the resolved paths that are allowed at any place, for [localfile.Bounds].
func AllowedPaths(allowed []Permission) []string {
	var list []string
	for _, p := range allowed {
		if p.Kind != Path {
			continue
		}
		text := p.Text
		if at := strings.LastIndex(text, "@"); at > 0 && (p.Placed || !exists(text)) {
			text = text[:at] // no place holds an @
		}
		if real, err := localfile.Real(text); err == nil && (filepath.IsAbs(text) || !p.Placed) {
			list = append(list, real)
		}
	}
	return list
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// SomewhereAllowed reports whether a value is allowed at any place of the stack.
func SomewhereAllowed(a Ask, allowed []Permission) bool {
	return slices.ContainsFunc(allowed, func(p Permission) bool {
		return p.Kind == a.Kind && (p.fits(p.Text, a.Value) && !p.Placed || strings.HasPrefix(p.Text, a.Value+"@"))
	})
}
