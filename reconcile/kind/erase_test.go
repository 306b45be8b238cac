package kind_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// store is a service with one box in it. calls are those that were made.
type store struct {
	box     *BoxProps
	data    bool
	lingers int // how many reads still show a deleted box
	calls   []string
}

func (*store) Place(context.Context) (reconcile.Place, error) { return reconcile.Place{}, nil }

func (*store) Classify(err error) reconcile.Class { return reconcile.Invalid }

func (s *store) kind() kind.Kind[BoxProps, BoxProps, Box] {
	k := boxKind()
	k.Observe = func(_ context.Context, at kind.Site[BoxProps, Box]) (BoxProps, error) {
		s.calls = append(s.calls, "observe")
		switch {
		case at.New != nil:
			return BoxProps{}, errors.New("New is set outside of Create")
		case s.box == nil:
			return BoxProps{}, reconcile.ErrAbsent
		}
		have := *s.box
		if s.lingers > 0 {
			if s.lingers--; s.lingers == 0 {
				s.box = nil
			}
		}
		return have, nil
	}
	k.Create = func(_ context.Context, at kind.Site[BoxProps, Box]) (Box, error) {
		s.calls = append(s.calls, "create "+at.Nonce+" "+at.Name+" "+at.Owner.Stack)
		s.box = &at.Want
		return Box{ID: "1", Token: "t"}, nil
	}
	k.Delete = func(_ context.Context, at kind.Site[BoxProps, Box]) error {
		s.calls = append(s.calls, "delete "+at.Last.ID)
		if s.lingers == 0 {
			s.box = nil
		}
		return nil
	}
	k.HoldsData = &kind.HoldsData[BoxProps, BoxProps]{
		Now: func(BoxProps) bool { return s.data }, What: func(BoxProps) string { return "a letter" },
	}
	return k
}

func TestTheRunnerDeletes(t *testing.T) {
	for _, c := range []struct {
		name     string
		store    store
		may      bool
		cleansUp bool
		later    bool
		want     error
		calls    string
	}{
		{"asked, and missing", store{box: &BoxProps{}}, true, false, false, nil, "delete 1, observe"},
		{"guarded", store{box: &BoxProps{}}, false, false, false, nil, "observe, delete 1, observe"},
		{"it holds data", store{box: &BoxProps{}, data: true}, false, false, false, reconcile.ErrHoldsData, "observe"},
		{"it holds data, and may be deleted", store{box: &BoxProps{}, data: true}, true, false, false, nil, "delete 1, observe"},
		{"missing already", store{}, false, false, false, nil, "observe"},
		{"missing already, and there is more to clean up", store{}, false, true, false, nil, "observe, delete 1, observe"},
		{"still there for a while", store{box: &BoxProps{}, lingers: 2}, true, false, false, nil, "delete 1, observe, delete 1, observe, delete 1, observe"},
		{"the service deletes it later", store{box: &BoxProps{}, lingers: 9}, true, false, true, nil, "delete 1, observe"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &c.store
				k := s.kind()
				k.CleansUp = c.cleansUp
				if c.later {
					k.Deletion = kind.Later[BoxProps](func(BoxProps) bool { return true })
				}
				job := &reconcile.Job{Cloud: s, Last: props.Dump(Box{ID: "1"}), MayDelete: c.may}
				err := k.Erase().Delete(t.Context(), job)
				if !errors.Is(err, c.want) {
					t.Errorf("%v, want %v", err, c.want)
				}
				if err != nil && !strings.HasSuffix(err.Error(), ": a letter") {
					t.Errorf("%v, which does not say what it holds", err)
				}
				if have := strings.Join(s.calls, ", "); have != c.calls {
					t.Errorf("%s, want %s", have, c.calls)
				}
				if c.want == nil && !c.later && s.box != nil {
					t.Error("it is still there")
				}
			})
		})
	}
}

func TestScopeReachesACreation(t *testing.T) {
	s := &store{}
	job := &reconcile.Job{
		Address: "a", Cloud: s, Name: "box-1", Nonce: "n", Begun: true, Mark: reconcile.Mark{Stack: "shop"}, Props: map[string]any{"sealed": true},
	}
	out, err := s.kind().Erase().Settle(t.Context(), job, reconcile.Hooks{})
	if err != nil || !out.Created || out.Attrs["token"] != "t" {
		t.Fatalf("%+v, %v", out, err)
	}
	if want := []string{"observe", "create n box-1 shop", "observe"}; !slices.Equal(s.calls, want) {
		t.Errorf("%v, want %v", s.calls, want)
	}
}

// TestEveryFactOfACallArrives has a job of which every field is set, and finds none of them zero in the calls that a kind gets.
func TestEveryFactOfACallArrives(t *testing.T) {
	full := filled[reconcile.Job](t)
	var sites []kind.Site[BoxProps, Box]
	var update kind.Update[BoxProps]
	k := boxKind()
	k.Observe = func(_ context.Context, s kind.Site[BoxProps, Box]) (BoxProps, error) {
		if sites = append(sites, s); len(sites) == 1 {
			return BoxProps{}, reconcile.ErrAbsent
		}
		return BoxProps{}, nil
	}
	k.Create = func(_ context.Context, s kind.Site[BoxProps, Box]) (Box, error) {
		sites = append(sites, s)
		return Box{ID: "1"}, nil
	}
	stop := errors.New("seen")
	k.Compare = func(d *kind.Diff[BoxProps], _, _ BoxProps) {
		reconcile.Value(d, "shape", "a", "b", kind.Set("Set", func(_ context.Context, u kind.Update[BoxProps]) error {
			update = u
			return stop
		}))
	}
	full.Props, full.Last, full.Had = map[string]any{"sealed": true}, props.Dump(Box{ID: "1"}), nil
	full.Unknown, full.Omit, full.Ignore, full.ReplaceOn, full.From, full.Digest, full.Timeouts, full.LastWrite = nil, []tree.Path{"nowhere"}, nil, nil, nil, nil, reconcile.Timeouts{}, time.Time{}
	if _, err := k.Erase().Settle(t.Context(), &full, reconcile.Hooks{}); !errors.Is(err, stop) || len(sites) != 3 {
		t.Fatalf("%v after %d calls", err, len(sites))
	}
	for _, empty := range zeroFields(reflect.ValueOf(sites[0]), "New", "Had", "Since") {
		t.Errorf("an observation lacks %s", empty)
	}
	for _, empty := range zeroFields(reflect.ValueOf(sites[1]), "ID", "Last", "Had") {
		t.Errorf("a creation lacks %s", empty)
	}
	for _, empty := range zeroFields(reflect.ValueOf(update), "Live") {
		t.Errorf("a call lacks %s", empty)
	}
}

// filled is a struct of which no field that others may set is zero.
func filled[T any](t *testing.T) (v T) {
	t.Helper()
	s := reflect.ValueOf(&v).Elem()
	for i := range s.NumField() {
		f := s.Field(i)
		if !f.CanSet() {
			continue
		}
		switch f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case reflect.Map:
			f.Set(reflect.MakeMap(f.Type()))
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Func:
			f.Set(reflect.MakeFunc(f.Type(), func([]reflect.Value) []reflect.Value { return nil }))
		case reflect.Interface:
			f.Set(reflect.ValueOf(&store{}))
		case reflect.Struct:
			f.Set(nonZero(f.Type()))
		default:
			t.Fatalf("%s: what is not zero?", s.Type().Field(i).Name)
		}
	}
	return v
}

// nonZero is a struct whose first field that can be set is not zero.
func nonZero(typ reflect.Type) reflect.Value {
	if typ == reflect.TypeFor[timeTime]() {
		return reflect.ValueOf(timeTime{}.AddDate(1, 1, 1))
	}
	v := reflect.New(typ).Elem()
	for _, f := range v.Fields() {
		if f.Kind() == reflect.String {
			f.SetString("x")
		}
	}
	return v
}

func zeroFields(v reflect.Value, but ...string) (empty []string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous {
			empty = append(empty, zeroFields(v.Field(i), but...)...)
		} else if v.Field(i).IsZero() && !slices.Contains(but, f.Name) {
			empty = append(empty, f.Name)
		}
	}
	return empty
}

func TestCapabilities(t *testing.T) {
	k := boxKind()
	bare := k.Erase().Spec()
	if bare.Named || bare.Marked || bare.Same || bare.ByParent || bare.Lists || bare.Bulk || bare.Logs || bare.Recorded || bare.Retained {
		t.Errorf("a kind without capabilities has some: %+v", bare)
	}
	k.Named = &kind.Named[BoxProps, BoxProps]{
		Given: func(p BoxProps) string { return p.Name },
		Rule:  func(BoxProps) kind.NameRule { return kind.NameRule{Max: 15, Marks: "-", Suffix: "x"} },
		Live:  func(p BoxProps) string { return p.Name },
	}
	k.Status = func(p BoxProps) kind.Status {
		return map[string]kind.Status{"": kind.Ready(), "b": kind.Busy("opening"), "w": kind.WaitingFor("a key")}[p.Shape]
	}
	k.HoldsData = &kind.HoldsData[BoxProps, BoxProps]{
		Now: func(BoxProps) bool { return true }, MayDelete: func(p BoxProps) bool { return p.Sealed }, Retain: true,
	}
	first, job := k.Erase(), &reconcile.Job{Props: map[string]any{"sealed": true}}
	first.Names(job)
	if n := job.Naming; n.Max != 15 || n.Suffix != "x" || n.Allowed('.') || !first.Spec().Retained || !job.Leave {
		t.Errorf("%+v, %+v", n, first.Spec())
	}
	for shape, want := range map[string][2]string{"": {}, "b": {"opening", ""}, "w": {"", "a key"}} {
		k := k
		k.Observe = func(context.Context, kind.Site[BoxProps, Box]) (BoxProps, error) { return BoxProps{Shape: shape}, nil }
		look, err := k.Erase().Look(t.Context(), &reconcile.Job{})
		if err != nil || look.Busy != want[0] || look.Waiting != want[1] {
			t.Errorf("%q: busy %q, waiting %q, %v", shape, look.Busy, look.Waiting, err)
		}
	}
	err := first.Decode(&reconcile.Job{Props: map[string]any{"name": "a"}})
	if err == nil || !strings.Contains(err.Error(), "name: want up to 15 letters, digits and -, and x at the end") {
		t.Error(err)
	}
	have := steps(t, k, map[string]any{"name": "newx", "key": "k"}, must(boxTable().Read(kind.Text{})), &reconcile.Job{Name: "newx", Named: true})
	if want := "name: have \"\", want \"newx\" replaces\nkey: have null, want \"k\" SetBox"; have != want {
		t.Errorf("%s\nwant %s", have, want)
	}
	k.Owner = kind.OwnedByContent[BoxProps, BoxProps]{}
	if spec := k.Erase().Spec(); !spec.Same || spec.ByParent || spec.Marked {
		t.Errorf("%+v", spec)
	}
	k.Owner = kind.OwnedByParent[BoxProps, BoxProps]{}
	if spec := k.Erase().Spec(); spec.Same || !spec.ByParent || spec.Marked {
		t.Errorf("%+v", spec)
	}
	k.Owner = kind.Tagged[BoxProps, BoxProps]{Tag: func(BoxProps) kind.OwnerTag { return kind.OwnerTag{} }}
	if spec := k.Erase().Spec(); spec.Same || spec.ByParent || !spec.Marked {
		t.Errorf("%+v", spec)
	}
}

// TestChecksAreCollected is about a declaration in which the table, the name, the kind and its tags each find something.
func TestChecksAreCollected(t *testing.T) {
	k := boxKind()
	wrong := func(path string) func(BoxProps) error {
		return func(BoxProps) error { return props.Errors{{Path: "odd", Problem: path}} }
	}
	k.Check = wrong("by the kind")
	k.Owner = kind.Tagged[BoxProps, BoxProps]{Tag: func(BoxProps) kind.OwnerTag { return kind.OwnerTag{} }, Check: wrong("by its tags")}
	err := k.CheckAll(BoxProps{Keep: 1})
	if err == nil || err.Error() != "keep: want whole hours; odd: by the kind; odd: by its tags" {
		t.Error(err)
	}
	broken := errors.New("cannot be checked")
	k.Check = func(BoxProps) error { return broken }
	if err := k.CheckAll(BoxProps{}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// TestNamesInALocation has generated names that the service counts with where they are, and given ones that it does not.
func TestNamesInALocation(t *testing.T) {
	k := boxKind()
	k.Named = &kind.Named[BoxProps, BoxProps]{
		Rule: func(BoxProps) kind.NameRule { return kind.NameRule{Max: 20} },
		In: func(rule kind.NameRule, location kind.Location) kind.NameRule {
			rule.Max -= len(location.Region)
			return rule
		},
	}
	job := &reconcile.Job{Place: reconcile.Place{Region: "there"}, Props: map[string]any{"sealed": true}}
	erased := k.Erase()
	if err := erased.Decode(job); err != nil {
		t.Fatal(err)
	}
	if erased.Names(job); job.Naming == nil || job.Naming.Max != 15 {
		t.Errorf("generated names are shaped by %+v", job.Naming)
	}
}

// TestKeysOfProps has an object that is known by several props.
func TestKeysOfProps(t *testing.T) {
	k := boxKind()
	k.Named, k.Key = nil, func(p BoxProps) string { return p.Target + "/" + p.Via }
	job := &reconcile.Job{Props: map[string]any{"target": "a", "via": "b"}}
	erased := k.Erase()
	if err := erased.Decode(job); err != nil {
		t.Fatal(err)
	}
	if erased.Names(job); job.Given != "a/b" || job.Naming != nil {
		t.Errorf("named %q, %+v", job.Given, job.Naming)
	}
	k.Named = &kind.Named[BoxProps, BoxProps]{Rule: func(BoxProps) kind.NameRule { return kind.NameRule{} }}
	if err := k.Validate(); err == nil || !strings.Contains(err.Error(), "Named and Key") {
		t.Errorf("both are taken: %v", err)
	}
}
