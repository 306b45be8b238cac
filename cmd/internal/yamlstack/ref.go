package yamlstack

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// readRefs reads which other stacks are referred to.
func (l *loader) readRefs() {
	seen := map[string]place{}
	l.section("refs", func(f *file, p pair) {
		if !l.once(seen, f, p, "ref") {
			return
		}
		l.refs[p.name] = token.Stack{}
		s := &scope{loader: l, f: f, known: true, why: "where another stack is must be known"}
		doc, ok := decode[refDoc](s, p.value, "ref "+p.name)
		if !ok {
			return
		}
		if option, err := doc.foreign(); err != nil {
			l.wrong(f.of(p.value), "", err)
			return
		} else if option != nil {
			to := token.Stack{}
			option(&to)
			l.refs[p.name] = to
			return
		}
		if err := athanor.CheckStack(doc.Stack); err != nil {
			l.wrong(f.find(p.value, "stack"), "", fmt.Errorf("ref %s: %w", p.name, err))
			return
		}
		l.refs[p.name] = token.Stack{Name: doc.Stack, Stage: cmp.Or(doc.Stage, l.in.Stage), Store: doc.Store}
	})
}

// foreign is where the state of another tool is, nil where the ref is to a stack of athanor.
func (d refDoc) foreign() (athanor.RefOption, error) {
	set := 0
	for _, text := range []string{d.Stack, d.Terraform, d.Pulumi} {
		if text != "" {
			set++
		}
	}
	switch {
	case set == 0:
		return nil, errors.New("stack: required; or terraform, or pulumi")
	case set > 1, d.Stack == "" && (d.Stage != "" || d.Store != ""):
		return nil, errors.New("want one of stack, terraform and pulumi; stage and store go with stack")
	case d.Terraform != "":
		return athanor.InTerraform(d.Terraform), nil
	case d.Pulumi != "":
		return athanor.InPulumi(d.Pulumi), nil
	}
	return nil, nil //nolint:nilnil // it is a stack of athanor
}

// output is the token of another stack's output; expr is what stands behind "ref.".
func (s *scope) output(expr string, spread bool) (any, error) {
	name, output, dotted := strings.Cut(expr, ".")
	to, known := s.refs[name]
	if !known {
		return nil, near(fmt.Errorf("no ref %q is declared", name), name, slices.Sorted(maps.Keys(s.refs)))
	}
	if !dotted {
		return nil, reconcile.WithHint(fmt.Errorf("${ref.%s}: which output of it?", name), "${ref.%s.OUTPUT}", name)
	}
	if to.Name == "" {
		return "", nil // what is wrong with it was said where it is declared
	}
	path, err := tree.ParsePath(output)
	if err == nil {
		err = athanor.CheckRef(to, path)
	}
	if err != nil {
		return nil, fmt.Errorf("${ref.%s}: %w", expr, err)
	}
	t := token.Plain.Output(to, path, spread)
	if spread {
		return splice{t}, nil
	}
	return t, nil
}
