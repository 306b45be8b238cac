package generic

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
	"github.com/athanor-dev/athanor/providers/cloudflare/generic/schema"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// TestEvery takes every type of the table through a life on a server that knows the API's description alone: created with as
// little as it can be, found again, adopted by its identity, given all that its description allows, changed property by
// property, without what may be left out, and deleted.
func TestEvery(t *testing.T) {
	names, err := schema.Names()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		t.Run(strings.TrimPrefix(name, schema.Prefix), func(t *testing.T) {
			t.Parallel()
			life(t, sampled(t, name))
		})
	}
}

func life(t *testing.T, s suite) {
	l := begin(t, s)
	first := l.created()
	l.found(first)
	full := l.suite.Variants[0].Props
	if len(l.look(full).Replaces()) > 0 {
		l.deleted()
		l = begin(t, s)
	}
	l.settle(full)
	if s.other != nil {
		full = l.without(l.eachProp(full, s.other))
	}
	l.gone(full)
	l.deleted()
}

// patience bounds one operation, so that a type that never becomes as declared fails its test, and not the test binary.
const patience = 2 * time.Minute

// living is one resource of a type on a server of its own.
type living struct {
	t      *testing.T
	suite  kindtest.Suite
	edits  edits
	kind   *kind
	world  kindtest.World
	server *cloudflaretest.Server
	place  reconcile.Place
	job    *reconcile.Job
}

func begin(t *testing.T, s suite) *living {
	t.Helper()
	l := &living{t: t, kind: kindOf(t, s.typ)}
	worlds := cloudflaretest.Worlds{}
	l.suite, l.edits = s.withWorlds(t, worlds)
	l.world = l.suite.World(t)
	var err error
	l.server = worlds.Of(l.world)
	if l.place, err = l.world.Cloud.Place(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.job = &reconcile.Job{
		Nonce: "nonce", Mark: reconcile.Mark{Stack: "shop", Stage: "test", Address: "it", Generation: 1, Store: "store"},
	}
	return l
}

func (l *living) objects() []any { return l.world.Objects() }

// declare makes the job of what is declared, with what is in state.
func (l *living) declare(props obj) *reconcile.Job {
	l.t.Helper()
	known := l.job
	l.job = &reconcile.Job{
		Address: "it", Cloud: l.world.Cloud, Place: l.place, Nonce: known.Nonce, Name: "shop-test-it", Mark: known.Mark,
		ID: known.ID, Last: known.Last, Had: known.Had, Written: known.Written, Props: props,
		Digest:   func(_ string, value []byte) string { return string(value) },
		Timeouts: reconcile.Timeouts{Create: patience, Update: patience, Delete: patience},
	}
	if err := l.suite.Kind.Decode(l.job); err != nil {
		l.t.Fatalf("%v", err)
	}
	l.suite.Kind.Names(l.job)
	if l.job.Named = l.job.Given != ""; l.job.Named {
		l.job.Name = l.job.Given
	}
	return l.job
}

func (l *living) look(props obj) reconcile.Look {
	l.t.Helper()
	look, err := l.suite.Kind.Look(l.t.Context(), l.declare(props))
	if err != nil {
		l.t.Fatalf("%v", err)
	}
	return look
}

// settle makes the object match, and observes it again: a second plan has nothing to do.
func (l *living) settle(props obj) reconcile.Outcome {
	l.t.Helper()
	out, err := l.suite.Kind.Settle(l.t.Context(), l.declare(props), reconcile.Hooks{})
	if err != nil {
		l.t.Fatalf("%v", err)
	}
	l.job.ID, l.job.Last, l.job.Had, l.job.Written, l.job.Nonce = out.Identity, out.Attrs, props, out.Written, ""
	if look := l.look(props); look.Absent || len(look.Steps) > 0 {
		l.t.Fatalf("%v observed again: %v", props, look.Steps)
	}
	return out
}

// created creates the object: what a server has from the beginning is none where the API can create one, whatever it answers about it.
func (l *living) created() reconcile.Outcome {
	l.t.Helper()
	if l.kind.Create != nil {
		if look := l.look(l.suite.Base); !look.Absent {
			l.t.Errorf("before it is created it is read as %v", look.Attrs)
		}
	}
	l.server.Reset()
	out := l.settle(l.suite.Base)
	wrote := l.server.Wrote()
	if create := l.kind.Create; create != nil && !slices.Contains(wrote, create.Name) &&
		!slices.Contains(wrote, strings.Replace(create.Name, "ForAccount", "ForZone", 1)) {
		l.t.Errorf("it is not created by %s: %v", create.Name, wrote)
	}
	return out
}

// found loses the state: the object is found as an engine searches for it, and taken over by its identity.
func (l *living) found(first reconcile.Outcome) {
	l.t.Helper()
	l.job.ID, l.job.Last, l.job.Written = "", nil, nil
	if l.kind.List == nil && l.kind.ID != l.kind.NameShown {
		l.t.Logf("it cannot be found without state: %s", l.kind.doc())
	} else if look := l.look(l.suite.Base); look.Absent || look.Identity != first.Identity {
		l.t.Errorf("not found without state: %v", look.Identity)
	}
	l.job.ID = first.Identity
	look := l.look(l.suite.Base)
	if look.Absent || look.Identity != first.Identity {
		l.t.Errorf("not adopted by %s: %v", first.Identity, look.Identity)
	}
	for _, step := range look.Steps {
		unknown := l.kind.WriteOnlyAt(patternOf(step.Path)) || slices.Contains(l.kind.OnceShown, string(step.Path))
		if !unknown {
			l.t.Errorf("adopted by its identity, it differs: %v", step)
		}
	}
	l.job.ID, l.job.Last, l.job.Written = first.Identity, first.Attrs, first.Written
}

// patternOf is a path with * for the elements of lists.
func patternOf(p tree.Path) (pattern tree.Path) {
	for _, step := range p.Steps() {
		if step.Index >= 0 {
			pattern = pattern.Any()
		} else {
			pattern = pattern.Key(step.Key)
		}
	}
	return pattern
}

// takenLater are the properties that some operation on an existing object takes. The server's description says so, and not the
// table.
func (k *kind) takenLater(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	methods := []string{http.MethodPut, http.MethodPatch}
	if k.Shape == schema.Setting { // there is one at most, which a POST sets
		methods = append(methods, http.MethodPost)
	}
	for _, method := range methods {
		maps.Copy(all, cloudflaretest.Takes(t, method, k.samplePath(true)))
	}
	return all
}

// unshown are properties that the server does not show: answers have one of several forms, of which it takes another one, or nothing inside.
var unshown = map[string][]string{
	"cloudflare.botmanagement.Settings":     {"auto_update_model", "bm_cookie_enabled", "fight_mode", "suppress_session_score"},
	"cloudflare.firewall.Rule":              {"action"},
	"cloudflare.zerotrust.DlpProfileCustom": {"data_classes", "data_tags", "description", "sensitivity_levels", "shared_entries"},
	"cloudflare.zerotrust.AccessApplication": {
		"app_launcher_logo_url", "bg_color", "footer_links", "header_bg_color", "landing_page_design", "saas_app", "skip_app_launcher_login_page",
	},
}

// eachProp gives each property alone another value. To a state that does not know of it that is drift. The difference shows at that property and nowhere else; one call makes it
// where an operation takes the property, and else it replaces and nothing is written.
func (l *living) eachProp(from, other obj) (props obj) {
	props = maps.Clone(from)
	later := l.kind.takenLater(l.t)
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if tree.Equal(from[name], other[name]) || other[name] == nil {
			continue
		}
		changed := maps.Clone(props)
		changed[name] = other[name]
		steps := l.look(changed).Steps
		if len(steps) == 0 {
			l.t.Errorf("%s is %v instead of %v, and no difference shows", name, other[name], props[name])
		}
		replaces := false
		for _, step := range steps {
			replaces = replaces || step.Replaces
			if !step.Path.Within(tree.Path("").Key(name)) {
				l.t.Errorf("%s changed, and a difference shows at %s", name, step.Path)
			}
		}
		immutable := !later[name] || name == l.kind.ID || // a part of the path
			slices.ContainsFunc(l.kind.Immutable, func(p tree.Path) bool { return p.Within(tree.Path("").Key(name)) })
		if immutable && !replaces || replaces && !immutable && !l.kind.fixedInside(name) {
			l.t.Errorf("%s replaces: %t; an operation changes it: %t", name, replaces, later[name])
		}
		if !replaces {
			before := l.job
			l.settle(changed)
			after := l.job
			l.job = before
			seen := l.kind.WriteOnlyAt(tree.Path("").Key(name)) || slices.Contains(unshown[l.kind.Name], name)
			if look := l.look(props); !seen && !look.Absent && len(look.Steps) == 0 { // a setting that is again as before is none of ours
				l.t.Errorf("%s is %v instead of %v outside of state, and no drift shows", name, other[name], props[name])
			}
			l.job, props = after, changed
			continue
		}
		if _, err := l.suite.Kind.Settle(l.t.Context(), l.declare(changed), reconcile.Hooks{}); !errors.Is(err, reconcile.ErrReplace) {
			l.t.Errorf("%s replaces, and settling says %v", name, err)
		}
		if look := l.look(props); len(look.Steps) > 0 {
			l.t.Errorf("%s replaces, and something was written: %v", name, look.Steps)
		}
	}
	return props
}

// without stops to declare all that may be left out and changes in place. The object has no value of these any more.
func (l *living) without(props obj) obj {
	less := maps.Clone(props)
	for name := range props {
		p := tree.Path("").Key(name)
		if _, needed := l.suite.Base[name]; !needed && !l.kind.FixedAt(p) && !l.kind.fixedInside(name) && name != l.kind.NameProp {
			delete(less, name)
		}
	}
	for _, step := range l.look(less).Steps {
		if step.Replaces || step.Want != nil && !l.kind.WriteOnlyAt(patternOf(step.Path)) {
			l.t.Errorf("%v is no longer declared: %v", step.Path, step)
		}
	}
	l.settle(less)
	return less
}

// gone gives the object each of the values by which the description lets an answer say that it was deleted: it is no object then.
func (l *living) gone(props obj) {
	l.t.Helper()
	deleted := map[string][]any{}
	for name, n := range l.kind.Answer.Properties {
		switch {
		case l.kind.Shape == schema.Setting || l.kind.Root.Properties[name] != nil:
		case name == "deleted_at" || name == "revoked_at":
			deleted[name] = []any{"2026-01-31T00:00:00Z"}
		case name == "status":
			for _, word := range n.Enum {
				if word == "deleted" || word == "revoked" {
					deleted[name] = append(deleted[name], word)
				}
			}
		}
	}
	for name, words := range deleted {
		before := l.job.Last[name]
		for _, word := range words {
			l.edits(l.world, textAt(l.job.Last, l.kind.ID), name, word)
			if look := l.look(props); !look.Absent {
				l.t.Errorf("its %s is %v, and it is read as an object", name, word)
			}
		}
		l.edits(l.world, textAt(l.job.Last, l.kind.ID), name, before)
	}
}

// fixedInside reports whether something inside of a property can only be given at creation.
func (k *kind) fixedInside(name string) bool {
	return slices.ContainsFunc(k.CreateOnly, func(p tree.Path) bool { return p.Within(tree.Path("").Key(name)) })
}

// deleted deletes the object, twice.
func (l *living) deleted() {
	l.t.Helper()
	for range 2 {
		l.job.MayDelete = true
		if err := l.suite.Kind.Delete(l.t.Context(), l.job); err != nil {
			l.t.Fatalf("deleted: %v", err)
		}
	}
	if left := l.objects(); l.kind.Shape != schema.Setting && len(left) > 0 {
		l.t.Errorf("left: %v", left)
	}
}
