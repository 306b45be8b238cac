package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// NewPermission declares a statement of a function's policy.
func NewPermission(s *athanor.Stack, name string, p PermissionProps, opts ...athanor.Option) Permission {
	return athanor.Declare(s, permissionKind, name, p, opts...)
}

// AllowInvoke lets a service call the function on behalf of one of its resources, such as "events.amazonaws.com" and
// the ARN of a rule; "" means all of them, anybody's too. The statement is declared below the function's address, by
// the name of the service and of the resource.
func (f Function) AllowInvoke(s *athanor.Stack, service string, source aws.ARN, opts ...athanor.Option) Permission {
	word, _, _ := strings.Cut(service, ".")
	parts := []string{string(f.ARN), word}
	if source != "" {
		parts = append(parts, string(source))
	}
	name, renamed := aws.Below(s, parts...)
	return NewPermission(s, name, PermissionProps{
		Function: f.ARN, Principal: service, SourceARN: source,
	}, append(slices.Clip(opts), renamed)...)
}

// PermissionProps declare one statement of a function's policy: permission to call it. Limits are those of
// https://docs.aws.amazon.com/lambda/latest/api/API_AddPermission.html
type PermissionProps struct {
	// Function is the ARN of the function, or of a version or an alias of it.
	Function aws.ARN `prop:"required,immutable" wire:"-"`
	// Principal is who may: a service such as events.amazonaws.com, an account, the ARN of a user or role, or * for
	// everybody.
	Principal string `prop:"required,immutable,maxlen=2048" wire:"Principal,principal"`
	// Action is what they may.
	Action *string `prop:"default=lambda:InvokeFunction,immutable" wire:"Action"`
	// SourceARN is the resource on whose behalf a service calls; * stands for any text. Without it, or sourceAccount, the
	// service may call for anybody's. Default: none.
	SourceARN aws.ARN `prop:"immutable" wire:"SourceArn"`
	// SourceAccount is the account of that resource, for ARNs that do not name it. Default: none.
	SourceAccount string `prop:"immutable,maxlen=12" wire:"SourceAccount"`
	// PrincipalOrgID is the organization that principals must be in. Default: none.
	PrincipalOrgID string `prop:"immutable,maxlen=34" wire:"PrincipalOrgID"`
	// EventSourceToken is what an Alexa skill must show. Default: none.
	EventSourceToken string `prop:"immutable,maxlen=256" wire:"EventSourceToken"`
	// FunctionURLAuth is the auth that the function's URL must have, for lambda:InvokeFunctionUrl. Default: none.
	FunctionURLAuth *string `prop:"enum=AWS_IAM|NONE,immutable" wire:"FunctionUrlAuthType"`
	// InvokedViaURL: only calls through the function's URL.
	InvokedViaURL bool `prop:"default=false,immutable" wire:"InvokedViaFunctionUrl,omitzero"`
	// StatementID names the statement: up to 100 letters, digits, - and _. Default: none, one is generated. Changing it
	// replaces the statement.
	StatementID string
}

// Permission is what others may refer to of a permission.
type Permission struct {
	// Function as it was declared.
	Function aws.ARN `attr:"early"`
	// StatementID is the name of the statement in the function's policy.
	StatementID string `attr:"early"`
}

type permissionSite = kind.Site[PermissionProps, Permission]

var permissionTable = kind.TableOf[PermissionProps](kind.Codec{Name: "principal", Form: func(principal any) any {
	// Lambda makes the root user of an account.
	text, _ := principal.(string)
	if p, ok := aws.ARN(text).Parse(); ok && p.Service == "iam" && p.Resource == "root" {
		return p.Account
	}
	return principal
}}).For(kind.In(sdk.AddPermissionInput{}))

// The live object of a permission has the shape of its props.
var permissionKind = &kind.Kind[PermissionProps, PermissionProps, Permission]{
	Type: permissionType,
	Doc: "One statement of the resource policy of a Lambda function: permission for a service, an account or a role to call it. " +
		"Other statements of the policy are left alone. It carries no owner tag and is found by its name, which is generated; after " +
		"a lost state, one that the program no longer declares is not found.",

	Observe: observePermission,
	Create:  createPermission,
	Compare: func(d *kind.Diff[PermissionProps], want, have PermissionProps) {
		kind.Compare(d, permissionTable, want, have)
	},
	Attributes: func(have PermissionProps) Permission {
		return Permission{Function: have.Function, StatementID: have.StatementID}
	},
	Delete: func(ctx context.Context, s permissionSite) error {
		_, err := clientOf(s.Cloud).RemovePermission(ctx, &sdk.RemovePermissionInput{
			FunctionName: new(string(s.Last.Function)), StatementId: &s.Last.StatementID,
		})
		return err
	},
	Identity: func(p Permission) string { return string(p.Function) + "/" + p.StatementID },

	Props: permissionTable,
	Check: func(want PermissionProps) error {
		var problems props.Errors
		if a := want.SourceAccount; a != "" && !token.Has(a) && len(a) != 12 {
			problems.Wrong("sourceAccount", "want the 12 digits of an account")
		}
		return problems.OrNil()
	},
	Named: &kind.Named[PermissionProps, PermissionProps]{
		Given: func(want PermissionProps) string { return want.StatementID },
		Prop:  "statementId",
		Rule:  func(PermissionProps) kind.NameRule { return kind.NameRule{Max: 100, Marks: "-_"} },
		Live:  func(have PermissionProps) string { return have.StatementID },
	},

	EventuallyVisible: aws.EventuallyVisible,

	API: aws.API("Lambda", "lambda", source, kind.Permissions{
		Observe:  []string{"GetPolicy"},
		Create:   []string{"AddPermission"},
		Delete:   []string{"RemovePermission"},
		Of:       "function",
		Resource: aws.On("lambda", "function:"),
	}),
}

// statement is one of a function's policy as Lambda writes it.
type statement struct {
	SID       string `json:"Sid"`
	Action    string
	Principal any
	Condition map[string]map[string]any
}

// props are what a statement says, in the shape of props.
func (s statement) props() PermissionProps {
	p := PermissionProps{StatementID: s.SID, Action: &s.Action}
	switch who := s.Principal.(type) {
	case string:
		p.Principal = who
	case map[string]any:
		for _, one := range who {
			p.Principal = fmt.Sprint(one)
		}
	}
	for _, tests := range s.Condition {
		for key, value := range tests {
			text := fmt.Sprint(value)
			switch strings.ToLower(key) {
			case "aws:sourcearn":
				p.SourceARN = aws.ARN(text)
			case "aws:sourceaccount":
				p.SourceAccount = text
			case "aws:principalorgid":
				p.PrincipalOrgID = text
			case "lambda:eventsourcetoken":
				p.EventSourceToken = text
			case "lambda:functionurlauthtype":
				p.FunctionURLAuth = aws.OrNil(text)
			case "lambda:invokedviafunctionurl":
				p.InvokedViaURL = text == "true"
			}
		}
	}
	return p
}

// statementsOf are those of a function's policy, by their ids. Without a policy, or without a function, there are none.
func statementsOf(ctx context.Context, client *sdk.Client, function string) (map[string]PermissionProps, error) {
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
	all := make(map[string]PermissionProps, len(policy.Statement))
	for _, s := range policy.Statement {
		all[s.SID] = s.props()
	}
	return all, nil
}

var errNoStatement = errors.New("a permission is found by its function and the id of its statement")

// permissionOf is which statement is meant.
func permissionOf(s permissionSite) (Permission, error) {
	switch {
	case s.Last != nil:
		return *s.Last, nil
	case s.ID != "":
		function, id, ok := strings.Cut(s.ID, "/")
		if !ok {
			return Permission{}, fmt.Errorf("%w: %q", errNoStatement, s.ID)
		}
		return Permission{Function: aws.ARN(function), StatementID: id}, nil
	case s.Want.Function == "" || s.Name == "":
		return Permission{}, errNoStatement
	case token.Has(string(s.Want.Function)) || token.Has(s.Name):
		return Permission{}, reconcile.ErrAbsent // what is not known yet has no policy
	}
	return Permission{Function: s.Want.Function, StatementID: s.Name}, nil
}

func observePermission(ctx context.Context, s permissionSite) (PermissionProps, error) {
	p, err := permissionOf(s)
	if err != nil {
		return PermissionProps{}, err
	}
	statements, err := statementsOf(ctx, clientOf(s.Cloud), string(p.Function))
	if err != nil {
		return PermissionProps{}, err
	}
	have, there := statements[p.StatementID]
	if have.Function = p.Function; !there {
		return PermissionProps{}, reconcile.ErrAbsent
	}
	return have, nil
}

// createPermission adds the statement. One of that id is a conflict, and the next read shows it.
func createPermission(ctx context.Context, s permissionSite) (Permission, error) {
	return Permission{Function: s.Want.Function, StatementID: s.Name},
		addStatement(ctx, clientOf(s.Cloud), string(s.Want.Function), s.Name, s.Want)
}

func addStatement(ctx context.Context, client *sdk.Client, function, id string, want PermissionProps) error {
	in := &sdk.AddPermissionInput{FunctionName: &function, StatementId: &id}
	if err := permissionTable.Created(want, kind.Struct(in)); err != nil {
		return err
	}
	_, err := client.AddPermission(ctx, in)
	return err
}

// publicStatements are those that let everybody call a URL without credentials, by the names that the console gives
// them. Since October 2025 both are needed: https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html
var publicStatements = []PermissionProps{
	{StatementID: "FunctionURLAllowPublicAccess", Action: new("lambda:InvokeFunctionUrl"), Principal: "*", FunctionURLAuth: new("NONE")},
	{StatementID: "FunctionURLInvokeAllowPublicAccess", Action: new("lambda:InvokeFunction"), Principal: "*", InvokedViaURL: true},
}

// isOpen reports whether a policy has all statements for the public, and whether it has any.
func isOpen(statements map[string]PermissionProps) (open, has bool) {
	open = true
	for _, want := range publicStatements {
		s, there := statements[want.StatementID]
		has = has || there
		open = open && there && permissionTable.Equal(s, want)
	}
	return open, has
}
