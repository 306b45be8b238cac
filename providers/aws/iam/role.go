package iam

import (
	"strconv"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// liveRole is a role as it was seen.
type liveRole struct {
	arn         aws.ARN
	name, path  string
	id          string
	trust       string
	description string
	maxSession  time.Duration
	boundary    aws.ARN
	managed     []aws.ARN
	inline      map[string]string // that of the bindings too
	tags        map[string]string
}

type (
	roleSite = reconcile.Site[RoleProps, Role]
	roleDiff = reconcile.Diff[liveRole]
	roleOn   = reconcile.On[liveRole]
)

var roleKind = &reconcile.Kind[RoleProps, liveRole, Role]{
	Type: roleType,
	Doc: "A role of AWS IAM: who may take it on, and all that it may do: attached, inline and granted policies, each set " +
		"managed whole. Roles are the account's, in all regions. Deleting one takes it out of instance profiles; roles " +
		"that AWS links to services are not managed.",

	Observe:  observeRole,
	Create:   createRole,
	Compare:  compareRole,
	Attrs:    roleAttrs,
	Delete:   deleteRole,
	Identity: func(r Role) string { return string(r.ARN) },
	Home:     aws.Global,

	Naming: func(RoleProps, reconcile.Place) reconcile.Naming {
		return reconcile.Naming{Max: 64, Allowed: nameRune}
	},
	Given:    func(want RoleProps) string { return want.Name },
	Defaults: roleDefaults,
	Check:    checkRole,
	Late:     []tree.Path{"managedPolicies", "inline", "bindings"},
	AtBirth:  []string{"arn", "name", "id"},

	Owner: func(live liveRole) reconcile.Mark { return adopt.MarkOf(live.tags) },
	List:  listRoles,

	// IAM says that changes take time to be seen everywhere, and not how much:
	// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html#troubleshoot_general_eventual-consistency
	Visibility: time.Minute,

	Source: aws.Source(source),
	Calls: []string{
		"IAM.GetRole", "IAM.ListRoles", "IAM.CreateRole", "IAM.UpdateRole", "IAM.UpdateAssumeRolePolicy", "IAM.DeleteRole",
		"IAM.PutRolePermissionsBoundary", "IAM.DeleteRolePermissionsBoundary", "IAM.TagRole", "IAM.UntagRole",
		"IAM.ListRolePolicies", "IAM.GetRolePolicy", "IAM.PutRolePolicy", "IAM.DeleteRolePolicy",
		"IAM.ListAttachedRolePolicies", "IAM.AttachRolePolicy", "IAM.DetachRolePolicy", "IAM.GetPolicy",
		"IAM.ListInstanceProfilesForRole", "IAM.RemoveRoleFromInstanceProfile",
	},
	Permissions: reconcile.Permissions{
		Observe: []string{"iam:GetRole", "iam:ListRolePolicies", "iam:GetRolePolicy", "iam:ListAttachedRolePolicies"},
		List:    []string{"iam:ListRoles"},
		Create:  []string{"iam:CreateRole", "iam:TagRole", "iam:PutRolePolicy", "iam:AttachRolePolicy"},
		Update: []string{
			"iam:UpdateRole", "iam:UpdateAssumeRolePolicy", "iam:PutRolePermissionsBoundary", "iam:DeleteRolePermissionsBoundary",
			"iam:PutRolePolicy", "iam:DeleteRolePolicy", "iam:AttachRolePolicy", "iam:DetachRolePolicy", "iam:TagRole", "iam:UntagRole",
		},
		Delete: []string{
			"iam:DeleteRole", "iam:DeleteRolePolicy", "iam:DetachRolePolicy", "iam:ListInstanceProfilesForRole",
			"iam:RemoveRoleFromInstanceProfile",
		},
		Resource: func(place reconcile.Place, name string) []string {
			in := func(resource string) string { return string(arnOf(place, resource)) }
			return []string{in("role/" + name), in("role/*/" + name)}
		},
		// A role is taken out of instance profiles that nobody here knows by name.
		Anywhere: []string{"iam:ListRoles", "iam:RemoveRoleFromInstanceProfile"},
	},
}

func roleAttrs(live liveRole) Role { return Role{ARN: live.arn, Name: live.name, ID: live.id} }

func roleDefaults(want RoleProps) RoleProps {
	aws.OrDefault(&want.MaxSessionDuration, time.Hour)
	if want.Path == "" {
		want.Path = "/"
	}
	return want
}

// checkRole finds what IAM would refuse, and what could not be kept apart from what we put there.
func checkRole(want RoleProps) error {
	problems := aws.CheckTags(want.Tags)
	wrong := problems.Wrong
	checkNamed(want.Name, 64, want.Path, want.Description, wrong)
	if d := want.MaxSessionDuration; d != nil && *d%time.Second != 0 {
		wrong("maxSessionDuration", "want whole seconds")
	}
	for name := range want.Inline {
		path := tree.Path("inline").Key(name)
		if name == grantsPolicy {
			wrong(path, "it is where the bindings are written")
		}
		if name == "" {
			wrong(path, "want a name")
		}
		checkName(name, path, 128, wrong)
	}
	checkBindings(want.Bindings, wrong)
	return problems.OrNil()
}

// checkNamed checks what roles and policies have alike.
func checkNamed(name string, most int, path, description string, wrong func(tree.Path, string)) {
	checkName(name, "name", most, wrong)
	checkPath(path, wrong)
	if !token.Has(description) && len([]rune(description)) > 1000 {
		wrong("description", "want up to 1000 characters")
	}
}

func checkName(name string, path tree.Path, most int, wrong func(tree.Path, string)) {
	if !token.Has(name) && (len(name) > most || strings.ContainsFunc(name, func(r rune) bool { return !nameRune(r) })) {
		wrong(path, "want up to "+strconv.Itoa(most)+" letters, digits and _+=,.@- characters")
	}
}

func checkPath(path string, wrong func(tree.Path, string)) {
	odd := func(r rune) bool { return r < '!' || r > '~' }
	switch {
	case path == "" || token.Has(path):
	case !strings.HasPrefix(path, "/"), !strings.HasSuffix(path, "/"), len(path) > 512, strings.ContainsFunc(path, odd):
		wrong("path", "want up to 512 plain characters that begin and end with /")
	}
}
