package awstest

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/smithy-go"
)

// TestAmend is about what amendments are told: everything that had its effect, and nothing else.
func TestAmend(t *testing.T) {
	const account = "111122223333"
	cloud := Start(t)
	var created, answered int
	front := Amend(t, cloud, Amendments{
		Account: account,
		Refuse: map[string]func(Fields) string{"DeleteSecret": func(in Fields) string {
			if in["SecretId"] == "kept" {
				return "InvalidRequestException"
			}
			return ""
		}},
		Edit: map[string]func(Fields){"CreateSecret": func(in Fields) { in["Description"] = "edited" }},
		Show: map[string]func(in, out Fields){
			"CreateSecret":   func(_, _ Fields) { created++ },
			"DescribeSecret": func(_, out Fields) { out["OwningService"] = "shown" },
		},
		Answer: map[string]func(Fields) (Fields, string){"ValidateResourcePolicy": func(Fields) (Fields, string) {
			answered++
			return Fields{"PolicyValidationPassed": true}, ""
		}},
	})
	client := secretsmanager.NewFromConfig(front.Observed(t))
	create := func(name string) (*secretsmanager.CreateSecretOutput, error) {
		return client.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: &name, SecretString: new("x")})
	}
	for _, fault := range []struct {
		kind    Kind
		created int
	}{{CutBefore, 0}, {Throttle, 0}, {DropAnswer, 1}} {
		created = 0
		cloud.Inject(Fault{Op: "SecretsManager.CreateSecret", Kind: fault.kind})
		if _, err := create("a-" + string(fault.kind)[:3]); err == nil || created != fault.created {
			t.Errorf("%s: %v, and told %d times, want %d", fault.kind, err, created, fault.created)
		}
	}
	out, err := create("b")
	if err != nil || created != 2 || out.ARN == nil || (*out.ARN)[:len("arn:aws:secretsmanager:us-east-1:"+account)] != "arn:aws:secretsmanager:us-east-1:"+account {
		t.Fatalf("%v, %d, %v", out, created, err)
	}
	seen, err := client.DescribeSecret(t.Context(), &secretsmanager.DescribeSecretInput{SecretId: out.ARN})
	if err != nil || *seen.Description != "edited" || *seen.OwningService != "shown" {
		t.Errorf("%+v, %v", seen, err)
	}
	validate := func() (*secretsmanager.ValidateResourcePolicyOutput, error) {
		return client.ValidateResourcePolicy(t.Context(), &secretsmanager.ValidateResourcePolicyInput{ResourcePolicy: new("{}")})
	}
	if out, err := validate(); err != nil || !out.PolicyValidationPassed || answered != 1 {
		t.Errorf("%+v, %v, asked %d times", out, err, answered)
	}
	for kind, want := range map[Kind]int{Deny: 0, DropAnswer: 1} {
		answered = 0
		cloud.Inject(Fault{Op: "SecretsManager.ValidateResourcePolicy", Kind: kind})
		if _, err := validate(); err == nil || answered != want {
			t.Errorf("%s: %v, and asked %d times, want %d", kind, err, answered, want)
		}
	}
	before := cloud.Count("*")
	_, err = client.DeleteSecret(t.Context(), &secretsmanager.DeleteSecretInput{SecretId: new("kept")})
	if api, ok := errors.AsType[smithy.APIError](err); !ok || api.ErrorCode() != "InvalidRequestException" || cloud.Count("*") != before {
		t.Errorf("refused with %v", err)
	}
}
