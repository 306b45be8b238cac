package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
)

var errNoStatement = errors.New("a permission is found by its function and the id of its statement")

// statement is one of a function's policy as Lambda writes it.
type statement struct {
	SID       string `json:"Sid"`
	Action    string
	Principal any
	Condition map[string]map[string]any
}

// terms are what a statement says.
func (s statement) terms() terms {
	t := terms{action: s.Action}
	switch p := s.Principal.(type) {
	case string:
		t.principal = principalOf(p)
	case map[string]any:
		for _, who := range p {
			t.principal = principalOf(fmt.Sprint(who))
		}
	}
	for _, tests := range s.Condition {
		for key, value := range tests {
			text := fmt.Sprint(value)
			switch strings.ToLower(key) {
			case "aws:sourcearn":
				t.sourceARN = text
			case "aws:sourceaccount":
				t.sourceAccount = text
			case "aws:principalorgid":
				t.orgID = text
			case "lambda:eventsourcetoken":
				t.eventToken = text
			case "lambda:functionurlauthtype":
				t.urlAuth = text
			case "lambda:invokedviafunctionurl":
				t.viaURL = text == "true"
			}
		}
	}
	return t
}

// statementsOf are those of a function's policy, by their ids. Without a policy, or without a function, there are none.
func statementsOf(ctx context.Context, client *sdk.Client, function string) (map[string]statement, error) {
	out, err := client.GetPolicy(ctx, &sdk.GetPolicyInput{FunctionName: &function})
	if aws.IsAbsent(err) {
		return nil, nil //nolint:nilnil // a map that is read alone
	}
	if err != nil {
		return nil, err
	}
	var policy struct{ Statement []statement }
	if err := json.Unmarshal([]byte(sdkaws.ToString(out.Policy)), &policy); err != nil {
		return nil, fmt.Errorf("policy of %s: %w", function, err)
	}
	all := make(map[string]statement, len(policy.Statement))
	for _, s := range policy.Statement {
		all[s.SID] = s
	}
	return all, nil
}

// permissionOf is which statement is meant.
func permissionOf(site permissionSite) (Permission, error) {
	if site.Last != nil {
		return *site.Last, nil
	}
	if site.ID != "" {
		function, id, ok := strings.Cut(site.ID, "/")
		if !ok {
			return Permission{}, fmt.Errorf("%w: %q", errNoStatement, site.ID)
		}
		return Permission{Function: aws.ARN(function), StatementID: id}, nil
	}
	if site.Want.Function == "" || site.Name == "" {
		return Permission{}, errNoStatement
	}
	if token.Has(string(site.Want.Function)) || token.Has(site.Name) {
		return Permission{}, reconcile.ErrAbsent // what is not known yet has no policy
	}
	return Permission{Function: site.Want.Function, StatementID: site.Name}, nil
}

func observePermission(ctx context.Context, site permissionSite) (livePermission, error) {
	p, err := permissionOf(site)
	if err != nil {
		return livePermission{}, err
	}
	client, err := clientOf(site.Cloud)
	if err != nil {
		return livePermission{}, err
	}
	statements, err := statementsOf(ctx, client, string(p.Function))
	if err != nil {
		return livePermission{}, err
	}
	s, there := statements[p.StatementID]
	if !there {
		return livePermission{}, reconcile.ErrAbsent
	}
	return livePermission{p, s.terms()}, nil
}

// createPermission adds the statement. One of that id is a conflict, and the next look shows it.
func createPermission(ctx context.Context, site permissionSite) (Permission, error) {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return Permission{}, err
	}
	want := site.Want
	in := &sdk.AddPermissionInput{
		FunctionName: new(string(want.Function)), StatementId: &site.Name, Action: want.Action, Principal: &want.Principal,
		SourceArn: aws.OrNil(string(want.SourceARN)), SourceAccount: aws.OrNil(want.SourceAccount), PrincipalOrgID: aws.OrNil(want.PrincipalOrgID),
		EventSourceToken: aws.OrNil(want.EventSourceToken), FunctionUrlAuthType: types.FunctionUrlAuthType(orZero(want.FunctionURLAuth)),
		InvokedViaFunctionUrl: aws.OrNil(want.InvokedViaURL),
	}
	if _, err := client.AddPermission(ctx, in); err != nil {
		return Permission{}, err
	}
	return Permission{Function: want.Function, StatementID: site.Name}, nil
}

func deletePermission(ctx context.Context, site permissionSite) error {
	client, err := clientOf(site.Cloud)
	if err != nil {
		return err
	}
	_, err = client.RemovePermission(ctx, &sdk.RemovePermissionInput{
		FunctionName: new(string(site.Last.Function)), StatementId: &site.Last.StatementID,
	})
	return err
}
