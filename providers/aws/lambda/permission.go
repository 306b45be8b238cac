package lambda

import (
	"strings"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
)

// livePermission is a statement as it was seen.
type livePermission struct {
	Permission
	terms terms
}

type permissionSite = reconcile.Site[PermissionProps, Permission]

var permissionKind = &reconcile.Kind[PermissionProps, livePermission, Permission]{
	Type: permissionType,
	Doc: "One statement of the resource policy of a Lambda function: leave for a service, an account or a role to call it. " +
		"Other statements of the policy are left alone. It carries no mark and is found by its name, which is generated; after a " +
		"lost record, one that the program no longer declares is not found.",

	Observe:  observePermission,
	Create:   createPermission,
	Compare:  comparePermission,
	Attrs:    func(live livePermission) Permission { return live.Permission },
	Delete:   deletePermission,
	Identity: func(p Permission) string { return string(p.Function) + "/" + p.StatementID },

	Naming: func(PermissionProps, reconcile.Place) reconcile.Naming {
		return reconcile.Naming{Max: 100, Allowed: nameRune}
	},
	Given: func(want PermissionProps) string { return want.StatementID },
	Defaults: func(want PermissionProps) PermissionProps {
		aws.OrDefault(&want.Action, "lambda:InvokeFunction")
		return want
	},
	Check:   checkPermission,
	AtBirth: []string{"function", "statementId"},

	Source: source,
	Calls:  []string{"Lambda.GetPolicy", "Lambda.AddPermission", "Lambda.RemovePermission"},
	Permissions: reconcile.Permissions{
		Observe: []string{"lambda:GetPolicy"},
		Create:  []string{"lambda:AddPermission"},
		Delete:  []string{"lambda:RemovePermission"},
		// The name is that of the statement, and not the function's.
		Resource: func(place reconcile.Place, _ string) []string { return []string{string(functionARN(place, "*"))} },
	},
}

func checkPermission(want PermissionProps) error {
	var problems props.Errors
	if id := want.StatementID; !token.Has(id) && (len(id) > 100 || strings.ContainsFunc(id, func(r rune) bool { return !nameRune(r) })) {
		problems.Wrong("statementId", "want up to 100 letters, digits, - and _")
	}
	if a := want.SourceAccount; a != "" && !token.Has(a) && len(a) != 12 {
		problems.Wrong("sourceAccount", "want the 12 digits of an account")
	}
	return problems.OrNil()
}

// terms are all that a statement says, in one form.
type terms struct {
	action, principal, sourceARN, sourceAccount, orgID, eventToken, urlAuth string
	viaURL                                                                  bool
}

func (p PermissionProps) terms() terms {
	return terms{
		action: *p.Action, principal: principalOf(p.Principal), sourceARN: string(p.SourceARN), sourceAccount: p.SourceAccount,
		orgID: p.PrincipalOrgID, eventToken: p.EventSourceToken, urlAuth: orZero(p.FunctionURLAuth), viaURL: p.InvokedViaURL,
	}
}

// principalOf writes an account in one way: Lambda makes its root user of it.
func principalOf(principal string) string {
	if p, ok := aws.ARN(principal).Parse(); ok && p.Service == "iam" && p.Resource == "root" {
		return p.Account
	}
	return principal
}

// comparePermission: no aspect of a statement can be changed in place.
func comparePermission(d *reconcile.Diff[livePermission], want PermissionProps, live livePermission) {
	if id, given := d.Name(); given {
		reconcile.Fixed(d, "statementId", id, live.StatementID)
	}
	w, h := want.terms(), live.terms
	reconcile.Fixed(d, "function", want.Function, live.Function)
	reconcile.Fixed(d, "principal", w.principal, h.principal)
	reconcile.Fixed(d, "action", w.action, h.action)
	reconcile.Fixed(d, "sourceArn", w.sourceARN, h.sourceARN)
	reconcile.Fixed(d, "sourceAccount", w.sourceAccount, h.sourceAccount)
	reconcile.Fixed(d, "principalOrgId", w.orgID, h.orgID)
	reconcile.Fixed(d, "eventSourceToken", w.eventToken, h.eventToken)
	reconcile.Fixed(d, "functionUrlAuth", w.urlAuth, h.urlAuth)
	reconcile.Fixed(d, "invokedViaUrl", w.viaURL, h.viaURL)
}
