package ssm

import (
	"encoding/json"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// account is that of every world of these tests, so that props can name objects in it.
const account = "111122223333"

// startLikeAWS does what Systems Manager is documented to do where moto does not:
//
//   - The policies of a parameter are shown as texts, and [{}] drops them.
//
//   - An advanced parameter never becomes a standard one, and a standard one has no policies.
//
//   - A SecureString that is put without a key gets the account's own, and no other type has a key.
func startLikeAWS(t *testing.T, cloud *awstest.Server) *awstest.Front {
	t.Helper()
	tiers, policies := map[any]any{}, map[any]string{} // by name
	return awstest.Amend(t, cloud, awstest.Amendments{
		Account: account,
		Refuse: map[string]func(awstest.Fields) string{
			"PutParameter": func(in awstest.Fields) string {
				text, _ := in["Policies"].(string)
				if in["Tier"] == "Standard" && (tiers[in["Name"]] == "Advanced" || text != "" && text != "[{}]") {
					return "ValidationException"
				}
				return ""
			},
		},
		Edit: map[string]func(awstest.Fields){
			"PutParameter": func(in awstest.Fields) {
				if in["Type"] == "SecureString" && in["KeyId"] == nil {
					in["KeyId"] = "alias/aws/ssm"
				}
			},
		},
		Show: map[string]func(in, out awstest.Fields){
			"PutParameter": func(in, _ awstest.Fields) {
				tiers[in["Name"]] = in["Tier"]
				if text, ok := in["Policies"].(string); ok {
					policies[in["Name"]] = text
				}
			},
			"DeleteParameter": func(in, _ awstest.Fields) {
				delete(tiers, in["Name"])
				delete(policies, in["Name"])
			},
			"DescribeParameters": func(_, out awstest.Fields) {
				list, _ := out["Parameters"].([]any)
				for _, item := range list {
					p := item.(awstest.Fields)
					shown(p, policies[p["Name"]])
				}
			},
			"GetParameter": func(_, out awstest.Fields) {
				if p, ok := out["Parameter"].(awstest.Fields); ok {
					delete(p, "Policies")
				}
			},
		},
	})
}

func shown(p awstest.Fields, policies string) {
	if p["Type"] != "SecureString" {
		delete(p, "KeyId")
	}
	delete(p, "Policies")
	var list []map[string]any
	if policies == "" || policies == "[{}]" {
		return
	}
	if err := json.Unmarshal([]byte(policies), &list); err != nil {
		panic(err)
	}
	var shown []any
	for _, policy := range list {
		text, err := json.Marshal(policy)
		if err != nil {
			panic(err)
		}
		shown = append(shown, awstest.Fields{"PolicyType": policy["Type"], "PolicyText": string(text), "PolicyStatus": "Pending"})
	}
	p["Policies"] = shown
}
