// Package terraformtest asks real Terraform providers what they say of their types by their plugin protocol: which attributes
// replace an object, which must be given, and which values they take. Tests hold kinds to the answers.
//
// It knows the calls that change nothing. It does not know what any type means.
package terraformtest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/athanor-dev/athanor/providers/terraform/internal/tfplugin"
	"github.com/athanor-dev/athanor/providers/terraform/plugin"
	"github.com/athanor-dev/athanor/providers/terraform/schema"
	"github.com/athanor-dev/athanor/providers/terraform/value"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Provider is a running provider. It is asked about plans and configurations, and reaches no cloud for them.
type Provider struct {
	t       testing.TB
	process *plugin.Process
	schema  *schema.Provider
}

// Start starts the provider of a name from $ATHANOR_PEERS, and ends it with the test. Without the variable the test is skipped.
// The provider is configured with what a schema of the provider has.
func Start(t testing.TB, name string, config map[string]any) *Provider {
	t.Helper()
	dir := os.Getenv("ATHANOR_PEERS")
	if dir == "" {
		t.Skip("$ATHANOR_PEERS names no folder with the programs of Terraform providers")
	}
	ctx, end := context.WithCancel(context.Background())
	t.Cleanup(end)
	process, err := plugin.NewStarter(ctx).Start(t.Context(), plugin.Options{Path: filepath.Join(dir, "terraform-provider-"+name)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(process.Close)
	p := &Provider{t: t, process: process}
	var schemas tfplugin.GetProviderSchema_Response
	p.call("GetProviderSchema", &tfplugin.GetProviderSchema_Request{}, &schemas)
	if p.schema, err = schema.Read(process.Protocol, &schemas, nil); err != nil {
		t.Fatal(err)
	}
	configured, err := value.Config(p.schema.Config.Block, config, func(tree.Path, any) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	var answer tfplugin.ConfigureProvider_Response
	p.call("ConfigureProvider", &tfplugin.ConfigureProvider_Request{TerraformVersion: "1.12.0", Config: p.encoded(configured, p.schema.Config.Value)}, &answer)
	p.succeeded("ConfigureProvider", answer.Diagnostics)
	return p
}

// An Attribute is what a provider says of one attribute that a program may declare.
type Attribute struct {
	// Path has * for the elements of lists, sets and maps.
	Path tree.Path
	// Required says that a program must give it.
	Required bool
	// Holder says that it is an object or a list or map of objects, whose attributes follow it.
	Holder bool
	// Refusals are the reasons for which the provider refuses words and numbers that no service takes.
	Refusals []string
}

// Type is a type of resources of a provider.
type Type struct {
	// Attributes are those that a program may declare, those of objects behind the object.
	Attributes []Attribute

	p       *Provider
	schema  *schema.Type
	samples samples
}

// Type asks about a type. It declares none of the attributes in without, such as those that name a file which the provider would read.
func (p *Provider) Type(name string, without ...tree.Path) *Type {
	p.t.Helper()
	t := p.schema.Resources[name]
	if t == nil {
		p.t.Fatalf("the provider has no %s", name)
	}
	s := samples{block: t.Block, documents: map[tree.Path]bool{}, without: without}
	for n := 0; p.learn(t, s); n++ {
		if n == 1000 {
			p.t.Fatalf("%s: no text suits the provider", name)
		}
	}
	refusals := map[tree.Path][]string{}
	for _, low := range []bool{true, false} {
		for path, reasons := range p.refusals(t, s.absurd(low)) {
			refusals[path] = append(refusals[path], reasons...)
		}
	}
	typ := &Type{p: p, schema: t, samples: s}
	for _, a := range declarable(t.Block, "") {
		if !s.leaves(a.Path) {
			a.Refusals = refusals[a.Path]
			typ.Attributes = append(typ.Attributes, a)
		}
	}
	if steady := typ.replacing(""); len(steady) > 0 {
		p.t.Errorf("%s: without any change %v would replace", name, steady)
	}
	return typ
}

// Replaces reports whether another value of one attribute, which holds no others, makes the provider plan another object. None need exist.
func (t *Type) Replaces(path tree.Path) bool {
	t.p.t.Helper()
	return len(t.replacing(path)) > 0
}

// replacing are the attributes for which the provider would replace an object of which one attribute is declared with another value.
func (t *Type) replacing(path tree.Path) (all []tree.Path) {
	t.p.t.Helper()
	answer := t.p.planOf(t.schema, t.samples.state(), t.samples.given(path))
	t.p.succeeded("PlanResourceChange of "+t.schema.Name, answer.Diagnostics)
	for _, p := range answer.RequiresReplace {
		all = append(all, value.WirePath(p))
	}
	return all
}

// learn has the provider say which texts are documents in JSON, and reports whether it learnt of one.
func (p *Provider) learn(t *schema.Type, s samples) bool {
	p.t.Helper()
	learnt := false
	for _, d := range p.planOf(t, s.state(), s.given("")).Diagnostics {
		path := pattern(value.WirePath(d.Attribute))
		if strings.Contains(d.Summary, "JSON") && !s.documents[path] {
			s.documents[path], learnt = true, true
		}
	}
	return learnt
}

func (p *Provider) planOf(t *schema.Type, prior, config cty.Value) *tfplugin.PlanResourceChange_Response {
	p.t.Helper()
	proposed, answer := value.WithoutWriteOnly(t.Block, value.Propose(t.Block, prior, config)), new(tfplugin.PlanResourceChange_Response)
	p.call("PlanResourceChange", &tfplugin.PlanResourceChange_Request{
		TypeName: t.Name, PriorState: p.encoded(prior, t.Value), ProposedNewState: p.encoded(proposed, t.Value), Config: p.encoded(config, t.Value),
	}, answer)
	return answer
}

// refusals are what the provider says against a configuration, by the attribute with * for elements.
func (p *Provider) refusals(t *schema.Type, config cty.Value) map[tree.Path][]string {
	p.t.Helper()
	var answer tfplugin.ValidateResourceConfig_Response
	p.call("ValidateResourceConfig", &tfplugin.ValidateResourceConfig_Request{TypeName: t.Name, Config: p.encoded(config, t.Value)}, &answer)
	all := map[tree.Path][]string{}
	for _, d := range answer.Diagnostics {
		if d.Attribute != nil {
			path := pattern(value.WirePath(d.Attribute))
			all[path] = append(all[path], d.Detail)
		}
	}
	return all
}

func (p *Provider) call(name string, request, answer message) {
	p.t.Helper()
	if err := p.process.Call(p.t.Context(), name, request, answer); err != nil {
		p.t.Fatalf("%s: %v", name, err)
	}
}

func (p *Provider) succeeded(call string, all []*tfplugin.Diagnostic) {
	p.t.Helper()
	for _, d := range all {
		if d.Severity == tfplugin.Diagnostic_ERROR {
			p.t.Fatalf("%s: %s: %s: %s", call, value.WirePath(d.Attribute), d.Summary, d.Detail)
		}
	}
}

func (p *Provider) encoded(v cty.Value, typ cty.Type) *tfplugin.DynamicValue {
	p.t.Helper()
	sent, err := value.Encode(v, typ)
	if err != nil {
		p.t.Fatal(err)
	}
	return sent
}
