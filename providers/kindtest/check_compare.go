package kindtest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// concerns reports whether a difference at step is one of the prop at path.
func (s Suite) concerns(step, path tree.Path) bool {
	for prop, shown := range s.Alias {
		if path.Overlaps(prop) && step.Overlaps(shown) {
			return true
		}
	}
	return step.Overlaps(path)
}

// checkAlone changes one prop at a time. The difference shows at that prop alone, and replaces when the
// documentation says so.
func checkAlone(t T, s Suite) {
	t.Helper()
	d := start(t, s)
	d.must(d.to(s.Base), "base")
	there, err := d.look(s.Base)
	d.must(err, "look")
	for _, f := range s.fields(t) {
		name, seen := string(f.Path), false
		for _, v := range s.Variants {
			if tree.Equal(v.Props[name], s.Base[name]) {
				continue
			}
			alone := maps.Clone(s.Base)
			delete(alone, name)
			if value, ok := v.Props[name]; ok {
				alone[name] = value
			}
			if _, err := d.job(nil, alone); err != nil {
				continue // not valid alone
			}
			look, err := d.another(alone, there, seen)
			d.must(err, "look with %s of %s", name, v.Name)
			seen = true
			d.alone(f, v.Name, look)
		}
		if _, silent := s.Silent[f.Path]; !seen && !silent && s.someOther(name) {
			t.Errorf("prop %s is not changed alone by any variant; add one where the rest stays valid", name)
		}
	}
}

// another reads the live object with other props. Known: a read with the same prop changed has read what is there, so
// that what an earlier look saw is compared.
func (d *driver) another(props map[string]any, seen reconcile.Look, known bool) (reconcile.Look, error) {
	if !known {
		return d.look(props)
	}
	job, err := d.job(d.live, props)
	if err != nil {
		return reconcile.Look{}, err
	}
	return d.s.Kind.Compare(job, seen)
}

// someOther reports whether a variant gives the prop another value than Base.
func (s Suite) someOther(name string) bool {
	return slices.ContainsFunc(s.Variants, func(v Variant) bool { return !tree.Equal(v.Props[name], s.Base[name]) })
}

func (d *driver) alone(f props.Field, variant string, look reconcile.Look) {
	d.t.Helper()
	_, silent := d.s.Silent[f.Path]
	if len(look.Steps) == 0 && !silent {
		d.t.Errorf("prop %s of %s changed alone, and no difference shows", f.Path, variant)
	}
	replaced := false
	for _, step := range look.Steps {
		if silent || !d.s.concerns(step.Path, f.Path) {
			d.t.Errorf("prop %s of %s changed alone, and a difference shows at %s", f.Path, variant, step.Path)
		}
		if step.Replaces && !replaced {
			replaced = true
			if !documentedReplace(f, step.Path) {
				d.t.Errorf("prop %s replaces, and its documentation does not say so", step.Path)
			}
		}
	}
	if f.Replaces && !replaced && len(look.Steps) > 0 {
		d.t.Errorf("prop %s is documented to replace, and does not", f.Path)
	}
}

// documentedReplace looks in the documentation of the prop and of the fields on the way to the step.
func documentedReplace(f props.Field, step tree.Path) bool {
	if f.Replaces {
		return true
	}
	return slices.ContainsFunc(f.Fields, func(sub props.Field) bool {
		return step.Overlaps(sub.Path) && documentedReplace(sub, step)
	})
}

// checkDrift makes the edits of the suite and expects each at its own path, and repaired.
func checkDrift(t T, s Suite) {
	t.Helper()
	for _, e := range s.Edits {
		from := s.Base
		if e.From != "" {
			i := slices.IndexFunc(s.Variants, func(v Variant) bool { return v.Name == e.From })
			if i < 0 {
				t.Fatalf("edit of %s: no variant %s", e.Path, e.From)
			}
			from = s.Variants[i].Props
		}
		d := start(t, s)
		d.must(d.to(from), "edit of %s: before", e.Path)
		before := d.state()
		e.Do(t, d.w, d.live.last)
		look, err := d.look(from)
		d.must(err, "edit of %s: look", e.Path)
		if look.Absent || len(look.Steps) == 0 {
			t.Errorf("edit of %s: not seen", e.Path)
		}
		for _, step := range look.Steps {
			if !step.Path.Within(e.Path) {
				t.Errorf("edit of %s: seen at %s", e.Path, step.Path)
			}
		}
		d.must(d.to(from), "edit of %s: repair", e.Path)
		if after := d.state(); after != before {
			t.Errorf("edit of %s: repaired to\n%s\nand it was\n%s", e.Path, after, before)
		}
	}
}

// later is a reference to what is known only later.
func later() string { return token.Plain.Ref(token.Ref{Address: "upstream", Path: "value"}) }

// lookedAt is at how many places of the props a sample looks with something unknown there.
const lookedAt = 12

// checkUnknown compares with each text of the props unknown in turn, as a whole and in the midst of other text. Each is
// looked at as an engine does, once for each place in the props: what is read depends on which of them is unknown, and not on
// the values of the others. What is in state is also compared as it was seen before, with the other spelling and in
// each variant. In a world that is sampled lookedAt places are looked at, and the others compared.
func checkUnknown(t T, s Suite) {
	t.Helper()
	d, observed := start(t, s), map[tree.Path]bool{}
	for _, v := range s.all() {
		d.must(d.to(v.Props), "%s", v.Name)
		job, err := d.job(d.live, v.Props)
		d.must(err, "%s: job", v.Name)
		seen, err := s.Kind.Look(d.ctx(), job)
		d.must(err, "%s: look", v.Name)
		for _, path := range leaves(v.Props) {
			whole, _ := tree.With(v.Props, path, later()).(map[string]any)
			part, _ := tree.With(v.Props, path, "a-"+later()+"-z").(map[string]any)
			look := func(job *reconcile.Job) (reconcile.Look, error) { return s.Kind.Look(d.ctx(), job) }
			compare := func(job *reconcile.Job) (reconcile.Look, error) { return s.Kind.Compare(job, seen) }
			known, place := look, places(path)
			if observed[place] || d.w.Sampled && len(observed) >= lookedAt {
				known, look = compare, nil
			}
			if s.takes(whole) {
				d.unknown(d.live, whole, path, v.Name, known)
				observed[place] = true
			}
			if s.takes(part) {
				d.unknown(d.live, part, path, v.Name, compare)
				d.unknown(nil, part, path, v.Name, look)
				observed[place] = true
			} else if s.takes(whole) {
				d.unknown(nil, whole, path, v.Name, look)
			}
		}
	}
}

// places is a path for all elements of a list.
func places(path tree.Path) tree.Path {
	var all tree.Path
	for _, step := range path.Steps() {
		switch {
		case step.Index >= 0 || step.Any:
			all = all.Any()
		default:
			all = all.Key(step.Key)
		}
	}
	return all
}

// takes reports whether props have the right types. Where no Go type tells them, the kind's own check does.
func (s Suite) takes(declared map[string]any) bool {
	typed := s.Kind.Spec().NewProps()
	if _, free := typed.(*map[string]any); free {
		return s.Kind.Decode(&reconcile.Job{Address: address, Props: declared}) == nil
	}
	return props.Decode(declared, typed) == nil
}

// leaves are the paths of all plain values in a tree.
func leaves(v any) []tree.Path {
	var paths []tree.Path
	tree.Walk(v, func(p tree.Path, x any) bool {
		switch x.(type) {
		case map[string]any, []any:
			return true
		}
		paths = append(paths, p)
		return false
	})
	return paths
}

// unknown reads a generation with one path unknown. Without state, what is seen depends on what is unknown.
func (d *driver) unknown(g *generation, declared map[string]any, path tree.Path, name string, look func(*reconcile.Job) (reconcile.Look, error)) {
	d.t.Helper()
	if look == nil {
		return // looked at before
	}
	defer func() {
		if p := recover(); p != nil {
			d.t.Errorf("%s with %s unknown: panic: %v", name, path, p)
		}
	}()
	job, err := d.job(g, declared)
	if err != nil {
		d.t.Errorf("%s with %s unknown: %v", name, path, err)
		return
	}
	job.Unknown = map[tree.Path]bool{path: true}
	have, err := look(job)
	if g == nil {
		return
	}
	d.must(err, "%s with %s unknown", name, path)
	for _, step := range have.Steps {
		d.unknownStep(step, path, name)
	}
}

func (d *driver) unknownStep(step reconcile.Step, path tree.Path, name string) {
	d.t.Helper()
	if !d.s.concerns(step.Path, path) {
		d.t.Errorf("%s with %s unknown: a difference is claimed at %s: %s", name, path, step.Path, step)
	} else if !step.Unknown {
		d.t.Errorf("%s with %s unknown: the difference is claimed to be known: %s", name, path, step)
	}
	uses, err := token.Refs(step.Want)
	if err != nil {
		d.t.Errorf("%s with %s unknown: the reference is damaged: %v", name, path, err)
	}
	for _, use := range uses {
		if use.Ref.Address != "upstream" || use.Ref.Path != "value" {
			d.t.Errorf("%s with %s unknown: the reference is damaged: it became %s", name, path, step)
		}
	}
}

// checkSecrets puts canaries where secrets may be, and looks for them in everything that people or files see.
func checkSecrets(t T, s Suite) {
	t.Helper()
	paths := slices.Clone(s.Secrets)
	for _, v := range s.all() {
		for _, leaf := range leaves(v.Props) {
			typed := func(p tree.Path) bool { return leaf.Within(p) }
			if slices.ContainsFunc(s.Kind.Spec().SecretProps, typed) && !slices.Contains(paths, leaf) {
				paths = append(paths, leaf)
			}
		}
	}
	for _, path := range paths {
		d := start(t, s)
		d.secret = map[tree.Path]bool{path: true}
		from := s.Base
		for _, v := range s.all() {
			if _, ok := tree.Get(v.Props, path); ok {
				from = v.Props
				break
			}
		}
		one, _ := tree.With(from, path, "canary-one-4f1b").(map[string]any)
		two, _ := tree.With(from, path, "canary-two-4f1b").(map[string]any)
		d.must(d.to(one), "secret at %s", path)
		d.clean(d.shownAttrs(d.live.last), "attributes", path)
		look, err := d.look(two)
		d.must(err, "secret at %s: look", path)
		for _, step := range look.Steps {
			d.clean(fmt.Sprint(step, step.Have, step.Want), "a difference", path)
		}
		if len(look.Steps) == 0 && s.Silent[path] == "" {
			t.Errorf("secret at %s changed, and no difference shows", path)
		}
		d.clean(d.shownAttrs(look.Attrs), "attributes", path)
		d.refused(two, path)
	}
}

// refused makes the write of a secret fail, and reads the error.
func (d *driver) refused(props map[string]any, path tree.Path) {
	d.t.Helper()
	if d.s.Fault == nil {
		return
	}
	fault := d.s.Fault(reconcile.Denied)
	watch := d.fresh()
	watch.failWrite, watch.fault = 1, fault
	if err := d.to(props); err != nil {
		d.clean(err.Error(), "an error", path)
		if fault != nil && !errors.Is(err, fault) {
			d.t.Errorf("secret at %s: the error loses the service's own: %v", path, err)
		}
	}
}

// shownAttrs are the attributes without those that are secret by type.
func (d *driver) shownAttrs(attrs map[string]any) string {
	shown := any(attrs)
	for _, p := range d.s.Kind.Spec().SecretAttrs {
		shown = tree.Without(shown, p)
	}
	return string(tree.Canonical(shown))
}

func (d *driver) clean(text, where string, path tree.Path) {
	d.t.Helper()
	if strings.Contains(text, "canary-") {
		d.t.Errorf("secret at %s: it is readable in %s", path, where)
	}
}

// checkBulk compares ObserveMany and List with single looks.
func checkBulk(t T, s Suite) {
	t.Helper()
	spec := s.Kind.Spec()
	d := start(t, s)
	for _, there := range []bool{false, true} {
		if there {
			d.must(d.to(s.Base), "base")
		}
		single, err := d.look(s.Base)
		d.must(err, "look")
		if spec.Bulk {
			job, err := d.job(d.live, s.Base)
			d.must(err, "job")
			looks, errs := s.Kind.LookMany(d.ctx(), []*reconcile.Job{job})
			d.must(errors.Join(errs...), "bulk look")
			if looks[0].Absent != single.Absent || looks[0].Identity != single.Identity || !tree.Equal(looks[0].Attrs, single.Attrs) || len(looks[0].Steps) != len(single.Steps) {
				t.Errorf("a bulk look shows %+v, and a single one %+v", looks[0], single)
			}
		}
		if spec.Lists {
			d.listed(single, there)
		}
	}
}

func (d *driver) listed(single reconcile.Look, there bool) {
	d.t.Helper()
	job, err := d.job(d.live, d.s.Base)
	d.must(err, "job")
	scope := reconcile.Scope{Cloud: d.w.Cloud, Place: job.Place, Dir: d.w.Dir}
	everyones, err := d.s.Kind.List(d.ctx(), scope)
	d.must(err, "list of everybody's")
	scope.Mark = reconcile.Mark{Stack: stack, Stage: stage}
	found, err := d.s.Kind.List(d.ctx(), scope)
	d.must(err, "list")
	shows := func(found []reconcile.Found) bool {
		return slices.ContainsFunc(found, func(f reconcile.Found) bool { return f.Identity == single.Identity })
	}
	if there && !shows(found) {
		d.t.Errorf("the listing does not show %s: %v", single.Identity, found)
	}
	if there && !shows(everyones) { // which a scan goes by
		d.t.Errorf("the listing of everybody's objects does not show %s: %v", single.Identity, everyones)
	}
	if !there && len(found) > 0 {
		d.t.Errorf("nothing is there, and the listing shows %v", found)
	}
}

// checkCalls compares the calls made with those that the kind says it makes. In a world that is sampled the transitions that an earlier check
// has made are not made again.
func checkCalls(t T, s Suite) {
	t.Helper()
	d := start(t, s)
	watch := d.fresh()
	d.must(d.to(s.Base), "base")
	var calls []reconcile.Call
	for _, v := range s.Variants {
		there, back := "base to "+v.Name, v.Name+" to base"
		if before, after := s.shared.callsOf(there), s.shared.callsOf(back); d.w.Sampled && before != nil && after != nil {
			calls = append(append(calls, before.calls...), after.calls...)
			continue
		}
		d.must(d.to(v.Props), "%s", there)
		d.must(d.to(s.Base), "%s", back)
	}
	d.must(d.delete(), "delete")
	documented := s.Kind.Spec().Calls
	said := map[string]bool{}
	for _, c := range append(calls, watch.calls...) {
		if name := c.String(); !slices.Contains(documented, name) && !said[name] {
			said[name] = true
			t.Errorf("call %s is not in Calls", name)
		}
	}
}
