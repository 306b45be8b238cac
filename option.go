package athanor

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Option changes how the engine treats one resource. Options come last in every constructor.
type Option func(*declaration)

// declaration is a resource that options are applied to.
type declaration struct {
	stack   *Stack
	address string
	options *engine.Options
	errs    []error
}

func (d *declaration) fail(option string, err error) {
	d.errs = append(d.errs, fmt.Errorf("%s: %w", option, err))
}

// DependsOn has these done before: attributes that a constructor returned, text with references, or addresses.
func DependsOn(others ...any) Option {
	return func(d *declaration) {
		for _, o := range others {
			addresses, err := addressesOf(o)
			if err != nil {
				d.fail("dependsOn", err)
			}
			d.options.DependsOn = append(d.options.DependsOn, addresses...)
		}
		slices.Sort(d.options.DependsOn)
		d.options.DependsOn = slices.Compact(d.options.DependsOn)
	}
}

// Protect refuses deletion and replacement, at plan.
func Protect() Option { return func(d *declaration) { d.options.Protect = true } }

// Retain forgets the resource instead of deleting it.
func Retain() Option { return func(d *declaration) { d.options.Retain = true } }

// DeletedWith says that the resource goes with another, which is given as for [DependsOn].
func DeletedWith(other any) Option {
	return func(d *declaration) {
		addresses, err := addressesOf(other)
		if err == nil && len(addresses) != 1 {
			err = errors.New("want one resource")
		}
		if err != nil {
			d.fail("deletedWith", err)
			return
		}
		d.options.DeletedWith = addresses[0]
	}
}

// RenamedFrom names earlier addresses, whole ones: what state holds there is moved, not created again.
func RenamedFrom(addresses ...string) Option {
	return func(d *declaration) {
		for _, a := range addresses {
			if err := checkAddress(a); err != nil {
				d.fail("renamedFrom", err)
			}
		}
		d.options.RenamedFrom = append(d.options.RenamedFrom, addresses...)
	}
}

// Adopt takes over the object with this identity, of any owner; "*" takes what is found by name and has no owner tag.
func Adopt(id string) Option {
	return func(d *declaration) {
		switch {
		case token.Has(id):
			d.fail("adopt", errLiteral)
		case id == "":
			d.fail("adopt", errors.New(`want an identity, or "*"`))
		}
		d.options.Adopt = id
	}
}

// IgnoreChanges names props that are not compared, as paths: "tags.owner", "rules.*.priority".
func IgnoreChanges(paths ...string) Option {
	return func(d *declaration) {
		d.options.IgnoreChanges = append(d.options.IgnoreChanges, d.paths("ignoreChanges", paths)...)
	}
}

// ReplaceOn names props whose change replaces the resource, as paths.
func ReplaceOn(paths ...string) Option {
	return func(d *declaration) {
		d.options.ReplaceOn = append(d.options.ReplaceOn, d.paths("replaceOn", paths)...)
	}
}

func (d *declaration) paths(option string, texts []string) []tree.Path {
	var paths []tree.Path
	for _, t := range texts {
		p, err := tree.ParsePath(t)
		if err == nil && p == "" {
			err = errors.New("an empty path")
		}
		if err != nil {
			d.fail(option, err)
			continue
		}
		paths = append(paths, p)
	}
	return paths
}

// DeleteFirst deletes the old object before the new one is created.
func DeleteFirst() Option { return func(d *declaration) { d.options.DeleteFirst = true } }

// AllowReplace gives leave to replace what holds users' data.
func AllowReplace() Option { return func(d *declaration) { d.options.AllowReplace = true } }

// AllowDelete gives leave to delete what holds users' data.
func AllowDelete() Option { return func(d *declaration) { d.options.AllowDelete = true } }

// Timeout bounds creation, update and deletion, each by d. See [Timeouts] for one of them.
func Timeout(d time.Duration) Option { return Timeouts{Create: d, Update: d, Delete: d}.Option() }

// Timeouts bound the operations of one resource; zero fields keep the kind's.
type Timeouts engine.Timeouts

// Option is these bounds as an option.
func (t Timeouts) Option() Option {
	return func(d *declaration) {
		if min(t.Create, t.Update, t.Delete) < 0 {
			d.fail("timeout", errors.New("a negative span"))
		}
		d.options.Timeouts = engine.Timeouts(t)
	}
}

// addressesOf are the addresses that a value speaks of: those of its references, or text that is one.
func addressesOf(v any) ([]string, error) {
	if r, ok := v.(Resource); ok {
		return []string{r.address}, nil
	}
	if rv := reflect.ValueOf(v); rv.Kind() == reflect.String && !token.Has(rv.String()) {
		return []string{rv.String()}, checkAddress(rv.String())
	}
	t, err := treeOf(v)
	if err != nil {
		return nil, err
	}
	uses, err := token.Refs(t)
	if err != nil {
		return nil, err
	}
	var addresses []string
	for _, u := range uses {
		addresses = append(addresses, u.Ref.Address)
	}
	slices.Sort(addresses)
	if addresses = slices.Compact(addresses); len(addresses) == 0 {
		return nil, fmt.Errorf("a %T speaks of no resource; give its address", v)
	}
	return addresses, nil
}
