package terraform

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt/from"
)

// TestOutputs reads the outputs of states, sensitive ones as such. A state of Pulumi whose resources have secrets needs no passphrase
// for outputs that are plain.
func TestOutputs(t *testing.T) {
	const state = `{"version": 4, "terraform_version": "1.9.5", "lineage": "x", "outputs": {
		"vpc_id": {"value": "vpc-1", "type": "string"}, "word": {"value": "s3cret-word", "type": "string", "sensitive": true},
		"sizes": {"value": [1, 2.5], "type": ["tuple", ["number", "number"]]}, "none": {"value": null, "type": "string"}}, "resources": []}`
	have, err := Outputs("terraform", []byte(state), from.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Output{"vpc_id": {Value: "vpc-1"}, "word": {"s3cret-word", true}, "sizes": {Value: []any{int64(1), 2.5}}}
	if !reflect.DeepEqual(have, want) {
		t.Errorf("%+v, want %+v", have, want)
	}
	const export = `{"version": 3, "deployment": {"manifest": {"version": "v3"}, "secrets_providers": {"type": "passphrase", "state": {"salt": "x"}}, "resources": [
		{"urn": "urn:pulumi:prod::shop::pulumi:pulumi:Stack::shop-prod", "type": "pulumi:pulumi:Stack", "outputs": {"vpcId": "vpc-1"%s}},
		{"urn": "urn:pulumi:prod::shop::aws:ssm/parameter:Parameter::p", "type": "aws:ssm/parameter:Parameter", "custom": true, "id": "p",
			"outputs": {"value": {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:a:b"}}}]}}`
	plain := []byte(strings.ReplaceAll(export, "%s", ""))
	if have, err = Outputs("pulumi", plain, from.Options{}); err != nil || have["vpcId"].Value != "vpc-1" || have["vpcId"].Sensitive {
		t.Errorf("%+v, %v", have, err)
	}
	sealed := []byte(strings.ReplaceAll(export, "%s", `, "word": {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:a:b"}`))
	if have, err = Outputs("pulumi", sealed, from.Options{}); !errors.Is(err, errEncrypted) {
		t.Errorf("%+v, %v", have, err)
	}
	for _, tool := range []string{"terraform", "pulumi"} {
		if _, err := Outputs(tool, []byte("{}"), from.Options{}); err == nil {
			t.Errorf("%s: no state is an error", tool)
		}
	}
}
