package providers

import (
	"errors"
	"maps"
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
	"aws.lambda.Function code.image":                  "PackageType",
	"aws.lambda.Permission functionUrlAuth":           "FunctionUrlAuthType",
	"aws.lambda.Permission invokedViaUrl":             "InvokedViaFunctionUrl",
	"aws.lambda.EventSourceMapping source":            "EventSourceArn",
	"aws.lambda.EventSourceMapping startingTimestamp": "StartingPositionTimestamp",
	"aws.lambda.EventSourceMapping servers":           "SelfManagedEventSource",
}

// notOffered are create-only properties that a kind has no prop for, with the reason.
var notOffered = map[string]string{
	"aws.s3.Bucket BucketNamePrefix":               "names are made up by the house",
	"aws.s3.Bucket BucketNamespace":                "it follows from the name",
	"aws.dynamodb.Table ImportSourceSpecification": "tables are made empty",
	"aws.lambda.Function TenancyConfig":            "functions have one tenant",
}

// disagreement is where a kind and the registry do not agree on what replaces, and what the service itself says.
type disagreement struct{ reason, url string }

// mostDisagreements bounds what may be excused.
const mostDisagreements = 10

var disagreements = map[string]disagreement{
	"aws.logs.LogGroup class": {
		"the registry has no call for it, and the service none either: a class is for life",
		"https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_CreateLogGroup.html",
	},
	"aws.dynamodb.Table localSecondaryIndexes": {
		"local indexes are made with the table, and can neither be added nor taken away",
		"https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html",
	},
	"aws.route53.HostedZone vpcs": {
		"a zone is public or private for life; from one network to another it changes in place",
		"https://docs.aws.amazon.com/Route53/latest/APIReference/API_CreateHostedZone.html",
	},
	"aws.lambda.Permission statementId": {
		"the registry makes one up; the service has no call that changes a statement",
		"https://docs.aws.amazon.com/lambda/latest/api/API_AddPermission.html",
	},
	"aws.lambda.EventSourceMapping topics": {
		"the service's update takes none",
		"https://docs.aws.amazon.com/lambda/latest/api/API_UpdateEventSourceMapping.html",
	},
	"aws.lambda.EventSourceMapping queues": {
		"the service's update takes none",
		"https://docs.aws.amazon.com/lambda/latest/api/API_UpdateEventSourceMapping.html",
	},
	"aws.lambda.EventSourceMapping consumerGroupId": {
		"it is for life, and lies in another object of the registry's",
		"https://docs.aws.amazon.com/lambda/latest/api/API_AmazonManagedKafkaEventSourceConfig.html",
	},
}

// TestReplacementsAgree holds what every kind documents to replace, which kindtest holds to what it does, to what the
// registry of AWS says cannot be changed. Kinds and their types are found, not listed.
func TestReplacementsAgree(t *testing.T) {
	t.Parallel()
	excused, compared := map[string]bool{}, 0
	for _, s := range services() {
		for _, kind := range s.Kinds {
			typ, ok := principal(s, kind.Spec().Type)
			if !ok {
				continue
			}
			if _, err := registry.Lookup(typ); errors.Is(err, registry.ErrUnserved) {
				t.Logf("%s is not compared: %v", kind.Spec().Type, err) // the table knows its name alone
				continue
			}
			compared++
			for _, clash := range clashes(t, kind, typ, excused) {
				t.Error(clash)
			}
		}
	}
	for key, d := range disagreements {
		if !excused[key] || d.reason == "" || !strings.HasPrefix(d.url, "https://docs.aws.amazon.com/") {
			t.Errorf("disagreements: %s excuses nothing any more, or has no reason and page", key)
		}
	}
	for key := range notOffered {
		if !excused[key] {
			t.Errorf("notOffered: %s is offered, or no longer create-only", key)
		}
	}
	for key := range renames {
		if !excused[key] {
			t.Errorf("renames: %s is not asked for", key)
		}
	}
	if len(disagreements) > mostDisagreements {
		t.Errorf("%d disagreements, and at most %d are excused", len(disagreements), mostDisagreements)
	}
	if compared < 14 {
		t.Errorf("only %d kinds compared", compared)
	}
	t.Logf("%d kinds agree with the registry on what replaces, with %d disagreements", compared, len(disagreements))
}

// principal is the type of the registry that a kind stands for as a whole: the one of its name, or its only one.
func principal(s aws.Service, kind string) (string, bool) {
	var types []string
	for typ, of := range s.Registry {
		if of == kind {
			types = append(types, typ)
		}
	}
	slices.Sort(types)
	for _, typ := range types {
		if strings.EqualFold(noun(typ), noun(kind)) {
			return typ, true
		}
	}
	if len(types) != 1 {
		return "", false
	}
	return types[0], true
}

// noun is the last word of the name of a kind or a type.
func noun(name string) string {
	return name[max(strings.LastIndexByte(name, '.'), strings.LastIndexByte(name, ':'))+1:]
}

// clashes are where a kind and its type do not agree. What a table excuses is noted.
func clashes(t *testing.T, kind reconcile.Any, typ string, excused map[string]bool) (all []string) {
	t.Helper()
	spec := kind.Spec()
	reg, err := registry.Lookup(typ)
	if err != nil {
		t.Fatalf("%s: %v", spec.Type, err)
	}
	fields, err := spec.Props()
	if err != nil {
		t.Fatal(err)
	}
	m := matching{kind: spec.Type, nouns: []string{noun(spec.Type), noun(typ)}, used: excused}
	ours := map[tree.Path]bool{} // what replaces, by the registry's path
	for _, f := range m.replacing(fields) {
		path, ok := m.property(f.Path, reg.Props())
		key := spec.Type + " " + string(f.Path)
		switch always, sometimes := reg.Replaces(path); {
		case ok && (always || sometimes):
			ours[path] = true
		case disagreements[key].reason != "":
			excused[key] = true
		default:
			all = append(all, key+" replaces, and "+typ+" "+says(path))
		}
	}
	for _, path := range reg.CreateOnly {
		within := func(our tree.Path) bool { return path.Within(our) }
		key := spec.Type + " " + string(path)
		switch field, ok := m.field(path, fields); {
		case slices.ContainsFunc(slices.Collect(maps.Keys(ours)), within):
		case !ok && notOffered[key] != "":
			excused[key] = true
		case !ok:
			all = append(all, typ+" "+string(path)+" replaces, and no prop of "+spec.Type+" is found for it: see renames and notOffered")
		case disagreements[spec.Type+" "+string(field.Path)].reason != "":
			excused[spec.Type+" "+string(field.Path)] = true
		default:
			all = append(all, typ+" "+string(path)+" replaces, and "+spec.Type+" "+string(field.Path)+" does not")
		}
	}
	return all
}

func says(path tree.Path) string {
	if path == "" {
		return "has no such property"
	}
	return string(path) + " can be changed"
}

// matching finds the same prop by both names.
type matching struct {
	kind  string
	nouns []string
	used  map[string]bool
}

// replacing are the props that are documented to replace, at any depth.
func (m matching) replacing(fields []props.Field) (all []props.Field) {
	for _, f := range fields {
		if f.Replaces {
			all = append(all, f)
		} else {
			all = append(all, m.replacing(f.Fields)...)
		}
	}
	return all
}

// property is the path of the registry for a prop.
func (m matching) property(prop tree.Path, in []props.Field) (tree.Path, bool) {
	if name, ok := renames[m.kind+" "+string(prop)]; ok {
		m.used[m.kind+" "+string(prop)] = true
		return tree.Path(name), true
	}
	f, ok := m.descend(prop, in, func(property, prop string) bool { return m.same(prop, property) })
	return f.Path, ok
}

// field is the prop for a path of the registry.
func (m matching) field(path tree.Path, in []props.Field) (props.Field, bool) {
	for _, f := range in {
		if key := m.kind + " " + string(f.Path); renames[key] == string(path) {
			m.used[key] = true
			return f, true
		}
	}
	return m.descend(path, in, m.same)
}

// descend finds the field that a path leads to by names that mean the same.
func (m matching) descend(path tree.Path, in []props.Field, same func(field, step string) bool) (found props.Field, ok bool) {
	for _, step := range path.Steps() {
		if step.Any {
			continue
		}
		i := slices.IndexFunc(in, func(f props.Field) bool { return same(last(f.Path), step.Key) })
		if i < 0 {
			return props.Field{}, false
		}
		found, in, ok = in[i], in[i].Fields, true
	}
	return found, ok
}

func last(p tree.Path) string {
	steps := p.Steps()
	return steps[len(steps)-1].Key
}

// same reports whether a prop and a property have one name: but for the case, for the name of the object itself, which
// the registry likes to repeat, and for what the value is.
func (m matching) same(prop, property string) bool {
	for _, noun := range append(m.nouns, "") {
		for _, what := range []string{"", "Arn", "Name", "Id"} {
			if strings.EqualFold(noun+prop+what, property) || strings.EqualFold(prop+noun+what, property) {
				return true
			}
		}
	}
	return false
}

// TestAgreementCanFail: a kind and a type that do not agree are told in every way in which they can differ.
func TestAgreementCanFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, typ, want string }{
		{"aws.iam.Role", "AWS::IAM::ManagedPolicy", "AWS::IAM::ManagedPolicy Description replaces, and aws.iam.Role description does not"},
		{"aws.iam.Policy", "AWS::IAM::Role", "aws.iam.Policy description replaces, and AWS::IAM::Role Description can be changed"},
		{"aws.sns.Topic", "AWS::SNS::Subscription", "AWS::SNS::Subscription Protocol replaces, and no prop of aws.sns.Topic is found for it: see renames and notOffered"},
		{"aws.sns.Subscription", "AWS::SNS::Topic", "aws.sns.Subscription protocol replaces, and AWS::SNS::Topic has no such property"},
	} {
		if have := clashes(t, kindNamed(t, c.kind), c.typ, map[string]bool{}); !slices.Contains(have, c.want) {
			t.Errorf("%s and %s: %q, want %q in it", c.kind, c.typ, have, c.want)
		}
	}
}

func kindNamed(t *testing.T, name string) reconcile.Any {
	t.Helper()
	for _, s := range services() {
		for _, kind := range s.Kinds {
			if kind.Spec().Type == name {
				return kind
			}
		}
	}
	t.Fatalf("no %s", name)
	return nil
}

// TestReadsMayBeBehind: every kind of AWS allows for reads that are half a minute behind.
func TestReadsMayBeBehind(t *testing.T) {
	t.Parallel()
	n := 0
	for _, s := range services() {
		for _, k := range s.Kinds {
			if spec := k.Spec(); !spec.Recorded && spec.Visibility < aws.EventuallyVisible {
				t.Errorf("%s believes an absence after %v", spec.Type, spec.Visibility)
			}
			n++
		}
	}
	if n < 20 {
		t.Errorf("%d kinds", n)
	}
}
