package athanor

import (
	"errors"

	"github.com/athanor-dev/athanor/engine"
)

// SecretSource says where the value of a secret comes from. The value itself is never in a graph, an event or
// a log.
type SecretSource = engine.SecretSource

// FromEnv reads a secret from an environment variable. One that is set and empty is an error, unless the source says
// OrEmpty; so it is with every source.
func FromEnv(variable string) SecretSource { return SecretSource{Env: variable} }

// FromFile reads a secret from a file, relative to the stack's directory; one trailing newline is cut.
func FromFile(path string) SecretSource { return SecretSource{File: path} }

// Sealed reads a secret from the sealed file beside the program, where `athanor secret set NAME` puts it.
func Sealed() SecretSource { return SecretSource{Sealed: true} }

// Secret is the secret of that name. Without a source it is [Sealed].
func (s *Stack) Secret(name string, source ...SecretSource) Secret {
	from := Sealed()
	switch {
	case len(source) == 1:
		from = source[0]
	case len(source) > 1:
		s.fail("secret "+name, errors.New("more than one source"))
	}
	if from.Env == "" && from.File == "" && !from.Sealed {
		s.fail("secret "+name, errors.New("a source without a name"))
	}
	if err := CheckName(name); err != nil {
		s.fail("secret "+name, err)
		return ""
	}
	s.mu.Lock()
	other, known := s.graph.Secrets[name]
	if !known {
		s.graph.Secrets[name] = from
	}
	s.mu.Unlock()
	if known && other != from {
		s.fail("secret "+name, errors.New("asked for with two different sources"))
	}
	return Secret(s.in.Spelling.Secret(name))
}
