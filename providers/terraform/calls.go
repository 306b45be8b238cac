package terraform

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"google.golang.org/protobuf/proto"

	"github.com/athanor-dev/athanor/providers/terraform/internal/tfplugin"
	"github.com/athanor-dev/athanor/providers/terraform/schema"
	"github.com/athanor-dev/athanor/providers/terraform/value"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// terraformVersion is what a provider is told of who calls it: some refuse what they do not know.
const terraformVersion = "1.12.0"

// object is what state keeps of an object, all of it sealed: without any of it the provider's next call goes wrong.
type object struct {
	// State is the provider's state in JSON, by the schema of this version: a later version of the provider reads it.
	State   string `json:"state"`
	Version int64  `json:"version"`
	// Mark is that of the schema, which says more than its version: by the same schema a state is read as it is.
	Mark string `json:"mark,omitempty"`
	// Valid is the configuration that the provider called valid last, without a warning.
	Valid []byte `json:"valid,omitempty"`
	// Private is the provider's own, and Identity what identifies the object, as the provider sent them.
	Private         []byte `json:"private,omitempty"`
	Identity        []byte `json:"identity,omitempty"`
	IdentityVersion int64  `json:"identityVersion,omitempty"`
	// Own are digests of values, by path, that nobody declared and that the provider would change right after it wrote them. It
	// says so for ever; as long as the value is that one, it is no difference.
	Own map[tree.Path]string `json:"own,omitempty"`
	// Fresh says that it was written and not read since.
	Fresh bool `json:"fresh,omitempty"`
}

// seen is an object as a call needs it.
type seen struct {
	state    cty.Value
	private  []byte
	identity []byte
	own      map[tree.Path]string
	// valid is the configuration that was called valid for it last.
	valid []byte
	// fresh says that it was just written, and not read since.
	fresh bool
}

// DiagnosticsError is what a provider says of a call that failed.
type DiagnosticsError struct {
	// Provider is its source with its version, Type the type that the call was about, "" for its configuration.
	Provider, Type string
	Call           string
	Diagnostics    []Diagnostic
}

// Diagnostic is one message of a provider.
type Diagnostic struct {
	// Path is the attribute that it is about, "" for the whole.
	Path            tree.Path
	Summary, Detail string
}

func (d Diagnostic) String() string {
	text := d.Summary
	if d.Detail != "" && d.Detail != d.Summary {
		text += ": " + d.Detail
	}
	if d.Path != "" {
		text = string(d.Path) + ": " + text
	}
	return text
}

func (e *DiagnosticsError) Error() string {
	texts := make([]string, len(e.Diagnostics))
	for i, d := range e.Diagnostics {
		texts[i] = d.String()
	}
	return e.Provider + ": " + e.Call + ": " + strings.Join(texts, "; ")
}

// failed is what the error diagnostics of an answer say, nil without any. Warnings are kept until the end of the command.
func (p *program) failed(call, typ string, all []*tfplugin.Diagnostic) error {
	e := &DiagnosticsError{Provider: p.label, Type: typ, Call: call}
	for _, d := range all {
		one := Diagnostic{value.WirePath(d.Attribute), strings.TrimSpace(d.Summary), strings.TrimSpace(d.Detail)}
		if d.Severity == tfplugin.Diagnostic_ERROR {
			e.Diagnostics = append(e.Diagnostics, one)
			continue
		}
		of := p.label
		if typ != "" {
			of += ": " + typ
		}
		p.set.warn(of + ": " + one.String())
	}
	if e.Diagnostics == nil {
		return nil
	}
	return e
}

var errEnded = errors.New("the provider was ended")

// call makes a call of the process that runs now.
func (p *program) call(ctx context.Context, name string, request, answer proto.Message) error {
	w, err := p.entered()
	if err != nil {
		return p.ofProvider(fmt.Errorf("%s: %w", name, err))
	}
	defer w.leave()
	return p.callOf(ctx, w, name, request, answer)
}

// callOf makes a call of a process. When the run is asked to stop, the provider is asked to end its calls soon: they answer, and that is
// waited for.
func (p *program) callOf(ctx context.Context, w *worker, name string, request, answer proto.Message) error {
	if stop := reconcile.Interrupt(ctx); stop != nil {
		done := make(chan struct{})
		defer close(done)
		go func() {
			select {
			case <-stop:
				p.stop(w)
			case <-done:
			}
		}()
	}
	if err := w.Call(ctx, name, request, answer); err != nil {
		return p.ofProvider(err)
	}
	return nil
}

// capabilities are ours. An object that cannot be planned yet is an error, not one that is put off.
func capabilities() *tfplugin.ClientCapabilities {
	return &tfplugin.ClientCapabilities{WriteOnlyAttributesAllowed: true}
}

func identityOf(raw []byte) *tfplugin.ResourceIdentityData {
	if raw == nil {
		return nil
	}
	return &tfplugin.ResourceIdentityData{IdentityData: &tfplugin.DynamicValue{Msgpack: raw}}
}

// identityIn are the bytes of an identity in an answer, nil where there is none: providers send a null for that too.
func identityIn(d *tfplugin.ResourceIdentityData) []byte {
	raw := d.GetIdentityData().GetMsgpack()
	if len(raw) == 0 || len(raw) == 1 && raw[0] == 0xc0 {
		return nil
	}
	return raw
}

// configure hands a process its configuration, once.
func (p *program) configure(ctx context.Context, w *worker, config cty.Value) error {
	sent, err := value.Encode(config, p.schema.Config.Value)
	if err != nil {
		return err
	}
	var valid tfplugin.ValidateProviderConfig_Response
	if err := p.callOf(ctx, w, "ValidateProviderConfig", &tfplugin.ValidateProviderConfig_Request{Config: sent}, &valid); err != nil {
		return err
	}
	if err := p.failed("ValidateProviderConfig", "", valid.Diagnostics); err != nil {
		return err
	}
	var answer tfplugin.ConfigureProvider_Response
	request := &tfplugin.ConfigureProvider_Request{TerraformVersion: terraformVersion, Config: sent, ClientCapabilities: capabilities()}
	if err := p.callOf(ctx, w, "ConfigureProvider", request, &answer); err != nil {
		return err
	}
	return p.failed("ConfigureProvider", "", answer.Diagnostics)
}

// validate checks a configuration, which may hold unknown values. Planning one that is invalid gives a plan all the same. What was valid
// is: a provider looks at nothing else to say so.
//
// before is the configuration that state has as valid, nil for none. What is returned is the one to keep there.
func (p *program) validate(ctx context.Context, t *schema.Type, config cty.Value, before []byte) ([]byte, error) {
	sent, err := value.Encode(config, t.Value)
	if err != nil {
		return nil, err
	}
	key := askedOf(t, sent)
	if said, ok := p.valid.Load(key); ok {
		kept, _ := said.([]byte)
		return kept, nil
	}
	// A provider that says the same of the same is asked once for all runs, unless it warns.
	if slices.Equal(before, key[:questionKept]) {
		p.valid.Store(key, before)
		return before, nil
	}
	var answer tfplugin.ValidateResourceConfig_Response
	request := &tfplugin.ValidateResourceConfig_Request{TypeName: t.Name, Config: sent, ClientCapabilities: capabilities()}
	if err := p.call(ctx, "ValidateResourceConfig", request, &answer); err != nil {
		return nil, err
	}
	if err := p.failed("ValidateResourceConfig", t.Name, answer.Diagnostics); err != nil {
		return nil, err
	}
	var kept []byte
	if len(answer.Diagnostics) == 0 {
		kept = key[:questionKept]
	}
	p.valid.Store(key, kept)
	return kept, nil
}

// questionKept is how many bytes of a question state keeps.
const questionKept = 9

// question tells apart what a provider is asked of a configuration.
type question [sha256.Size]byte

func askedOf(t *schema.Type, config *tfplugin.DynamicValue) question {
	return sha256.Sum256(slices.Concat([]byte(t.Name), []byte{0}, config.GetMsgpack()))
}

// upgrade reads what state keeps. A provider is asked also about its own version: it drops what its schema lost. What was written by the very
// schema that it has now is read without it, as is what it left as it was.
func (p *program) upgrade(ctx context.Context, t *schema.Type, o *object) (seen, error) {
	if o.Version > t.Version {
		return seen{}, fmt.Errorf("%s was written by a newer version of its provider (schema %d, this one has %d)", t.Name, o.Version, t.Version)
	}
	if o.Version == t.Version && o.Mark != "" && o.Mark == t.Mark() {
		state, err := ctyjson.Unmarshal([]byte(o.State), t.Value)
		return o.with(t, state), err
	}
	key := question(sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%s", t.Name, o.Version, o.State)))
	if _, ok := p.current.Load(key); ok {
		state, err := ctyjson.Unmarshal([]byte(o.State), t.Value)
		return o.with(t, state), err
	}
	var answer tfplugin.UpgradeResourceState_Response
	request := &tfplugin.UpgradeResourceState_Request{TypeName: t.Name, Version: o.Version, RawState: &tfplugin.RawState{Json: []byte(o.State)}}
	if err := p.call(ctx, "UpgradeResourceState", request, &answer); err != nil {
		return seen{}, err
	}
	if err := p.failed("UpgradeResourceState", t.Name, answer.Diagnostics); err != nil {
		return seen{}, err
	}
	state, err := value.Decode(answer.UpgradedState, t.Value)
	if err != nil {
		return seen{}, err
	}
	up := o.with(t, state)
	if now, err := up.kept(t); err == nil && now.State == o.State && now.Version == o.Version {
		p.current.Store(key, nil)
	}
	return up, nil
}

// with is the object with a state that is of the version of the type.
func (o *object) with(t *schema.Type, state cty.Value) seen {
	identity := o.Identity
	if o.IdentityVersion != t.IdentityVersion {
		identity = nil // it is told anew by the read
	}
	return seen{state: state, private: o.Private, identity: identity, own: o.Own, valid: o.Valid, fresh: o.Fresh}
}

// kept is what state keeps of an object.
func (s seen) kept(t *schema.Type) (*object, error) {
	state, err := ctyjson.Marshal(s.state, t.Value)
	if err != nil {
		return nil, err
	}
	return &object{
		State: string(state), Version: t.Version, Mark: t.Mark(), Valid: s.valid, Private: s.private, Identity: s.identity, IdentityVersion: t.IdentityVersion,
		Own: s.own, Fresh: s.fresh,
	}, nil
}

// read observes an object. Its state is null when the provider says that there is none.
func (p *program) read(ctx context.Context, t *schema.Type, s seen) (seen, error) {
	current, err := value.Encode(s.state, t.Value)
	if err != nil {
		return s, err
	}
	var answer tfplugin.ReadResource_Response
	request := &tfplugin.ReadResource_Request{
		TypeName: t.Name, CurrentState: current, Private: s.private, ClientCapabilities: capabilities(), CurrentIdentity: identityOf(s.identity),
	}
	if err := p.call(ctx, "ReadResource", request, &answer); err != nil {
		return s, err
	}
	if err := p.failed("ReadResource", t.Name, answer.Diagnostics); err != nil {
		return s, err // a read that failed says nothing, whatever its state
	}
	return p.answered(t, answer.NewState, answer.Private, answer.NewIdentity, s)
}

// answered is an object as an answer tells it.
func (p *program) answered(t *schema.Type, state *tfplugin.DynamicValue, private []byte, identity *tfplugin.ResourceIdentityData, before seen) (seen, error) {
	v, err := value.Decode(state, t.Value)
	if err != nil {
		return before, err
	}
	out := seen{state: value.Repaired(t.Block, v), private: private, identity: identityIn(identity), own: before.own, valid: before.valid, fresh: before.fresh}
	if out.identity == nil {
		out.identity = before.identity
	}
	return out, nil
}

// planned is what a provider wants to do about one object.
type planned struct {
	t             *schema.Type
	prior         seen
	config, state cty.Value
	asked         question // of the configuration
	// answer is what the provider said, nil where it was not asked. The state as it was sent goes back to it, and nothing that was made of it.
	answer   *tfplugin.PlanResourceChange_Response
	private  []byte
	identity []byte
	// legacy says that the provider uses an SDK that does not keep to its plans.
	legacy      bool
	differences []value.Difference
	replaces    []tree.Path
}

var errDeferred = errors.New("the provider cannot plan it yet")

// plan asks what is to be done to make prior as config says. A null prior plans a creation, a null config a deletion.
func (p *program) plan(ctx context.Context, t *schema.Type, prior seen, config cty.Value) (*planned, error) {
	if config.IsNull() && !p.schema.PlansDeletion {
		return &planned{t: t, prior: prior, config: config, state: cty.NullVal(t.Value), private: prior.private}, nil
	}
	proposed := cty.NullVal(t.Value)
	if !config.IsNull() {
		proposed = value.WithoutWriteOnly(t.Block, value.Propose(t.Block, prior.state, config))
	}
	request := &tfplugin.PlanResourceChange_Request{
		TypeName: t.Name, PriorPrivate: prior.private, ClientCapabilities: capabilities(), PriorIdentity: identityOf(prior.identity),
	}
	err := encoded(t.Value, map[**tfplugin.DynamicValue]cty.Value{
		&request.PriorState: prior.state, &request.ProposedNewState: proposed, &request.Config: config,
	})
	if err != nil {
		return nil, err
	}
	answer := new(tfplugin.PlanResourceChange_Response)
	if err := p.call(ctx, "PlanResourceChange", request, answer); err != nil {
		return nil, err
	}
	if err := p.failed("PlanResourceChange", t.Name, answer.Diagnostics); err != nil {
		return nil, err
	}
	if answer.Deferred != nil {
		return nil, fmt.Errorf("%s: %w (%s)", t.Name, errDeferred, answer.Deferred.Reason)
	}
	return (&planned{t: t, prior: prior, config: config, asked: askedOf(t, request.Config)}).by(answer)
}

// by is what an answer plans.
func (pl *planned) by(answer *tfplugin.PlanResourceChange_Response) (_ *planned, err error) {
	if pl.state, err = value.Decode(answer.PlannedState, pl.t.Value); err != nil {
		return nil, err
	}
	pl.answer, pl.private, pl.identity = answer, answer.PlannedPrivate, identityIn(answer.PlannedIdentity)
	if pl.legacy = answer.LegacyTypeSystem; pl.legacy {
		pl.state = value.Repaired(pl.t.Block, pl.state)
	}
	if !pl.prior.state.IsNull() && !pl.config.IsNull() {
		pl.differences = value.Differences(pl.t.Block, pl.prior.state, pl.state, pl.legacy)
		pl.replaces = replacing(pl.differences, answer.RequiresReplace)
	}
	return pl, nil
}

// replacing are the paths of differences that nothing changes in place. Providers also name paths that do not differ, a map where one
// entry does, and an element of a set, which differs as a whole.
func replacing(differences []value.Difference, named []*tfplugin.AttributePath) []tree.Path {
	var all []tree.Path
	for _, d := range differences {
		at := d.At()
		if slices.ContainsFunc(named, func(n *tfplugin.AttributePath) bool { return at.Overlaps(value.WirePath(n)) }) {
			all = append(all, at)
		}
	}
	return all
}

func encoded(ty cty.Type, values map[**tfplugin.DynamicValue]cty.Value) (err error) {
	for into, v := range values {
		if *into, err = value.Encode(v, ty); err != nil {
			return err
		}
	}
	return nil
}

// apply does what was planned. What it returns holds whatever the error is: a provider tells also of a failure what it left.
func (p *program) apply(ctx context.Context, pl *planned) (seen, error) {
	request := &tfplugin.ApplyResourceChange_Request{TypeName: pl.t.Name, PlannedPrivate: pl.private, PlannedIdentity: identityOf(pl.identity)}
	err := encoded(pl.t.Value, map[**tfplugin.DynamicValue]cty.Value{
		&request.PriorState: pl.prior.state, &request.PlannedState: pl.state, &request.Config: pl.config,
	})
	if err != nil {
		return pl.prior, err
	}
	if pl.answer != nil {
		request.PlannedState = pl.answer.PlannedState
	}
	var answer tfplugin.ApplyResourceChange_Response
	// The answer is waited for: the object may be written while nobody listens. A caller that cancels does not want to
	// wait any more, and then the provider goes too; a time that is over ends the waiting alone.
	w, err := p.entered()
	if err != nil {
		return pl.prior, p.ofProvider(fmt.Errorf("ApplyResourceChange: %w", err))
	}
	defer w.leave()
	answering, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	defer context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			w.Kill()
			return
		}
		giveUp(fmt.Errorf("not answered in time, and perhaps still at work: %w", context.Cause(ctx)))
	})()
	if err := p.callOf(answering, w, "ApplyResourceChange", request, &answer); err != nil {
		return pl.prior, err
	}
	before := seen{state: pl.prior.state, identity: pl.identity, own: pl.prior.own, valid: pl.prior.valid}
	out, err := p.answered(pl.t, answer.NewState, answer.Private, answer.NewIdentity, before)
	if err != nil {
		return pl.prior, err
	}
	if err := p.failed("ApplyResourceChange", pl.t.Name, answer.Diagnostics); err != nil {
		return pl.unwritten(out), err
	}
	if !out.state.IsWhollyKnown() {
		out.state = cty.UnknownAsNull(out.state) // what it says is kept: the next read tells the rest
		defect := Diagnostic{Summary: "the provider answers a change that it made with values that are not known, which is its defect"}
		return out, &DiagnosticsError{p.label, pl.t.Name, "ApplyResourceChange", []Diagnostic{defect}}
	}
	return out, nil
}

// unwritten is what to keep after a change that failed. An old SDK answers with the new values whether or not they were written, so
// what was to be changed is as it was: the next read corrects what can be read, and the rest is planned again.
func (pl *planned) unwritten(got seen) seen {
	if !pl.legacy || pl.prior.state.IsNull() || got.state.IsNull() {
		return got
	}
	members := got.state.AsValueMap()
	for _, d := range pl.differences {
		if step, ok := d.Path[0].(cty.GetAttrStep); ok {
			members[step.Name] = pl.prior.state.GetAttr(step.Name)
		}
	}
	got.state = cty.ObjectVal(members)
	return got
}

// isOwn reports a difference that was there right after the provider wrote the object, and is the same now.
func (s seen) isOwn(d value.Difference, config cty.Value) bool {
	digest, ok := s.own[d.At()]
	return ok && !isConfigured(config, d.Path) && digest == tree.Digest(value.Tree(d.Have))
}

// isConfigured reports whether a configuration says something at a path, or holds it.
func isConfigured(config cty.Value, path cty.Path) bool {
	for _, step := range path {
		if config.IsNull() {
			return false
		}
		if !config.IsKnown() {
			return true
		}
		below, err := step.Apply(config)
		if err != nil {
			return false // a key that a map does not have
		}
		config = below
	}
	return !config.IsNull()
}

// find imports an object by its id and reads it. Its state is null when the provider says that there is none.
func (p *program) find(ctx context.Context, t *schema.Type, id string) (seen, error) {
	none := seen{state: cty.NullVal(t.Value)}
	var answer tfplugin.ImportResourceState_Response
	request := &tfplugin.ImportResourceState_Request{TypeName: t.Name, Id: id, ClientCapabilities: capabilities()}
	if err := p.call(ctx, "ImportResourceState", request, &answer); err != nil {
		return none, err
	}
	if err := p.failed("ImportResourceState", t.Name, answer.Diagnostics); err != nil {
		return none, err
	}
	for _, r := range answer.ImportedResources {
		if r.TypeName != t.Name {
			continue // old providers import what belongs to it as well
		}
		stub, err := p.answered(t, r.State, r.Private, r.Identity, none)
		if err != nil {
			return none, err
		}
		return p.read(ctx, t, stub)
	}
	return none, nil
}
