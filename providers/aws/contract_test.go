package aws

import (
	"slices"
	"testing"

	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// TestAPI: operations become calls and actions; actions that are written out, and those of what is passed on, no calls.
func TestAPI(t *testing.T) {
	t.Parallel()
	api := API("Lambda", "lambda", nil, kind.Permissions{
		Observe: []string{"GetFunction", "lambda:ListTags"}, List: []string{"ListFunctions"},
		Create: []string{"CreateFunction", "iam:GetRole"}, Update: []string{"UpdateFunctionCode"},
		Only:  map[string][]tree.Path{"CreateFunction": {"code"}},
		Calls: map[string][]string{"DeleteFunctionUrlConfig": {"DeleteFunctionUrlConfig", "RemovePermission"}},
	}, "IAM.GetRole")
	for what, c := range map[string]struct{ have, want []string }{
		"calls": {api.Calls, []string{"Lambda.CreateFunction", "Lambda.GetFunction", "Lambda.ListFunctions", "Lambda.UpdateFunctionCode", "IAM.GetRole"}},
		"called": {
			slices.Concat(api.Permissions.Called("UpdateFunctionCode"), api.Permissions.Called("DeleteFunctionUrlConfig"), api.Permissions.Called("another")),
			[]string{"lambda:UpdateFunctionCode", "lambda:DeleteFunctionUrlConfig", "lambda:RemovePermission", "lambda:UpdateFunctionCode"},
		},
		"observe":  {api.Permissions.Observe, []string{"lambda:GetFunction", "lambda:ListTags"}},
		"create":   {api.Permissions.Create, []string{"lambda:CreateFunction", "iam:GetRole"}},
		"anywhere": {api.Permissions.Anywhere, []string{"lambda:ListFunctions"}},
	} {
		if api.Permissions.Only["lambda:CreateFunction"] == nil {
			t.Error("an action is for no prop")
		}
		if !slices.Equal(c.have, c.want) {
			t.Errorf("%s: %v, want %v", what, c.have, c.want)
		}
	}
}
