package providers

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// renames are the properties of the registry for props whose names do not lead there by themselves, by kind and prop.
var renames = map[string]string{
	"aws.apigatewayv2.DomainName name":                "DomainName",
	"aws.dynamodb.Table partitionKey":                 "KeySchema",
	"aws.dynamodb.Table sortKey":                      "KeySchema",
	"aws.acm.Certificate alternativeNames":            "SubjectAlternativeNames",
	"aws.acm.Certificate hostedZoneId":                "DomainValidationOptions.*.HostedZoneId",
	"aws.cognito.UserPool requiredAttributes":         "Schema",
	"aws.ecs.Service role":                            "TaskDefinition", // the registry's Role is that of classic load balancers
	"aws.lambda.Layer code":                           "Content",
	"aws.s3.Bucket logging.bucket":                    "LoggingConfiguration.DestinationBucketName",
	"aws.lambda.Function code.image":                  "PackageType",
	"aws.lambda.Permission functionUrlAuth":           "FunctionUrlAuthType",
	"aws.lambda.Permission invokedViaUrl":             "InvokedViaFunctionUrl",
	"aws.lambda.EventSourceMapping source":            "EventSourceArn",
	"aws.lambda.EventSourceMapping startingTimestamp": "StartingPositionTimestamp",
	"aws.lambda.EventSourceMapping servers":           "SelfManagedEventSource",
}

// standFor are the types of the registry that kinds are held to whose services do not name them: the registry's own kind stays beside
// them.
var standFor = map[string]string{
	"aws.cognito.UserPoolClient":         "AWS::Cognito::UserPoolClient",
	"aws.cloudfront.OriginAccessControl": "AWS::CloudFront::OriginAccessControl",
	"aws.lambda.Alias":                   "AWS::Lambda::Alias",
	"aws.lambda.Layer":                   "AWS::Lambda::LayerVersion",
	"aws.lambda.Version":                 "AWS::Lambda::Version",
	"aws.scheduler.Schedule":             "AWS::Scheduler::Schedule",
	"aws.apigatewayv2.HTTPAPI":           "AWS::ApiGatewayV2::Api",
}

// ofNoType are the kinds whose objects no type of the registry stands for, with the reason.
var ofNoType = map[string]string{
	"aws.Website":   "it is made of resources of other kinds",
	"aws.ecr.Image": "the registry has no type for the images of a repository",
	"aws.s3.Object": "the registry has no type for the objects of a bucket",
}

// inside are the properties that hold what the props of a kind say, where the registry has one for all of them.
var inside = map[string]tree.Path{
	"aws.cloudfront.Distribution":        "DistributionConfig",
	"aws.cloudfront.OriginAccessControl": "OriginAccessControlConfig",
}

// principal is the type of the registry that a kind stands for as a whole: the one of its name, or its only one.
func principal(s aws.Service, kind string) (string, bool) {
	var types []string
	for _, table := range []map[string]string{s.Registry, s.Also} {
		for _, typ := range slices.Sorted(maps.Keys(table)) {
			if table[typ] == kind {
				types = append(types, typ)
			}
		}
	}
	for _, typ := range types {
		if strings.EqualFold(noun(typ), noun(kind)) {
			return typ, true
		}
	}
	if len(types) != 1 {
		typ, ok := standFor[kind]
		return typ, ok
	}
	return types[0], true
}

// matching finds the properties of a type of the registry that the props of a kind stand for.
type matching struct {
	kind   string
	nouns  []string
	reg    *registry.Type
	fields []props.Field
	tags   map[tree.Path]reflect.StructTag
	// found are the registry's paths, by the paths of props.
	found map[tree.Path]tree.Path
	used  map[string]bool // keys of renames
}

// matchingOf matches the props of a kind, at any depth. Names of renames that it uses are noted.
func matchingOf(t *testing.T, kind reconcile.Any, reg *registry.Type, used map[string]bool) *matching {
	t.Helper()
	spec := kind.Spec()
	fields, err := spec.Props()
	if err != nil {
		t.Fatal(err)
	}
	m := &matching{
		kind: spec.Type, nouns: []string{noun(spec.Type), noun(reg.Name), ""}, reg: reg, fields: fields,
		tags: map[tree.Path]reflect.StructTag{}, found: map[tree.Path]tree.Path{}, used: used,
	}
	if err := m.readTags(reflect.TypeOf(spec.NewProps()), ""); err != nil {
		t.Fatal(err)
	}
	m.match(fields, inside[spec.Type])
	return m
}

// readTags notes the tags of each prop below a path.
func (m *matching) readTags(typ reflect.Type, at tree.Path) error {
	for {
		switch typ.Kind() {
		case reflect.Slice, reflect.Map:
			at = at.Any()
		case reflect.Pointer:
		case reflect.Struct:
			all, err := props.Tags(typ)
			if err != nil {
				return nil // not of ours: a token, or a time
			}
			for _, tag := range all {
				m.tags[at.Key(tag.Name)] = tag.Field.Tag
				if err := m.readTags(tag.Field.Type, at.Key(tag.Name)); err != nil {
					return err
				}
			}
			return nil
		default:
			return nil
		}
		typ = typ.Elem()
	}
}

// match matches fields with the properties below a path of the registry.
func (m *matching) match(fields []props.Field, at tree.Path) {
	for _, f := range fields {
		below := at
		if path, ok := m.property(f, at); ok {
			m.found[f.Path], below = path, path
		}
		m.match(f.Fields, below)
	}
}

// property is the path of the registry for a prop: the one that renames has, that of the service's name, or that of the prop's.
func (m *matching) property(f props.Field, at tree.Path) (tree.Path, bool) {
	if name, ok := renames[m.kind+" "+string(f.Path)]; ok {
		m.used[m.kind+" "+string(f.Path)] = true
		return tree.Path(name), true
	}
	wire, _, _ := strings.Cut(m.tags[f.Path].Get("wire"), ",")
	if wire != "" && wire != "-" {
		if path, ok := m.follow(at, strings.Split(strings.TrimSuffix(wire, "*"), "."), strings.EqualFold); ok {
			return path, true
		}
	}
	return m.follow(at, []string{last(f.Path)}, m.same)
}

// follow goes down from a path of the registry by names.
func (m *matching) follow(at tree.Path, names []string, same func(name, property string) bool) (tree.Path, bool) {
	n, at := m.object(at)
	for i, name := range names {
		if i > 0 {
			n, at = m.object(at)
		}
		var found string
		for property := range n.Properties {
			if same(name, property) && !m.reg.ReadOnlyAt(at.Key(property)) && (found == "" || property < found) {
				found = property
			}
		}
		if found == "" {
			return "", false
		}
		at = at.Key(found)
	}
	return at, true
}

// node is the shape at a path of the registry.
func (m *matching) node(at tree.Path) *registry.Node {
	n := m.reg.Follow(m.reg.Root)
	for _, step := range at.Steps() {
		switch {
		case !step.Any:
			n = n.Properties[step.Key]
		case n.Items != nil:
			n = n.Items
		default:
			n = n.Values
		}
		n = m.reg.Follow(n)
	}
	return n
}

// object is the shape at a path of the registry, or of what a list or map there holds.
func (m *matching) object(at tree.Path) (*registry.Node, tree.Path) {
	n := m.node(at)
	for n.Items != nil || n.Values != nil {
		at = at.Any()
		n = m.node(at)
	}
	return n, at
}

// propOf is the prop that was matched with a property, or that is within it.
func (m *matching) propOf(path tree.Path) tree.Path {
	var all []tree.Path
	for prop, property := range m.found {
		if property.Within(path) {
			all = append(all, prop)
		}
	}
	if slices.Sort(all); len(all) == 0 {
		return ""
	}
	return all[0]
}

// replacing are the props that are documented to replace, at any depth.
func (m *matching) replacing(fields []props.Field) (all []props.Field) {
	for _, f := range fields {
		if f.Replaces {
			all = append(all, f)
		} else {
			all = append(all, m.replacing(f.Fields)...)
		}
	}
	return all
}

func last(p tree.Path) string {
	steps := p.Steps()
	return steps[len(steps)-1].Key
}

// same reports whether a prop and a property have one name: but for the case, for the name of the object itself, which
// the registry likes to repeat, and for what the value is.
func (m *matching) same(prop, property string) bool {
	for _, noun := range m.nouns {
		for _, what := range []string{"", "Arn", "Name", "Id"} {
			if strings.EqualFold(noun+prop+what, property) || strings.EqualFold(prop+noun+what, property) {
				return true
			}
		}
	}
	return false
}
