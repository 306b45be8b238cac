package terraform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/athanor-dev/athanor/providers/terraform/plugin"
	"github.com/athanor-dev/athanor/providers/terraform/schema"
	"github.com/athanor-dev/athanor/providers/terraform/value"
	"github.com/athanor-dev/athanor/reconcile"
	contract "github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Prefix begins the names of all kinds: tf.random_id.
const Prefix = "tf."

type (
	attributes = map[string]any
	site       = contract.Site[attributes, attributes]
	update     = contract.Update[*live]
)

// live is an object as it was observed.
type live struct {
	seen
	key     string
	program *program
	// plans are what the provider planned for it, by what was declared: the same question has the same answer.
	plans sync.Map
}

// kind is one type of a provider.
type kind struct {
	*schema.Type
	// of is the provider, with its version, and provider what it is configured with.
	of       string
	provider *schema.Type
	packing  *packing
}

// whole is the kind as an author would write it.
func (k *kind) whole() *contract.Kind[attributes, *live, attributes] {
	declared, told := k.fields()
	return &contract.Kind[attributes, *live, attributes]{
		Type: Prefix + k.Name,
		Doc:  k.doc(),

		Observe: k.observe, Create: k.create, Compare: k.compare, Delete: k.delete,
		Attributes: func(l *live) attributes { return k.attributes(l.program, l.key, l.seen) },
		Identity:   k.packing.keyOf,
		Check:      k.check,
		Dynamic: &contract.Dynamic{
			Schema: contract.Schema{
				Props: func() []props.Field { return declared }, Attrs: func() []props.Field { return told },
				SecretProps: append(secrets(declared), k.configSecrets()...), SecretAttrs: append(secrets(told), tree.Path("").Key(keptAttribute)),
				Declare: k.declared,
			},
			Tags: k.tags(),
		},
		// Two objects of one name cannot be side by side, and names are the author's here.
		DeleteFirst: !keepsNothingOutside(k.Name),
		Timeouts:    k.timeouts(),
		Owner:       k.owner(),
		MovesFrom:   k.movesFrom,
		API:         contract.API{Calls: []string{"ReadResource", "PlanResourceChange", "ApplyResourceChange"}},
	}
}

// tags say which attributes an update may change: one that is declared, when its prop changes, and one that the provider sets, when its
// plan says so (see affected).
func (k *kind) tags() contract.Tags {
	t := contract.Tags{MovedBy: map[string][]tree.Path{}}
	for name := range k.Block.Members() {
		t.Moves = append(t.Moves, name)
		t.MovedBy[name] = []tree.Path{tree.Path("").Key(name)}
	}
	return t
}

// affected are the attributes that an update as planned may change beside what differs: those that the plan leaves open. An old SDK does
// not keep to its plans, so there each attribute that the provider sets may change.
func (k *kind) affected(plan *planned) []tree.Path {
	var all []tree.Path
	for name, m := range k.Block.Members() {
		set := m.Attribute != nil && m.Attribute.Computed
		open := !plan.state.IsNull() && !plan.state.GetAttr(name).IsWhollyKnown()
		if open || set && plan.legacy {
			all = append(all, tree.Path("").Key(name))
		}
	}
	return all
}

// The bounds of one operation. They are longer than those of the SDKs, 20 minutes where a type has no timeouts of its own: a provider that gives up
// answers what it left, and one that is given up does not. A resource's own bound may be shorter.
const (
	plainTimeout = 30 * time.Minute
	ownTimeout   = 6 * time.Hour // of types with timeouts, which have minutes to hours
)

func (k *kind) timeouts() contract.Timeouts {
	bound := plainTimeout
	if k.Block.Member("timeouts").Known() {
		bound = ownTimeout
	}
	return contract.Timeouts{Create: bound, Update: bound, Delete: bound}
}

func (k *kind) doc() string {
	text := "The type " + k.Name + " of the Terraform provider " + k.of + ", by its own names."
	if k.Block.Doc != "" {
		text += " " + strings.TrimSpace(k.Block.Doc)
	}
	return strings.TrimSuffix(text, ".") + ". " + foundBy(k.Name)
}

// config is what is declared, as the provider is asked about it.
func (k *kind) config(declared attributes, unknown value.Unknown) (cty.Value, error) {
	config, err := value.Config(k.Block, own(declared), unknown)
	if err != nil {
		return cty.NilVal, reconcile.WithClass(err, reconcile.Invalid)
	}
	return config, nil
}

// known is for what holds no references.
func known(tree.Path, any) bool { return false }

// later reports a text that holds a reference.
func later(_ tree.Path, v any) bool {
	text, ok := v.(string)
	return ok && token.Has(text)
}

// check finds what no value of the type is.
func (k *kind) check(declared attributes) error {
	if _, err := value.Config(k.Block, own(declared), later); err != nil {
		return err
	}
	return k.checkConfig(declared)
}

// through makes calls of a provider through the gates: it is one service, and what it calls in turn nobody sees.
func through(ctx context.Context, s reconcile.Place, operation string, mutates bool, do func(context.Context) error) error {
	return reconcile.Through(ctx, reconcile.Call{Service: s.Account, Operation: operation, Place: s, Mutates: mutates}, do)
}

// observe reads what state knows of, or what is looked for by an id. What is declared is validated first: a plan of what is not
// valid would be a plan all the same.
func (k *kind) observe(ctx context.Context, s site) (*live, error) {
	p, waits, err := reach(ctx, s)
	if err != nil {
		return nil, err
	}
	var config cty.Value
	var valid []byte
	if s.Want != nil {
		if config, err = k.config(s.Want, later); err != nil {
			return nil, err
		}
		if valid, err = p.validate(ctx, k.Type, config, k.validIn(s.Last)); err != nil {
			return nil, err
		}
	}
	switch {
	case waits && s.Former != nil:
		return nil, errConfigLater
	case waits && s.Last == nil && (s.Begun || s.ID != ""):
		return nil, errors.Join(errConfigLater, reconcile.ErrCannotTell)
	case waits && p.forwards(): // nothing can be asked of a provider that is not configured
		return nil, reconcile.ErrAbsent
	}
	l := &live{program: p}
	err = through(ctx, s.Location, "ReadResource", false, func(ctx context.Context) error {
		l.key, l.seen, err = k.look(ctx, p, s)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case !l.state.IsNull():
		if s.Want == nil {
			p.observed.Store(l.key, l.seen)
		} else if !reconcile.HoldsToken(s.Want) {
			l.valid = valid
		}
		if l.fresh && s.Want != nil {
			k.learnOwn(ctx, l, config)
		}
		return l, nil
	case s.Want == nil:
		return nil, reconcile.ErrAbsent
	}
	// What the provider finds wrong only when it plans is told before anything is made.
	if err := p.creatable(ctx, k.Type, s.Address, config); err != nil {
		return nil, err
	}
	k.createsUnseen(p, s)
	return nil, reconcile.ErrAbsent
}

// learnOwn notes what the provider would change of an object at once, though it has just written it and nobody declared that.
func (k *kind) learnOwn(ctx context.Context, l *live, config cty.Value) {
	plan, err := l.program.plan(ctx, k.Type, l.seen, config)
	if err != nil {
		return // the comparison asks again, and has its error
	}
	l.plans.Store(plan.asked, plan)
	l.fresh, l.own = false, nil
	for _, d := range plan.differences {
		if d.Want.IsWhollyKnown() && !isConfigured(config, d.Path) {
			if l.own == nil {
				l.own = map[tree.Path]string{}
			}
			l.own[d.At()] = tree.Digest(value.Tree(d.Have))
		}
	}
	if o, err := l.kept(k.Type); err == nil {
		l.program.latest.Store(l.key, o)
	}
}

// look finds an object: by what state keeps, by an id, or not at all.
func (k *kind) look(ctx context.Context, p *program, s site) (string, seen, error) {
	if s.Former != nil {
		return k.fromFormer(ctx, p, s.Former)
	}
	if s.Last != nil {
		have, err := k.packing.keptOf(*s.Last)
		if err != nil {
			return "", none(k.Type), err
		}
		if have != nil {
			if newer, ok := p.latest.Load(have.Key); ok {
				have.Object, _ = newer.(*object)
			}
			if have.Object == nil {
				return have.Key, none(k.Type), nil // it was deleted a moment ago: some types are found for ever
			}
			before, err := p.upgrade(ctx, k.Type, have.Object)
			if err != nil || before.state.IsNull() || isOnlyInState(k.Name) { // null: the provider refused to make it
				return have.Key, before, err
			}
			now, err := p.read(ctx, k.Type, before)
			if _, justMade := p.made.LoadAndDelete(have.Key); justMade && err == nil && now.state.IsNull() {
				now = before // the service does not show it yet: a second one would be made
			}
			return have.Key, now, err
		}
	}
	if file, address, ok := inState(s.ID); ok {
		return k.fromState(ctx, p, s, file, address)
	}
	switch {
	case isFile(k.Name) && s.Want != nil && isWhole(s.Want): // also one of a known identity: files have no importer
		found, id, err := k.fileOf(ctx, p, s)
		return cmp.Or(s.ID, keyWith(id, s.Nonce)), found, err
	case s.ID != "":
		given, _, _ := strings.Cut(s.ID, "#")
		if w := ways()[k.Name]; w.seeded && s.Want != nil && isWhole(s.Want) {
			if id, _ := filled(w.id, s.Want, p.settings.Config); id == given {
				found, err := k.readAsPlanned(ctx, p, s, given)
				return s.ID, found, err
			}
		}
		found, err := p.find(ctx, k.Type, given)
		return s.ID, found, err
	}
	key, found, searched, err := k.search(ctx, p, s)
	switch {
	case searched || err != nil:
		return key, found, err
	case s.Begun && !keepsNothingOutside(k.Name):
		err := reconcile.ErrCannotTell
		if lost, ok := p.lost.Load(s.Address); ok {
			err = reconcile.WithClass(fmt.Errorf("%w: %w", lost.(error), err), reconcile.Unknown)
		}
		return "", none(k.Type), reconcile.WithHint(err, "look for it with the provider's own tools%s: if something was made, deploy with `options: {adopt: ID}`, "+
			"and if nothing was, `athanor state rm %s` and deploy again", k.documentedID(p, s), s.Address)
	}
	return "", none(k.Type), nil
}

func (k *kind) create(ctx context.Context, s site) (attributes, error) {
	p, waits, err := reach(ctx, s)
	if err == nil && waits {
		err = errConfigLater
	}
	if err != nil {
		return nil, err
	}
	config, err := k.config(s.Want, known)
	if err != nil {
		return nil, err
	}
	valid, err := p.validate(ctx, k.Type, config, nil)
	if err != nil {
		return nil, err
	}
	plan, err := p.creation(ctx, k.Type, s.Address, config)
	if err != nil {
		return nil, err
	}
	p.spend(plan)
	plan.prior.valid = valid
	var made seen
	err = through(ctx, s.Location, "ApplyResourceChange", true, func(ctx context.Context) error {
		made, err = p.apply(ctx, plan)
		return err
	})
	if errors.Is(err, plugin.ErrCrashed) {
		p.lost.Store(s.Address, err)
	}
	var said *DiagnosticsError
	switch {
	case errors.As(err, &said): // what it left, if anything, is kept for the next run
		return nil, errors.Join(err, s.New.Store(ctx, k.attributes(p, keyFor(made, s.Nonce), made)))
	case err != nil:
		return nil, err
	case made.state.IsNull():
		return nil, fmt.Errorf("%s: the provider made nothing, and did not say why", k.Name)
	}
	made.fresh = true
	key := keyFor(made, s.Nonce)
	p.made.Store(key, nil)
	return k.attributes(p, key, made), nil
}

// keyFor is what an object is known by for life: the id that it was made with, and something that no other has.
func keyFor(made seen, nonce string) string {
	id := ""
	if !made.state.IsNull() && made.state.Type().HasAttribute("id") {
		id, _ = value.Tree(made.state.GetAttr("id")).(string)
	}
	return keyWith(id, nonce)
}

func keyWith(id, nonce string) string {
	if nonce == "" {
		return id
	}
	return id + "#" + nonce[:min(8, len(nonce))]
}

// attributes are those of an object, and what its provider is to be handed back.
func (k *kind) attributes(p *program, key string, s seen) attributes {
	attrs, _ := value.Tree(value.WithoutWriteOnly(k.Block, s.state)).(map[string]any)
	if attrs == nil {
		attrs = attributes{}
	}
	o, err := s.kept(k.Type)
	if err != nil {
		return attrs
	}
	packed, err := k.packing.pack(kept{key, o, p.configKept()})
	if err != nil {
		return attrs
	}
	attrs[keptAttribute] = packed
	return attrs
}

// compare asks the provider what it would do. It is a question to a program of this machine that the same input answers alike.
func (k *kind) compare(d *contract.Diff[*live], want attributes, l *live) {
	plan, err := k.planned(d, want, l)
	if err != nil {
		d.Fail(err)
		return
	}
	apply := contract.Set("ApplyResourceChange", func(ctx context.Context, on update) error {
		return through(ctx, on.Location, "ApplyResourceChange", true, func(ctx context.Context) error {
			made, err := l.program.apply(ctx, plan)
			made.fresh = err == nil
			if o, keptErr := made.kept(k.Type); keptErr == nil && !made.state.IsNull() {
				l.program.latest.Store(l.key, o)
			}
			return err
		})
	})
	apply.Affects = k.affected(plan)
	if paths, values := laterConfig(want); len(paths) > 0 {
		elsewhere := contract.Set("ConfigureProvider", func(context.Context, update) error { return errConfigLater })
		for i, at := range paths {
			if d.Unknown(at, values[i]) {
				reconcile.Value(d, at, values[i], nil, elsewhere)
			}
		}
	}
	for _, diff := range plan.differences {
		at := diff.At()
		w := wanted(d, want, at, diff.Want)
		if w == nil && !diff.Want.IsKnown() {
			continue // an attribute that is known after another change
		}
		if l.isOwn(diff, plan.config) {
			continue
		}
		if slices.Contains(plan.replaces, at) {
			reconcile.Fixed(d, at, w, value.Tree(diff.Have))
			continue
		}
		reconcile.Value(d, at, w, value.Tree(diff.Have), apply)
	}
}

// wanted is what is wanted at a path: what is planned, or the reference on which that depends.
func wanted(d *contract.Diff[*live], want attributes, at tree.Path, planned cty.Value) any {
	for p := at; p != "" && !planned.IsWhollyKnown(); p = p.Parent() {
		if v, ok := tree.Get(want, p); ok && d.Unknown(p, v) {
			return v
		}
	}
	return value.Tree(planned)
}

// planned is what the provider would do, asked once for each declaration.
func (k *kind) planned(d *contract.Diff[*live], want attributes, l *live) (*planned, error) {
	config, err := k.config(want, func(at tree.Path, v any) bool {
		_, text := v.(string)
		return text && d.Unknown(at, v)
	})
	if err != nil {
		return nil, err
	}
	sent, err := value.Encode(config, k.Value)
	if err != nil {
		return nil, err
	}
	if plan, ok := l.plans.Load(askedOf(k.Type, sent)); ok {
		return plan.(*planned), nil
	}
	ctx := context.Background() //nolint:forbidigo // a comparison has no caller who could stop it, and asks a program of this machine
	if _, err := l.program.validate(ctx, k.Type, config, l.valid); err != nil {
		return nil, err
	}
	plan, err := l.program.plan(ctx, k.Type, l.seen, config)
	if err == nil {
		l.plans.Store(plan.asked, plan)
	}
	return plan, err
}

func (k *kind) delete(ctx context.Context, s site) error {
	p, _, err := reach(ctx, s)
	if err != nil {
		return err
	}
	key, now, err := k.lookBeforeDeletion(ctx, p, s)
	if err != nil || now.state.IsNull() {
		return err
	}
	plan, err := p.plan(ctx, k.Type, now, cty.NullVal(k.Value))
	if err != nil {
		return err
	}
	return through(ctx, s.Location, "ApplyResourceChange", true, func(ctx context.Context) error {
		left, err := p.apply(ctx, plan)
		if err == nil && left.state.IsNull() {
			p.latest.Store(key, (*object)(nil))
		}
		return err
	})
}

// lookBeforeDeletion is what the runner observed right before it asked for the deletion, once; a second attempt reads it again.
func (k *kind) lookBeforeDeletion(ctx context.Context, p *program, s site) (string, seen, error) {
	if s.Last != nil {
		if key := k.packing.keyOf(*s.Last); key != "" {
			if now, ok := p.observed.LoadAndDelete(key); ok {
				return key, now.(seen), nil
			}
		}
	}
	return k.look(ctx, p, s)
}

// validIn is the configuration that state has as valid, nil for none.
func (k *kind) validIn(last *attributes) []byte {
	if last == nil {
		return nil
	}
	have, err := k.packing.keptOf(*last)
	if err != nil || have == nil || have.Object == nil {
		return nil // its reader says so
	}
	return have.Object.Valid
}

// declared is what would be declared of an object with these attributes.
func (k *kind) declared(attrs attributes) attributes {
	out := attributes{}
	for name, m := range k.Block.Members() {
		v, there := attrs[name]
		if a := m.Attribute; there && v != nil && m.Declarable() && (a == nil || !a.Computed) {
			out[name] = v
		}
	}
	return out
}
