package terraform

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"github.com/athanor-dev/athanor/providers/terraform/internal/tfplugin"
	"github.com/athanor-dev/athanor/providers/terraform/schema"
	"github.com/athanor-dev/athanor/providers/terraform/value"
)

// offer is what a provider planned of a creation. Something is created by it once: a provider may choose a value while it plans, such as a name that
// nobody declared.
type offer struct {
	// address is the resource for which it was planned.
	address string
	// answer is what the provider said. It is nil where something was created by it, or where references were open.
	answer *tfplugin.PlanResourceChange_Response
	// common says that the answer holds nothing but what was asked and what is open: it is the same for each resource that is declared alike.
	common bool
}

// creatable has the provider plan a creation, unless it did so before: what it finds wrong only then is told before anything is made.
func (p *program) creatable(ctx context.Context, t *schema.Type, address string, config cty.Value) error {
	sent, err := value.Encode(config, t.Value)
	if err != nil {
		return err
	}
	if _, ok := p.offers.Load(askedOf(t, sent)); ok {
		return nil
	}
	_, err = p.creation(ctx, t, address, config)
	return err
}

// creation is what the provider plans of the creation of a resource. It is asked once in a command: the plan of a creation is a function of the
// declaration alone, and a provider whose plans of one declaration differ is refused by Terraform.
func (p *program) creation(ctx context.Context, t *schema.Type, address string, config cty.Value) (*planned, error) {
	sent, err := value.Encode(config, t.Value)
	if err != nil {
		return nil, err
	}
	asked := askedOf(t, sent)
	if kept, ok := p.offers.Load(asked); ok {
		if o := kept.(*offer); o.answer != nil && (o.common || o.address == address) {
			return (&planned{t: t, prior: none(t), config: config, asked: asked}).by(o.answer)
		}
	}
	plan, err := p.plan(ctx, t, none(t), config)
	if err != nil {
		return nil, err
	}
	o := &offer{address: address}
	if config.IsWhollyKnown() {
		o.answer, o.common = plan.answer, isCommon(plan)
	}
	p.offers.LoadOrStore(asked, o)
	return plan, nil
}

// spend is called before something is created as planned: nothing else is.
func (p *program) spend(plan *planned) {
	if kept, ok := p.offers.Load(plan.asked); ok {
		if o := kept.(*offer); o.answer == plan.answer && !o.common {
			p.offers.CompareAndSwap(plan.asked, o, &offer{address: o.address})
		}
	}
}

// isCommon reports an answer in which each attribute is the proposed one, or is open.
func isCommon(plan *planned) bool {
	if plan.state.IsNull() || len(plan.answer.PlannedPrivate) > 0 || plan.identity != nil {
		return false
	}
	proposed := value.WithoutWriteOnly(plan.t.Block, value.Propose(plan.t.Block, plan.prior.state, plan.config))
	for name := range plan.t.Block.Members() {
		if v := plan.state.GetAttr(name); v.IsKnown() && !v.RawEquals(proposed.GetAttr(name)) {
			return false
		}
	}
	return true
}
