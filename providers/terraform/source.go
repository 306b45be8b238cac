package terraform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/athanor-dev/athanor/providers/terraform/internal/tfplugin"
	"github.com/athanor-dev/athanor/providers/terraform/schema"
	"github.com/athanor-dev/athanor/providers/terraform/value"
	"github.com/athanor-dev/athanor/reconcile"
	contract "github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// dataPrefix begins the kinds of data sources: tf.data.local_file. One whose name no resource type has is tf.NAME too.
const dataPrefix = "data."

// source is one data source of a provider: a kind that is read by a query, and nothing else.
type source struct {
	*schema.Type
	name string
	of   string // the provider, with its version
	// forwarded says that some provider has its configuration from what a stack makes, or from a secret.
	forwarded bool
}

// answered is what a data source answered.
type answered struct{ state cty.Value }

var errOnlyRead = errors.New("a data source is no resource: declare it under `read:`, with a query")

func (k *source) whole() *contract.Kind[attributes, *answered, attributes] {
	asked, told := (&kind{Type: k.Type}).fields()
	if k.forwarded {
		asked = append(asked, props.Field{Path: tree.Path("").Key(configProp), Type: "object", Doc: "The configuration of the provider, from its settings."})
	}
	return &contract.Kind[attributes, *answered, attributes]{
		Type: k.name,
		Doc:  strings.TrimSpace("A data source of the Terraform provider " + k.of + ", by its own names: it is declared under read, with a query. " + k.Block.Doc),

		Observe:    k.observe,
		Check:      func(attributes) error { return errOnlyRead }, // a query is not checked, a declaration is
		Create:     func(context.Context, site) (attributes, error) { return nil, errOnlyRead },
		Compare:    func(*contract.Diff[*answered], attributes, *answered) {},
		Delete:     func(context.Context, site) error { return errOnlyRead },
		Attributes: func(a *answered) attributes { return a.attributes() },
		Identity:   func(a attributes) string { return cmp.Or(textOf(a["id"]), tree.Digest(a)) },
		Dynamic: &contract.Dynamic{
			Schema: contract.Schema{
				Props: func() []props.Field { return asked }, Attrs: func() []props.Field { return told },
				SecretProps: secrets(asked), SecretAttrs: secrets(told),
			},
		},
		API: contract.API{Calls: []string{"ReadDataSource"}},
	}
}

func textOf(v any) string {
	text, _ := v.(string)
	return text
}

func (a *answered) attributes() attributes {
	attrs, _ := value.Tree(a.state).(map[string]any)
	return attrs
}

// observe asks the provider. A source that has no answer is an error of the provider: there is no absence.
func (k *source) observe(ctx context.Context, s site) (*answered, error) {
	if s.Want == nil || s.ID != "" {
		return nil, reconcile.WithClass(errOnlyRead, reconcile.Invalid)
	}
	p, waits, err := reach(ctx, s)
	if err == nil && waits {
		err = errConfigLater
	}
	if err != nil {
		return nil, err
	}
	config, err := value.Config(k.Block, own(s.Want), known)
	if err != nil {
		return nil, reconcile.WithClass(err, reconcile.Invalid)
	}
	out := &answered{}
	err = through(ctx, s.Location, "ReadDataSource", false, func(ctx context.Context) error {
		out.state, err = p.ask(ctx, k.Type, config)
		return err
	})
	return out, err
}

// ask reads a data source.
func (p *program) ask(ctx context.Context, t *schema.Type, config cty.Value) (cty.Value, error) {
	none := cty.NullVal(t.Value)
	sent, err := value.Encode(config, t.Value)
	if err != nil {
		return none, err
	}
	var valid tfplugin.ValidateDataResourceConfig_Response
	request := &tfplugin.ValidateDataResourceConfig_Request{TypeName: t.Name, Config: sent}
	if err := p.call(ctx, "ValidateDataResourceConfig", request, &valid); err != nil {
		return none, err
	}
	if err := p.failed("ValidateDataResourceConfig", t.Name, valid.Diagnostics); err != nil {
		return none, err
	}
	var answer tfplugin.ReadDataSource_Response
	reading := &tfplugin.ReadDataSource_Request{TypeName: t.Name, Config: sent, ClientCapabilities: capabilities()}
	if err := p.call(ctx, "ReadDataSource", reading, &answer); err != nil {
		return none, err
	}
	if err := p.failed("ReadDataSource", t.Name, answer.Diagnostics); err != nil {
		return none, err
	}
	state, err := value.Decode(answer.State, t.Value)
	switch {
	case err != nil:
		return none, err
	case answer.Deferred != nil:
		return none, fmt.Errorf("%s: %w (%s)", t.Name, errDeferred, answer.Deferred.Reason)
	case state.IsNull():
		return none, fmt.Errorf("%s: %s: the provider answered nothing, and did not say why", p.label, t.Name)
	}
	return state, nil
}
