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
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// notOffered are create-only properties that a kind has no prop for, with the reason.
var notOffered = map[string]string{
	"aws.s3.Bucket BucketNamePrefix":                  "names are made up by the house",
	"aws.s3.Bucket BucketNamespace":                   "it follows from the name",
	"aws.dynamodb.Table ImportSourceSpecification":    "tables are made empty",
	"aws.lambda.Function TenancyConfig":               "functions have one tenant",
	"aws.acm.Certificate CertificateAuthorityArn":     "certificates are public",
	"aws.acm.Certificate CertificateExport":           "certificates stay with AWS",
	"aws.apigatewayv2.HTTPAPI ProtocolType":           "it is always HTTP",
	"aws.ecs.Service Role":                            "it is the role of classic load balancers",
	"aws.ecs.Service SchedulingStrategy":              "it is always REPLICA: Fargate has no other",
	"aws.lambda.Version CodeSha256":                   "what is published is what was deployed",
	"aws.lambda.Version Description":                  "a version follows its function",
	"aws.lambda.Version ProvisionedConcurrencyConfig": "aliases have it",
	"aws.lambda.Version RuntimePolicy":                "a version follows its function",
}

// disagreement is where a kind and the registry do not agree on what replaces, and what the service itself says.
type disagreement struct{ reason, url string }

// mostDisagreements bounds what may be excused.
const mostDisagreements = 25

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
	"aws.acm.Certificate hostedZoneId": {
		"the registry writes the records with the certificate; here they are written by themselves, and the certificate stays",
		"https://docs.aws.amazon.com/acm/latest/userguide/dns-validation.html",
	},
	"aws.cognito.UserPool usernameAttributes": {
		"the registry does not say what a pool keeps for life", "https://docs.aws.amazon.com/cognito/latest/developerguide/cognito-user-pools-settings.html",
	},
	"aws.cognito.UserPool aliasAttributes": {
		"the registry does not say what a pool keeps for life", "https://docs.aws.amazon.com/cognito/latest/developerguide/cognito-user-pools-settings.html",
	},
	"aws.cognito.UserPool caseSensitive": {
		"the registry does not say what a pool keeps for life",
		"https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_UsernameConfigurationType.html",
	},
	"aws.cognito.UserPool requiredAttributes": {
		"the registry does not say what a pool keeps for life", "https://docs.aws.amazon.com/cognito/latest/developerguide/user-pool-settings-attributes.html",
	},
	"aws.kms.Key usage": {
		"the registry refuses the change, and the service has no call for it", "https://docs.aws.amazon.com/kms/latest/APIReference/API_CreateKey.html",
	},
	"aws.kms.Key spec": {
		"the registry refuses the change, and the service has no call for it", "https://docs.aws.amazon.com/kms/latest/APIReference/API_CreateKey.html",
	},
	"aws.kms.Key multiRegion": {
		"the registry refuses the change, and the service has no call for it", "https://docs.aws.amazon.com/kms/latest/APIReference/API_CreateKey.html",
	},
	"aws.lambda.Layer *": {
		"the registry's type is one version of a layer; the kind is the layer, of which a change publishes another version",
		"https://docs.aws.amazon.com/lambda/latest/api/API_PublishLayerVersion.html",
	},
	"aws.scheduler.Schedule group": {
		"UpdateSchedule finds the schedule by its group", "https://docs.aws.amazon.com/scheduler/latest/APIReference/API_UpdateSchedule.html",
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
				if ofNoType[kind.Spec().Type] == "" {
					t.Errorf("%s is held to no type of the registry: see standFor and ofNoType", kind.Spec().Type)
				}
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
	if compared < 30 {
		t.Errorf("only %d kinds compared", compared)
	}
	t.Logf("%d kinds agree with the registry on what replaces, with %d disagreements", compared, len(disagreements))
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
	m := matchingOf(t, kind, reg, excused)
	ours := map[tree.Path]bool{} // what replaces, by the registry's path
	for _, f := range m.replacing(m.fields) {
		path, ok := m.found[f.Path]
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
		within := func(our tree.Path) bool { return path.Within(our) || our.Within(path) }
		key := spec.Type + " " + string(path)
		switch prop := m.propOf(path); {
		case slices.ContainsFunc(slices.Collect(maps.Keys(ours)), within):
		case prop == "" && notOffered[key] != "":
			excused[key] = true
		case prop == "":
			all = append(all, typ+" "+string(path)+" replaces, and no prop of "+spec.Type+" is found for it: see renames and notOffered")
		case disagreements[spec.Type+" "+string(prop)].reason != "":
			excused[spec.Type+" "+string(prop)] = true
		case disagreements[spec.Type+" *"].reason != "":
			excused[spec.Type+" *"] = true
		default:
			all = append(all, typ+" "+string(path)+" replaces, and "+spec.Type+" "+string(prop)+" does not")
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
