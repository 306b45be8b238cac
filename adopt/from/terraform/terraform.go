// Package terraform reads states of Terraform and OpenTofu (files of version 4, and what `terraform show -json`
// prints), exports of Pulumi, and stacks and templates of CloudFormation. It makes no calls.
//
// Each object becomes a resource by a table of types (types.txt) and by functions for what a table cannot say; parts
// that have types of their own at Terraform fold into one resource. Identities in values become references, and what
// is secret a sealed secret. Everything in a state is data: no name of it becomes a path or syntax.
package terraform

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Source reads states.
type Source struct {
	// Find gives the kind of a name.
	Find func(kind string) (reconcile.Any, error)
}

// Kind is what users call it.
func (Source) Kind() string { return "terraform" }

// Largest is the size that a state may have.
func (Source) Largest() int64 { return 256 << 20 }

// Recognizes reports a state by its name or its content.
func (Source) Recognizes(f from.File) bool {
	return strings.HasSuffix(f.Name, ".tfstate") || strings.HasSuffix(f.Name, ".tfstate.backup") || looksLikeState(f.Content)
}

// Read gives the stack of a state.
func (s Source) Read(f from.File) ([]from.Stack, error) {
	d, err := s.Draft(f, from.Options{})
	if err != nil {
		return nil, err
	}
	return []from.Stack{d.Stack(nil)}, nil
}

// Draft gives what a state holds, before the cloud is read.
func (s Source) Draft(f from.File, o from.Options) (from.Draft, error) {
	st, err := parse(f.Content, o.Passphrase())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	var h head
	if err := unmarshal(f.Content, &h); err != nil || h.Version == nil || h.Encrypted != nil {
		o.State = "" // what the stack cannot read by itself
	}
	d, err := newDraft(st, s.Find, f, o)
	if err != nil {
		return nil, err
	}
	d.useConfiguration(newWritten(st, f.Sources))
	return d, nil
}

// newDraft makes a draft of a state.
func newDraft(st *state, find func(string) (reconcile.Any, error), f from.File, o from.Options) (*draft, error) {
	lines, err := table()
	if err != nil {
		return nil, err
	}
	return draftOf(st, lines, find, f, o), nil
}

// draftOf makes a draft of a state by a table.
func draftOf(st *state, lines map[string]*typeLine, find func(string) (reconcile.Any, error), f from.File, o from.Options) *draft {
	if o.Name == "" {
		o.Name = from.StackName(f.Name)
	}
	d := &draft{
		name: o.Name, stage: o.Stage, file: f, state: st, lines: lines, kinds: map[string]*kindFacts{}, find: find,
		byResource: map[string][]*object{}, parents: map[string]map[string][]*object{}, addresses: map[string]bool{},
		tried: map[string]int{}, extras: map[*instance][]*object{}, offer: o.Offer, stateFile: o.State,
	}
	d.values = slices.Clone(st.secretValues)
	d.read(o.Chosen)
	return d
}

// kindFacts are those of a kind that is asked for often.
type kindFacts struct {
	kind   reconcile.Any
	fields []props.Field
	attrs  []string
	inputs map[string]bool // the names of the props
	err    error
}

// hasInput reports whether there is a prop of a name without case.
func (k *kindFacts) hasInput(name string) bool {
	for input := range k.inputs {
		if isNorm(input, name) {
			return true
		}
	}
	return false
}

// object is a resource that will be declared, or an object that is read.
type object struct {
	inst    *instance
	line    *typeLine
	kind    string
	address string
	// suffix tells further resources of one instance from it.
	suffix string
	id     string
	props  map[string]any
	// known are values of attributes, for references.
	known map[string]string
	parts []*instance
	// scratch is what functions that fold keep for each other.
	scratch map[string]any
	notes   []from.Note
	// origins are the attributes that props are made of, by path, with the values that these made.
	origins map[string]origin
	// silent are attributes that no prop was made of, by the paths of the props that would have them.
	silent map[string]string
	// ignored are sensitive paths that are neither declared nor compared, unshown those that are not declared if the cloud has them.
	ignored, unshown []tree.Path
	look             string // why somebody must look at it
	failed           string // why it is not declared
	// settings and source are of one that is declared as of its own provider; else "".
	settings, source string
	// ofRegistry is the object as one of the registry's kind, where instead gave it a kind of its own.
	ofRegistry *object
}

// draft is a state on its way to a stack.
type draft struct {
	name  string
	stage string
	file  from.File
	state *state
	lines map[string]*typeLine
	find  func(string) (reconcile.Any, error)
	kinds map[string]*kindFacts

	objects   []*object // in the order of the state
	reads     []*object
	folds     []*instance
	values    []generated
	entries   []from.Entry
	addresses map[string]bool
	located   *places
	extras    map[*instance][]*object // further resources, by what they are of
	tried     map[string]int          // the last number that an address was tried with
	// byResource are objects by the address of the resource in the state, those that it folded into included.
	byResource map[string][]*object
	// parents are objects by type and by the values of the attributes that parts name them by.
	parents map[string]map[string][]*object
	// written is the configuration next to the state, nil where there is none.
	written *written
	// offer makes the kinds of a provider of Terraform known, nil where none are; offers are its answers. stateFile is where the stack finds the state.
	offer     func(source string) error
	offers    map[string]error
	stateFile string
}

// generated is a value that a resource without an object made.
type generated struct {
	inst   *instance
	path   string
	value  string
	secret bool
}

func (d *draft) factsOf(kind string) *kindFacts {
	if k, ok := d.kinds[kind]; ok {
		return k
	}
	k := &kindFacts{}
	d.kinds[kind] = k
	if k.kind, k.err = d.find(kind); k.err != nil {
		return k
	}
	if k.fields, k.err = k.kind.Spec().Props(); k.err != nil {
		return k
	}
	k.inputs = map[string]bool{}
	for _, f := range k.fields {
		k.inputs[lastName(f)] = true
	}
	attrs, err := k.kind.Spec().Attrs()
	if k.err = err; err != nil {
		return k
	}
	for _, f := range attrs {
		k.attrs = append(k.attrs, lastName(f))
	}
	return k
}

// read makes objects of instances.
func (d *draft) read(chosen func(string) bool) {
	for _, i := range d.state.instances {
		if chosen != nil && !i.data && !chosen(i.address()) {
			continue
		}
		d.instance(i)
	}
	for _, i := range d.folds {
		d.fold(i)
	}
	for _, o := range d.objects {
		if d.finish(o); o.failed != "" {
			continue
		}
		if d.withhold(o); o.failed != "" {
			d.entry(o.inst, from.Unmapped, o.failed)
		}
	}
	d.dropFailed()
	d.name4all()
	for _, o := range d.objects {
		d.byResource[o.inst.resource()] = append(d.byResource[o.inst.resource()], o)
		for _, part := range o.parts {
			d.byResource[part.resource()] = append(d.byResource[part.resource()], o)
		}
		d.learn(o)
	}
	for _, o := range d.reads {
		d.byResource[o.inst.resource()] = append(d.byResource[o.inst.resource()], o)
		d.learn(o)
	}
}

// dropFailed leaves out the objects that are not declared, and reports those of their parts that are in no other one.
func (d *draft) dropFailed() {
	held := map[*instance]bool{}
	for _, o := range d.objects {
		for _, part := range o.parts {
			held[part] = held[part] || o.failed == ""
		}
	}
	for _, o := range d.objects {
		for _, part := range o.parts {
			if !held[part] {
				held[part] = true
				d.entry(part, from.Unmapped, "what it is a part of is not adopted")
			}
		}
	}
	d.objects = slices.DeleteFunc(d.objects, func(o *object) bool { return o.failed != "" })
}

func (d *draft) entry(i *instance, outcome from.Outcome, text string) {
	d.entries = append(d.entries, from.Entry{Source: i.address(), Type: i.typ, ID: idOf(i), Outcome: outcome, Text: text})
}

// idOf is the id that a provider gave an object.
func idOf(i *instance) string {
	id := i.text("id")
	if len(id) > 200 {
		id = id[:200] + "…"
	}
	return id
}

func (d *draft) instance(i *instance) {
	line := d.lines[i.typ]
	switch {
	case i.data:
		d.dataSource(i, line)
	case i.deposed != "":
		d.entry(i, from.Unmapped, "deposed: it was replaced and is not deleted yet. Have its tool delete it before the resource is removed from that state: the command removes both")
	case i.flat:
		d.entry(i, from.Unmapped, "its attributes are those of Terraform 0.11: `terraform apply -refresh-only` writes them anew")
	case line == nil && strings.HasPrefix(i.typ, nativePrefix):
		d.entry(i, from.Unmapped, "the registry has no such type, or Cloud Control cannot create, read and delete it")
	case line == nil:
		d.bridged(i, "the type is in no line of the table")
	case line.noKind:
		d.bridged(i, line.reason)
	case i.void:
		d.entry(i, from.Unmapped, "the state has no attributes of it")
	case line.other && line.hook != "":
		d.generated(i, line)
	case line.other:
		d.entry(i, from.Needless, line.needless)
	case line.fold:
		d.folds = append(d.folds, i)
	case line.identity == "":
		d.several(i, line)
	default:
		d.object(i, line)
	}
}

// dataSource keeps what can be read by a kind of ours. Whether it is read is decided by what refers to it.
func (d *draft) dataSource(i *instance, line *typeLine) {
	if line == nil || line.identity == "" || line.identity == "-" || i.void {
		return
	}
	facts := d.factsOf(line.kind)
	id := filled(line.identity, i)
	if facts.err != nil || id == "" {
		return
	}
	d.reads = append(d.reads, &object{inst: i, line: line, kind: line.kind, id: id, known: map[string]string{}})
}

// generated notes the values that a resource made which is no object.
func (d *draft) generated(i *instance, line *typeLine) {
	for _, name := range line.values {
		if value := i.text(name); value != "" {
			d.values = append(d.values, generated{i, name, value, line.hook == "secret"})
		}
	}
	text := "its value stays: it is a config where it is used"
	if line.hook == "secret" {
		text = "its value stays: it is a sealed secret where it is used"
	}
	d.entry(i, from.Needless, text)
}

// several makes resources of an instance that stands for several objects.
func (d *draft) several(i *instance, line *typeLine) {
	made := hooks[line.hook](d, &object{inst: i, line: line, kind: line.kind, props: map[string]any{}}, i)
	if made != nil {
		d.entry(i, from.Unmapped, made.Error())
	}
}

// object makes a resource of an instance by its line.
func (d *draft) object(i *instance, line *typeLine) {
	o := &object{inst: i, line: line, kind: line.kind, known: map[string]string{}, scratch: map[string]any{}}
	facts := d.factsOf(line.kind)
	if facts.err != nil {
		d.entry(i, from.Unmapped, facts.err.Error())
		return
	}
	if line.identity != "-" {
		if o.id = filled(line.identity, i); o.id == "" && i.typ == "aws_lambda_event_source_mapping" {
			o.id = mappingID(i)
		}
		if o.id == "" && (!d.state.undeployed || !line.isNamed(i)) {
			d.entry(i, from.Unmapped, "the state does not have its identity, "+line.identity)
			return
		}
	}
	o.origins, o.silent = map[string]origin{}, map[string]string{}
	c := &converter{silent: o.silent, line: line, attrs: facts.attrs, explicit: d.state.awaited != nil || i.declared != nil, origins: o.origins}
	attrs := withoutSecretTags(i.attrs)
	if i.declared != nil {
		attrs = i.declared
	}
	if line.into != "" {
		o.props = c.into(facts.fields, attrs, line.into)
	} else {
		o.props = c.object(facts.fields, attrs, "", nil)
	}
	for _, path := range c.unmatched {
		o.notes = append(o.notes, from.Note{Field: i.address() + "." + path, Outcome: from.Unsupported, Text: "no prop of " + line.kind + " has it"})
	}
	if line.hook != "" {
		if err := hooks[line.hook](d, o, i); err != nil {
			d.entry(i, from.Unmapped, err.Error())
			return
		}
	}
	d.add(o)
}

// isNamed reports whether an object has a name of its own, by which it can be found.
func (l *typeLine) isNamed(i *instance) bool {
	for attr, prop := range l.rename {
		if prop == "name" && i.text(attr) != "" && !isAwaited(i.text(attr)) {
			return true
		}
	}
	return false
}

// withoutSecretTags takes the tags that the provider gave to the object, those that its configuration has for all
// included.
func withoutSecretTags(attrs map[string]any) map[string]any {
	all, ok := attrs["tags_all"].(map[string]any)
	if !ok || len(all) == 0 {
		return attrs
	}
	attrs = maps.Clone(attrs)
	attrs["tags"] = all
	return attrs
}

// into maps what has no prop of its own into one prop.
func (c *converter) into(fields []props.Field, attrs map[string]any, prop string) map[string]any {
	n := slices.IndexFunc(fields, func(f props.Field) bool { return lastName(f) == prop })
	if n < 0 {
		return map[string]any{}
	}
	top, inner := map[string]any{}, map[string]any{}
	for name, v := range attrs {
		target := c.line.rename[name]
		_, direct := fieldNamed(fields, name)
		switch {
		case target != "" && !strings.HasPrefix(target, prop+"."), target == "" && direct:
			top[name] = v
		default:
			inner[name] = v
		}
	}
	out := c.object(fields, top, "", nil)
	below := c.object(fields[n].Fields, inner, "", []string{prop})
	if have, ok := out[prop].(map[string]any); ok {
		maps.Copy(have, below)
	} else if len(below) > 0 {
		out[prop] = below
	}
	return out
}

// add takes an object, and notes by what its parts can name it.
func (d *draft) add(o *object) {
	d.objects = append(d.objects, o)
	if o.suffix != "" {
		return
	}
	byName := d.parents[o.inst.typ]
	if byName == nil {
		byName = map[string][]*object{}
		d.parents[o.inst.typ] = byName
	}
	for _, line := range d.lines {
		if line.fold && d.parentType(line.parent, o.inst.typ) {
			key := joined(o.inst, line.parentFields)
			byName[strings.Join(line.parentFields, "+")+"\x00"+key] = appendNew(byName[strings.Join(line.parentFields, "+")+"\x00"+key], o)
		}
	}
	for _, name := range []string{"arn", "id", "invoke_arn", "qualified_arn"} {
		if v := o.inst.text(name); v != "" {
			byName["\x00"+v] = appendNew(byName["\x00"+v], o)
		}
	}
}

// parentType reports whether objects of a type are the parents that a line names: Terraform renamed some types.
func (d *draft) parentType(named, typ string) bool {
	return named == typ || named == "cloudflare_workers_script" && typ == "cloudflare_worker_script" ||
		named == "aws_lb_target_group" && typ == "aws_alb_target_group"
}

func appendNew(list []*object, o *object) []*object {
	if slices.Contains(list, o) {
		return list
	}
	return append(list, o)
}

func joined(i *instance, names []string) string {
	all := make([]string, len(names))
	for n, name := range names {
		all[n] = i.text(name)
	}
	return strings.Join(all, "\x00")
}

// fold makes an instance a part of its parents.
func (d *draft) fold(i *instance) {
	line := d.lines[i.typ]
	keys := []string{joined(i, line.childFields)}
	if len(line.childFields) == 1 {
		if list, ok := i.attrs[line.childFields[0]].([]any); ok {
			keys = nil
			for _, v := range list {
				keys = append(keys, textOf(v))
			}
		}
	}
	found, reason := false, "it belongs to nothing"
	for _, key := range keys {
		parent, why := d.parentOf(line, i, key)
		if parent == nil {
			reason = why
			continue
		}
		if err := hooks[line.hook](d, parent, i); err != nil {
			reason = err.Error()
			continue
		}
		found = true
		if !slices.Contains(parent.parts, i) {
			parent.parts = append(parent.parts, i)
		}
	}
	if !found {
		d.entry(i, from.Unmapped, reason)
	}
}

// parentOf finds what an instance is a part of.
func (d *draft) parentOf(line *typeLine, i *instance, key string) (*object, string) {
	var all []*object
	for typ, byName := range d.parents {
		if !d.parentType(line.parent, typ) {
			continue
		}
		all = append(all, byName[strings.Join(line.parentFields, "+")+"\x00"+key]...)
		if len(all) == 0 && len(line.childFields) == 1 {
			all = append(all, byName["\x00"+key]...)
		}
	}
	if len(all) > 1 {
		all = slices.DeleteFunc(slices.Clone(all), func(o *object) bool { return !slices.Contains(i.depends, o.inst.resource()) })
	}
	switch len(all) {
	case 1:
		return all[0], ""
	case 0:
		return nil, fmt.Sprintf("the %s that it is a part of is not among what is adopted", line.parent)
	}
	return nil, fmt.Sprintf("several %s have the name that it is a part of", line.parent)
}

// extra declares a further resource of an instance.
func (d *draft) extra(o *object, suffix, kind, id string, declared map[string]any) {
	facts := d.factsOf(kind)
	if facts.err != nil {
		d.entry(o.inst, from.Unmapped, facts.err.Error())
		return
	}
	line := &typeLine{typ: o.inst.typ, kind: kind, identity: id}
	e := &object{
		inst: o.inst, line: line, kind: kind, suffix: suffix, id: id, props: declared, known: map[string]string{}, scratch: map[string]any{},
	}
	d.add(e)
	d.extras[o.inst] = append(d.extras[o.inst], e)
}
