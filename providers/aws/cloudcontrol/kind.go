package cloudcontrol

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/reconcile"
	contract "github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// object is properties by the registry's names.
type object = map[string]any

// live is a resource as it was seen.
type live struct {
	props object
	// busy says that its creation is still under way.
	busy string
}

type (
	site = contract.Site[object, object]
	diff = contract.Diff[live]
	on   = contract.Update[live]
)

// visibility is for how long the read of a service, or the tagging service, may not show a write that Cloud Control has
// finished. Services promise nothing; a minute is the longest that one of them documents (SQS).
const visibility = time.Minute

// kind is one type of the registry.
type kind struct {
	*registry.Type
	tags  *registry.Tags
	named tree.Path         // the property that holds its chosen name; "" when there is none
	name  contract.NameRule // how a name is made up; Max is 0 when none can be
}

func newKind(t *registry.Type) *kind {
	k := &kind{Type: t, tags: t.Tags}
	k.named, k.name = nameOf(t)
	return k
}

// whole is the kind as an author would write it.
func (k *kind) whole() *contract.Kind[object, live, object] {
	t := k.Type
	fields, attrs := t.Props(), t.Attrs()
	made := &contract.Kind[object, live, object]{
		Type: t.Name,
		Doc:  k.doc(),

		Observe: k.observe, Create: k.create, Compare: k.compare, Delete: k.delete,
		Attributes: func(l live) object { return l.props },
		Identity:   k.identity,
		Default:    t.Form,
		Check:      k.check,
		Status: func(l live) contract.Status {
			if l.busy != "" {
				return contract.Busy(l.busy)
			}
			return contract.Ready()
		},

		Unique: k.unique(),
		PartOf: partsOf[t.Name],

		DeleteFirst:       t.DeleteFirst,
		EventuallyVisible: visibility,
		Timeouts:          contract.Timeouts{Create: t.Create.Timeout(), Update: t.Update.Timeout(), Delete: t.Delete.Timeout()},
		Dynamic: &contract.Dynamic{
			Schema: contract.Schema{
				Props: func() []props.Field { return fields }, Attrs: func() []props.Field { return attrs },
				SecretProps: registry.Secrets(fields), SecretAttrs: registry.Secrets(attrs),
				Declare: k.declared,
			},
			Tags: contract.Tags{Moves: k.moves(), Late: k.late()},
		},
		API: contract.API{Calls: slices.Clone(calls), Permissions: permissions(t)},
	}
	switch {
	case k.tags != nil:
		made.Owner = contract.Tagged[object, live]{Tag: func(l live) contract.OwnerTag { return adopt.MarkOf(k.tagsOf(l.props)) }}
	case t.Finding() == registry.ByParent || len(t.ID) > 1:
		made.Owner = contract.OwnedByParent[object, live]{}
	}
	if k.named != "" {
		made.Named = k.naming()
	}
	if t.Stateful {
		made.HoldsData = &contract.HoldsData[object, live]{
			Now: func(live) bool { return true }, What: func(live) string { return t.Name + " keeps users' data" },
		}
	}
	return made
}

// naming says how objects are named whose name can be chosen. What a given name may be, the schema says of its property.
func (k *kind) naming() *contract.Named[object, live] {
	named := &contract.Named[object, live]{
		Given: func(want object) string { return textAt(want, k.named) }, Prop: k.named,
		Live: func(l live) string { return textAt(l.props, k.named) },
	}
	if k.name.Max > 0 {
		named.Rule = func(object) contract.NameRule { return contract.NameRule{Max: math.MaxInt, Any: true} }
		named.In = func(contract.NameRule, contract.Location) contract.NameRule { return k.name }
	}
	return named
}

var calls = []string{
	"CloudControl.CreateResource", "CloudControl.GetResource", "CloudControl.UpdateResource", "CloudControl.DeleteResource",
	"CloudControl.ListResources", "CloudControl.GetResourceRequestStatus", "Tagging.GetResources",
}

// permissions are those of Cloud Control and of the handlers, which call the service with the caller's own.
func permissions(t *registry.Type) contract.Permissions {
	p := contract.Permissions{
		Observe: []string{"cloudformation:GetResource", "cloudformation:GetResourceRequestStatus"},
		List:    []string{"cloudformation:ListResources", "tag:GetResources"},
		Create:  []string{"cloudformation:CreateResource"},
		Update:  []string{"cloudformation:UpdateResource"},
		Delete:  []string{"cloudformation:DeleteResource"},
	}
	for _, needs := range []struct {
		verb    *[]string
		handler *registry.Handler
	}{{&p.Observe, t.Read}, {&p.List, t.List}, {&p.Create, t.Create}, {&p.Update, t.Update}, {&p.Delete, t.Delete}} {
		if needs.handler != nil {
			*needs.verb = append(*needs.verb, needs.handler.Permissions...)
		}
	}
	return p
}

// doc says what the schema tells of the type as a whole.
func (k *kind) doc() string {
	says := []string{
		fmt.Sprintf("The type %s of the AWS registry, through Cloud Control, with the registry's property names: %s.", k.Name, k.page()),
		"What is not set is not managed; what was set and is no longer is removed.",
	}
	if k.tags == nil {
		says = append(says, "It carries no tags, so nothing on it says whose it is.")
	}
	switch k.Finding() {
	case registry.ByName:
		says = append(says, "Without state it is found by its name.")
	case registry.ByTags:
		says = append(says, "Without state it is found by its tags.")
	case registry.ByParent:
		says = append(says, "Without state it is found in its listing, by everything that cannot change.")
	case registry.Nowhere:
		says = append(says, "Without state it cannot be found: a second one would be created.")
	}
	if k.Update == nil {
		says = append(says, "It cannot be changed: every change replaces it.")
	}
	if k.Stateful {
		says = append(says, "It holds data: deleting or replacing it needs leave.")
	}
	return strings.Join(says, " ")
}

// page is where AWS documents the type.
func (k *kind) page() string {
	words := strings.Split(strings.ToLower(k.Name), "::")
	return "https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-" + words[1] + "-" + words[2] + ".html"
}

// insteadOf are what does the work of types that Cloud Control cannot serve, beside those that have a kind, see [aws.Service.Registry].
var insteadOf = map[string]string{
	"AWS::ElasticLoadBalancingV2::ListenerCertificate": "Certificates of AWS::ElasticLoadBalancingV2::Listener",
	"AWS::Elasticsearch::Domain":                       "AWS::OpenSearchService::Domain",
	"AWS::IAM::Policy":                                 "inline of aws.iam.Role, or Policies of AWS::IAM::User and AWS::IAM::Group",
	"AWS::IAM::UserToGroupAddition":                    "Groups of AWS::IAM::User",
	"AWS::Route53::RecordSetGroup":                     "aws.route53.Record, one for each record",
	"AWS::WAF::WebACL":                                 "AWS::WAFv2::WebACL",
	"AWS::WAFRegional::WebACL":                         "AWS::WAFv2::WebACL",
	"AWS::WAFRegional::WebACLAssociation":              "AWS::WAFv2::WebACLAssociation",
}

// noKind says why there is no kind.
func noKind(name string, err error) error {
	switch {
	case errors.Is(err, registry.ErrUnknown):
		return fmt.Errorf("%w: %w", reconcile.ErrNoKind, err)
	case errors.Is(err, registry.ErrUnserved):
		if other := insteadOf[name]; other != "" {
			return reconcile.WithHint(err, "use %s", other)
		}
		return reconcile.WithHint(err, "a stack of CloudFormation can carry it: AWS::CloudFormation::Stack with a template in a bucket (docs/aws.md)")
	}
	return err
}

// nameOf finds the property that is the name of a resource, and how a name is made up where the author may leave it out.
// A name that must be given, which is often a reference to something else, is never made up.
func nameOf(t *registry.Type) (tree.Path, contract.NameRule) {
	if t.Finding() != registry.ByName || len(t.ID) != 1 || len(t.ID[0].Steps()) != 1 {
		return "", contract.NameRule{}
	}
	name := t.ID[0]
	n := t.Follow(t.Root.Properties[string(name)])
	if !n.Is('s') {
		return "", contract.NameRule{}
	}
	if slices.Contains(t.Root.Required, string(name)) || len(n.Enum) > 0 {
		return name, contract.NameRule{}
	}
	longest := 255
	if n.Max != nil {
		longest = min(longest, int(*n.Max))
	}
	return name, spelling(n.Pattern, longest)
}

// spelling is how a name is written so that the pattern takes it; Max is 0 when no way is known.
func spelling(pattern string, longest int) contract.NameRule {
	fits := func(sample string) bool {
		ok, err := regexp.MatchString(pattern, sample)
		return err == nil && ok && len(sample) <= longest
	}
	switch {
	case fits("shop-Dev-net-Main-0a1b2c3d"):
		return contract.NameRule{Max: longest, Marks: "-"}
	case fits("shop-dev-net-main-0a1b2c3d"):
		return contract.NameRule{Max: longest, Marks: "-", Lower: true}
	}
	return contract.NameRule{}
}

// identity joins the parts of the primary identifier.
func (k *kind) identity(attrs object) string {
	parts := make([]string, len(k.ID))
	for i, p := range k.ID {
		if parts[i] = textAt(attrs, p); parts[i] == "" {
			return ""
		}
	}
	return strings.Join(parts, "|")
}

// attrsOf is the inverse of identity.
func (k *kind) attrsOf(identity string) object {
	var attrs any = object{}
	parts := strings.SplitN(identity, "|", len(k.ID))
	for i, part := range parts {
		attrs = tree.With(attrs, k.ID[i], part)
	}
	m, _ := attrs.(object)
	return m
}

// textAt is a property as text, "" when it is not there.
func textAt(m object, p tree.Path) string {
	switch v, _ := tree.Get(m, p); v := v.(type) {
	case string:
		return v
	case nil:
		return ""
	default:
		return string(tree.Canonical(v))
	}
}

// moves are the attributes that an update may change: what can be set in place, and what by its name tells of changes.
func (k *kind) moves() []string {
	var all []string
	for _, f := range k.Attrs() {
		name := string(f.Path)
		switch {
		case slices.Contains(k.ID, f.Path), f.Replaces:
		case k.ReadOnlyAt(f.Path) && !changing().MatchString(name):
		default:
			all = append(all, name)
		}
	}
	return all
}

var changing = props.Pattern(`Version|Status|State|Modified|Updated|Revision|ETag|Count`)

// declared is what would be declared of a resource with these attributes: what can be set, without owner tags.
func (k *kind) declared(attrs object) object {
	out, _ := k.settable(k.Root, "", attrs).(object)
	if k.tags == nil {
		return out
	}
	delete(out, k.tags.Property)
	own := aws.OwnTags(k.tagsOf(attrs))
	maps.DeleteFunc(own, func(key, _ string) bool { return adopt.IsMark(key) })
	if len(own) == 0 {
		return out
	}
	if k.tags.Key == "" {
		all := object{}
		for key, v := range own {
			all[key] = v
		}
		out[k.tags.Property] = all
		return out
	}
	var entries []any
	for _, key := range slices.Sorted(maps.Keys(own)) {
		entries = append(entries, k.entry(key, own[key]))
	}
	out[k.tags.Property] = entries
	return out
}

// settable is a value without what can only be read.
func (k *kind) settable(n *registry.Node, pattern tree.Path, v any) any {
	n = k.Follow(n)
	switch at := v.(type) {
	case object:
		out := object{}
		for key, e := range at {
			below, deeper := equality{k.Type}.below(n, pattern, key)
			if e != nil && !k.ReadOnlyAt(deeper) && key != requestKey {
				out[key] = k.settable(below, deeper, e)
			}
		}
		return out
	case []any:
		out := make([]any, len(at))
		for i, e := range at {
			out[i] = k.settable(n.Items, pattern.Any(), e)
		}
		return out
	}
	return v
}

// late are the properties that can be set after creation.
func (k *kind) late() []tree.Path {
	var all []tree.Path
	for name := range k.Root.Properties {
		p := tree.Path("").Key(name)
		always, sometimes := k.Replaces(p)
		if k.Update == nil || always || sometimes || k.ReadOnlyAt(p) || slices.Contains(k.Root.Required, name) || k.tags != nil && name == k.tags.Property {
			continue
		}
		all = append(all, p)
	}
	slices.Sort(all)
	return all
}

// check finds what is wrong with declared properties, tags of others included.
func (k *kind) check(declared object) error {
	errs := k.Type.Check(declared)
	if k.tags != nil {
		for _, e := range aws.CheckTags(k.authorTags(declared)) {
			e.Path = tree.Path("").Key(k.tags.Property)
			errs = append(errs, e)
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return errs
}
