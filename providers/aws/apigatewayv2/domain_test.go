package apigatewayv2

import (
	"errors"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"
	"github.com/aws/smithy-go"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// quickDomain is the kind with a short bound of visibility.
func quickDomain() reconcile.Any { return kindtest.Quick(domainKind, 300*time.Millisecond) }

func served() obj { return obj{"name": "api.example.com", "certificateArn": certificate("one")} }

// trusting asks callers for certificates.
func trusting(p obj) obj {
	p["mutualTls"] = obj{"truststoreUri": "s3://trust/first.pem"}
	return p
}

func domainSuite() kindtest.Suite {
	ws := awstest.Worlds[*world]{}
	return kindtest.Suite{
		Kind:  quickDomain(),
		World: ws.Make(newWorld, (*world).domains),
		Base:  trusting(served()),
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{
				"name": "api.example.com", "certificateArn": certificate("two"), "ownershipVerificationCertificateArn": certificate("public"),
				"securityPolicy": "TLS_1_0", "ipAddressType": "dualstack", "routingMode": "ROUTING_RULE_THEN_API_MAPPING",
				"mutualTls": obj{"truststoreUri": "s3://trust/store.pem", "truststoreVersion": "3"}, "tags": obj{"team": "web"},
			}},
			{Name: "shown", Props: obj{
				"name": "api.example.com", "certificateArn": certificate("one"), "mutualTls": obj{"truststoreUri": "s3://trust/first.pem"},
				"ownershipVerificationCertificateArn": certificate("public"), "tags": obj{"team": "api"},
			}},
			{Name: "elsewhere", Props: obj{"name": "*.example.com", "certificateArn": certificate("one")}},
		},
		Hands:  domainHands(ws),
		Others: map[tree.Path][]any{"mutualTls.truststoreUri": {"s3://trust/by-hand.pem"}},
		Steady: map[tree.Path]string{"name": "a domain keeps its name"},
	}
}

func TestDomainName(t *testing.T) {
	s := domainSuite().Shared()
	for _, c := range kindtest.Checks() {
		t.Run(c.Name, func(t *testing.T) {
			c.Do(t, s)
		})
	}
}

func (w *world) settledDomain(t *testing.T) reconcile.Outcome {
	t.Helper()
	return kindtest.Settled(t, quickDomain(), w.Job(t, quickDomain(), served(), nil))
}

func TestDomainFaults(t *testing.T) {
	awstest.Faults(t, newWorld, quickDomain(), served(), (*world).domains, awstest.Broken{
		{Name: "the answer of the creation is lost", Fault: awstest.Fault{When: on("POST", "/domainnames"), Kind: awstest.DropAnswer}, Wrote: 1},
		{Name: "the creation never arrives", Fault: awstest.Fault{When: on("POST", "/domainnames"), Kind: awstest.CutBefore}, Wrote: 2},
		{Name: "the creation is throttled", Fault: awstest.Fault{When: on("POST", "/domainnames"), Kind: awstest.Throttle}, Wrote: 2},
		{Name: "reads are throttled", Fault: awstest.Fault{When: on("GET", "/domainnames/api.example.com"), Kind: awstest.Throttle, Times: 2}, Wrote: 1},
		{Name: "it is shown late", Fault: awstest.Fault{When: on("GET", "/domainnames/api.example.com"), Kind: awstest.Stale, Nth: 2}, Wrote: 1},
	})
}

// TestDomainInUse is about a domain that somebody's API is served at: deleting it would cut that off.
func TestDomainInUse(t *testing.T) {
	w := newWorld(t)
	out := w.settledDomain(t)
	api := w.Settled(t, one(), nil)
	mapped, err := w.Others.CreateApiMapping(t.Context(), &sdk.CreateApiMappingInput{
		DomainName: new("api.example.com"), ApiMappingKey: new("theirs"), ApiId: &api.Identity, Stage: new("$default"),
	})
	if err != nil {
		t.Fatal(err)
	}
	kind := quickDomain()
	if err := kind.Delete(t.Context(), w.Job(t, kind, nil, &out)); !errors.Is(err, errMapped) || len(w.domains(t)) != 1 {
		t.Errorf("deleting a domain that is mapped: %v", err)
	}
	if _, err := w.Others.DeleteApiMapping(t.Context(), &sdk.DeleteApiMappingInput{DomainName: new("api.example.com"), ApiMappingId: mapped.ApiMappingId}); err != nil {
		t.Fatal(err)
	}
	if err := kind.Delete(t.Context(), w.Job(t, kind, nil, &out)); err != nil || len(w.domains(t)) != 0 {
		t.Errorf("deleting one that is not: %v", err)
	}
}

// TestDomainStates is about what API Gateway says of a domain that it is not done with.
func TestDomainStates(t *testing.T) {
	w := newWorld(t)
	out := w.settledDomain(t)
	look := func(status types.DomainNameStatus, endpoint string) (reconcile.Look, error) {
		w.like.mu.Lock()
		c := w.like.domains["api.example.com"]["domainNameConfigurations"].([]any)[0].(obj)
		c["domainNameStatus"], c["endpointType"] = string(status), endpoint
		w.like.mu.Unlock()
		return quickDomain().Look(t.Context(), w.Job(t, quickDomain(), served(), &out))
	}
	if have, err := look(types.DomainNameStatusUpdating, "REGIONAL"); err != nil || have.Busy == "" || have.Waiting != "" {
		t.Errorf("while it is changed: %+v, %v", have, err)
	}
	for _, status := range []types.DomainNameStatus{types.DomainNameStatusPendingCertificateReimport, types.DomainNameStatusPendingOwnershipVerification} {
		if have, err := look(status, "REGIONAL"); err != nil || have.Waiting == "" || have.Busy != "" {
			t.Errorf("%s: %+v, %v", status, have, err)
		}
	}
	if _, err := look(types.DomainNameStatusAvailable, "EDGE"); !errors.Is(err, errEdge) {
		t.Errorf("a domain for the edge: %v", err)
	}
}

func TestTaken(t *testing.T) {
	refused := &smithy.GenericAPIError{Code: "ConflictException", Message: "The domain name you provided already exists."}
	if err := taken(refused, time.Second); !errors.Is(err, error(refused)) {
		t.Errorf("at first it is looked at again: %v", err)
	}
	if err := taken(refused, time.Minute); !errors.Is(err, errTaken) || errors.Is(err, error(refused)) {
		t.Errorf("after a minute it is somebody else's: %v", err)
	}
	other := &smithy.GenericAPIError{Code: "BadRequestException"}
	if err := taken(other, time.Minute); !errors.Is(err, error(other)) {
		t.Errorf("another refusal: %v", err)
	}
}

func TestDomainNames(t *testing.T) {
	cases := kindtest.Refusals{
		{Props: obj{"name": "a.example.com", "certificateArn": "c", "mutualTls": obj{"truststoreUri": "https://example.com/store.pem"}}, Problem: "an object of S3"},
		{Props: obj{"name": "a.example.com", "certificateArn": "c", "ownershipVerificationCertificateArn": "c"}, Problem: "goes with mutualTls"},
	}
	for name, problem := range map[string]string{
		"api.example.com": "", "*.example.com": "", "a-1.example.co": "",
		"API.example.com": "lower case", "example": "lower case", "https://example.com": "lower case", "-a.example.com": "lower case",
		"a.*.example.com": "lower case", "": "required",
	} {
		cases = append(cases, kindtest.Refusals{{Props: obj{"name": name, "certificateArn": "c"}, Problem: problem}}...)
	}
	kindtest.Refuses(t, quickDomain(), cases)
}
