// Package iam offers roles and managed policies of AWS Identity and Access Management.
//
// It knows which call reads and sets each aspect of a role, what hangs on a role and must go before it can, how
// versions of a managed policy come and go, and that all of this is one for the whole account, whatever the region. It
// does not know what actions mean; packages of services do, and grant them (see [aws.Grant]). When two policies say
// the same is the business of package aws.
package iam

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"golang.org/x/sync/errgroup"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

//go:embed role.go policy.go
var source embed.FS

const (
	roleType   = "aws.iam.Role"
	policyType = "aws.iam.Policy"
)

// Service is what this package offers. The tagging service shows no roles, and policies in one region alone: both are
// found by their names.
func Service() aws.Service {
	return aws.Service{
		Kinds: []reconcile.Any{roleKind.Erase(), policyKind.Erase()},
		Constructs: map[string]athanor.Construct{
			roleType: {Of: func(s *athanor.Stack, name string, _ any) any {
				r := athanor.Attributes[Role](s, name)
				r.stack = s
				return r
			}},
		},
		Filters:  []string{"iam:policy"},
		Registry: map[string]string{"AWS::IAM::Role": roleType, "AWS::IAM::RolePolicy": roleType, "AWS::IAM::ManagedPolicy": policyType},
		Match: func(arn aws.ARN) (kind, identity, name string, ok bool) {
			p, ok := arn.Parse()
			switch what, _, _ := strings.Cut(p.Resource, "/"); {
			case !ok || p.Service != "iam":
			case what == "role":
				return roleType, string(arn), nameIn(p.Resource), true
			case what == "policy":
				return policyType, string(arn), nameIn(p.Resource), true
			}
			return "", "", "", false
		},
	}
}

// NewRole declares a role.
func NewRole(s *athanor.Stack, name string, p RoleProps, opts ...athanor.Option) Role {
	r := athanor.Declare(s, roleKind, name, p, opts...)
	r.stack = s
	return r
}

// ReadRole uses a role that the stack does not own: by its ARN or name, or by RoleProps that name it. It cannot be
// granted anything: what it may do is its owner's affair.
func ReadRole(s *athanor.Stack, name string, by any) Role {
	r := athanor.Read(s, roleKind, name, by)
	r.stack = s
	return r
}

// Granted is the stack that declares the role, and the role; see [aws.Grant].
func (r Role) Granted() (*athanor.Stack, aws.ARN) { return r.stack, r.ARN }

// NewPolicy declares a managed policy.
func NewPolicy(s *athanor.Stack, name string, p PolicyProps, opts ...athanor.Option) Policy {
	return athanor.Declare(s, policyKind, name, p, opts...)
}

// ReadPolicy uses a managed policy that the stack does not own: by its ARN, those of AWS included, or by PolicyProps that
// name it.
func ReadPolicy(s *athanor.Stack, name string, by any) Policy {
	return athanor.Read(s, policyKind, name, by)
}

// ServiceTrust is the trust policy of a role that services of AWS run as, such as "lambda.amazonaws.com".
func ServiceTrust(services ...string) map[string]any {
	return aws.Policy(aws.Statement{
		Principals: map[string][]string{"Service": services},
		Actions:    []string{"sts:AssumeRole"},
	})
}

// RoleProps declare a role. Defaults and limits are those of
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html
type RoleProps struct {
	// Name of the role: up to 64 letters, digits and _+=,.@- characters, one in the account whatever the case and the
	// path. Default: none, a name is generated. Changing it replaces the role.
	Name string
	// Path groups roles, and is part of the ARN: it begins and ends with /. Default: none, which is /.
	Path string `prop:"immutable,maxlen=512" wire:"Path"`
	// TrustPolicy says who may take on the role: a document (see aws.Policy and iam.ServiceTrust), or JSON text.
	TrustPolicy any `prop:"required" wire:"AssumeRolePolicyDocument,policy"`
	// Description of the role: up to 1000 characters. Default: none.
	Description string `prop:"maxlen=1000" wire:"Description"`
	// MaxSessionDuration is how long those who take on the role may keep it at a time, in whole seconds from an hour to
	// 12 hours.
	MaxSessionDuration *time.Duration `prop:"min=1h,max=12h,default=1h" wire:"MaxSessionDuration"`
	// PermissionsBoundary is a managed policy that bounds what the role can be allowed. Default: none.
	PermissionsBoundary aws.ARN `prop:"maxlen=2048" wire:"-"`
	// ManagedPolicies are attached to the role, and no others: what somebody else attaches is detached. Default: none.
	ManagedPolicies []aws.ARN `prop:"deferrable"`
	// Inline are policies in the role itself, by their names, and no others: what somebody else puts there is taken
	// away. Each is a document, or JSON text. Default: none.
	Inline map[string]any `prop:"deferrable"`
	// Bindings are what the role is granted (orders.Grant(role, sqs.Send) in Go adds one): statements that allow
	// actions on resources. They are one more inline policy, named athanor-grants, which is there while there is any.
	// Default: none.
	Bindings []aws.Statement `prop:"deferrable"`
	// Tags of the role, beside the owner tags. Default: none.
	Tags map[string]string
}

// Role is what others may refer to of a role. It can be granted what services offer.
type Role struct {
	// ARN of the role.
	ARN aws.ARN `attr:"early"`
	// Name of the role.
	Name string `attr:"early"`
	// ID is unique: a role that is made again under the same name has another one.
	ID string `attr:"early"`

	stack *athanor.Stack // that declares it
}

// liveRole is an observed role.
type liveRole struct {
	attrs   Role
	have    RoleProps // its flat part
	managed []aws.ARN
	inline  map[string]string // that of the bindings too
	tags    map[string]string
}

type (
	roleSite = kind.Site[RoleProps, Role]
	roleDiff = kind.Diff[liveRole]
)

var errNoName = errors.New("it is found by its name, and there is none")

var roleTable = kind.TableOf[RoleProps](aws.PolicyCodec()).For(kind.In(sdk.CreateRoleInput{}), kind.Out(types.Role{}))

var roleKind = &kind.Kind[RoleProps, liveRole, Role]{
	Type: roleType,
	Doc: "A role of AWS IAM: who may take it on, and all that it may do: attached, inline and granted policies, each set " +
		"managed whole. Roles are the account's, in all regions. Deleting one takes it out of instance profiles; roles " +
		"that AWS links to services are not managed.",

	Observe:    aws.Together(roleType, observeRole, observeRoles),
	Create:     createRole,
	Compare:    compareRole,
	Attributes: func(live liveRole) Role { return live.attrs },
	Delete:     deleteRole,
	Identity:   func(r Role) string { return string(r.ARN) },
	Global:     aws.Global,

	Props: roleTable,
	Default: func(want RoleProps) RoleProps {
		want.Path = cmp.Or(want.Path, "/")
		return want
	},
	Check: checkRole,
	Named: &kind.Named[RoleProps, liveRole]{
		Given: func(want RoleProps) string { return want.Name },
		Rule:  func(RoleProps) kind.NameRule { return nameRule(64) },
		Live:  func(live liveRole) string { return live.attrs.Name },
	},
	Owner: aws.Tagged(
		func(want RoleProps) map[string]string { return want.Tags },
		func(live liveRole) map[string]string { return live.tags }, "TagRole", tagRole, untagRole),
	List: listRoles,
	Bulk: aws.InBulk(observeRole, observeRoles),

	// IAM says that changes take time to be seen everywhere, and not how much:
	// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html#troubleshoot_general_eventual-consistency
	EventuallyVisible: time.Minute,

	API: aws.API("IAM", "iam", aws.Source(source), kind.Permissions{
		Observe: []string{"GetRole", "ListRolePolicies", "GetRolePolicy", "ListAttachedRolePolicies", "ListRoles", "GetAccountAuthorizationDetails"},
		List:    []string{"ListRoles"},
		Create:  []string{"CreateRole", "TagRole", "PutRolePolicy", "AttachRolePolicy"},
		Update: []string{
			"UpdateRole", "UpdateAssumeRolePolicy", "PutRolePermissionsBoundary", "DeleteRolePermissionsBoundary",
			"PutRolePolicy", "DeleteRolePolicy", "AttachRolePolicy", "DetachRolePolicy", "TagRole", "UntagRole",
		},
		Delete: []string{
			"DeleteRole", "DeleteRolePolicy", "DetachRolePolicy", "ListInstanceProfilesForRole",
		},
		Only: map[string][]tree.Path{
			"PutRolePolicy": {"inline", "bindings"}, "DeleteRolePolicy": {"inline", "bindings"},
			"AttachRolePolicy": {"managedPolicies"}, "DetachRolePolicy": {"managedPolicies"},
		},
		// What is set as a whole takes off what is no longer declared.
		Calls: map[string][]string{
			"PutRolePolicy": {"PutRolePolicy", "DeleteRolePolicy"}, "AttachRolePolicy": {"AttachRolePolicy", "DetachRolePolicy"},
			"PutRolePermissionsBoundary": {"PutRolePermissionsBoundary", "DeleteRolePermissionsBoundary"},
		},
		Resource: func(location kind.Location, name string) []string {
			in := func(resource string) string { return string(arnOf(location, resource)) }
			return []string{in("role/" + name), in("role/*/" + name)}
		},
		Anywhere: []string{"ListRoles", "GetAccountAuthorizationDetails"},
		Depends: []kind.Dependence{{ // a role may be in instance profiles that the stack does not know
			Actions: []string{"iam:RemoveRoleFromInstanceProfile"}, Phase: reconcile.Deleting,
			Resource: func(location kind.Location, _ string) []string {
				return []string{string(arnOf(location, "instance-profile/*"))}
			},
		}},
	}, "IAM.RemoveRoleFromInstanceProfile"),
}

func clientOf(cloud kind.Cloud) *sdk.Client {
	return aws.ClientIn(cloud, sdk.ServiceID, sdk.NewFromConfig)
}

func nameRule(longest int) kind.NameRule { return kind.NameRule{Max: longest, Marks: "_+=,.@-"} }

// arnOf is how IAM names an object: in no region.
func arnOf(location kind.Location, resource string) aws.ARN {
	return aws.Parts{Partition: aws.Partition(location.Region), Service: "iam", Account: location.Account, Resource: resource}.ARN()
}

// nameIn is the name at the end of a path.
func nameIn(resource string) string { return resource[strings.LastIndexByte(resource, '/')+1:] }

// documentIn is a policy as IAM shows it, which is encoded as in a URL.
func documentIn(shown *string) string {
	text := sdkaws.ToString(shown)
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

func tagMap(tags []types.Tag) map[string]string {
	return aws.TagMap(tags, func(t types.Tag) (key, value *string) { return t.Key, t.Value })
}

func tagList(tags map[string]string) []types.Tag {
	return aws.TagList(tags, func(key, value *string) types.Tag { return types.Tag{Key: key, Value: value} })
}

// checkRole finds what IAM would refuse, and what could not be kept apart from what we put there.
func checkRole(want RoleProps) error {
	var problems props.Errors
	wrong := problems.Wrong
	checkPath(want.Path, wrong)
	for name := range want.Inline {
		path := tree.Path("inline").Key(name)
		if name == grantsPolicy {
			wrong(path, "it is where the bindings are written")
		}
		if problem := nameRule(128).Problem(name); problem != "" && !token.Has(name) {
			wrong(path, problem)
		}
	}
	checkBindings(want.Bindings, wrong)
	return problems.OrNil()
}

func checkPath(path string, wrong func(tree.Path, string)) {
	odd := func(r rune) bool { return r < '!' || r > '~' }
	switch {
	case path == "" || token.Has(path):
	case !strings.HasPrefix(path, "/"), !strings.HasSuffix(path, "/"), len(path) > 512, strings.ContainsFunc(path, odd):
		wrong("path", "want up to 512 plain characters that begin and end with /")
	}
}

// roleNamed is the name by which a role is looked for.
func roleNamed(s roleSite) (string, error) {
	switch {
	case s.Last != nil:
		return s.Last.Name, nil
	case s.ID != "":
		p, ok := aws.ARN(s.ID).Parse()
		if !ok {
			return s.ID, nil
		}
		if aws.ARN(s.ID) != arnOf(s.Location, p.Resource) || !strings.HasPrefix(p.Resource, "role/") {
			return "", aws.Foreign(s.ID, s.Location)
		}
		return nameIn(p.Resource), nil
	case s.Name != "":
		return s.Name, nil
	}
	return "", errNoName
}

// observeRole asks for the role, and then for all that hangs on it at once.
func observeRole(ctx context.Context, s roleSite) (live liveRole, err error) {
	name, err := roleNamed(s)
	if err != nil {
		return live, err
	}
	client := clientOf(s.Cloud)
	var managed []aws.ARN
	var inline map[string]string
	err = aws.ReadWith(ctx, aws.Stays(s), func(ctx context.Context) error {
		out, err := client.GetRole(ctx, &sdk.GetRoleInput{RoleName: &name})
		if err == nil {
			live, err = liveOf(out.Role)
		}
		return err
	}, func(ctx context.Context) (err error) {
		managed, err = attached(ctx, client, name)
		return err
	}, func(ctx context.Context) (err error) {
		inline, err = inlined(ctx, client, name)
		return err
	})
	live.managed, live.inline = managed, inline
	return live, err
}

// observeRoles reads all roles of the account by two listings, as long as that takes fewer calls than asking for each role. One shows
// what a role may do and its tags; description and longest session are in the other.
func observeRoles(ctx context.Context, all []roleSite) ([]*aws.Answer[liveRole], error) {
	client, most := clientOf(all[0].Cloud), len(all)
	details, roles := map[string]types.RoleDetail{}, map[string]types.Role{}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		in, pages := &sdk.GetAccountAuthorizationDetailsInput{Filter: []types.EntityType{types.EntityTypeRole}, MaxItems: new(int32(1000))}, 0
		next := func(in *sdk.GetAccountAuthorizationDetailsInput, out *sdk.GetAccountAuthorizationDetailsOutput) bool {
			in.Marker = out.Marker
			pages++
			return out.IsTruncated && pages < most
		}
		for page, err := range aws.Pages(ctx, client.GetAccountAuthorizationDetails, in, next) {
			if err != nil {
				return err
			}
			for _, r := range page.RoleDetailList {
				details[sdkaws.ToString(r.Arn)] = r
			}
		}
		return nil
	})
	group.Go(func() error {
		in, pages := &sdk.ListRolesInput{MaxItems: new(int32(1000))}, 0
		next := func(in *sdk.ListRolesInput, out *sdk.ListRolesOutput) bool {
			in.Marker = out.Marker
			pages++
			return out.IsTruncated && pages < most
		}
		for page, err := range aws.Pages(ctx, client.ListRoles, in, next) {
			if err != nil {
				return err
			}
			for _, r := range page.Roles {
				roles[sdkaws.ToString(r.Arn)] = r
			}
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	shown := make([]*aws.Answer[liveRole], len(all))
	for i, s := range all {
		detail, isDetailed := details[string(s.Last.ARN)]
		role, isListed := roles[string(s.Last.ARN)]
		if !isDetailed || !isListed {
			continue
		}
		role.Tags, role.PermissionsBoundary = detail.Tags, detail.PermissionsBoundary
		live, err := liveOf(&role)
		if err != nil {
			continue // its own read shows what is wrong with it
		}
		for _, p := range detail.AttachedManagedPolicies {
			live.managed = append(live.managed, aws.ARN(sdkaws.ToString(p.PolicyArn)))
		}
		live.inline = map[string]string{}
		for _, p := range detail.RolePolicyList {
			live.inline[sdkaws.ToString(p.PolicyName)] = documentIn(p.PolicyDocument)
		}
		shown[i] = &aws.Answer[liveRole]{Value: live}
	}
	return shown, nil
}

// liveOf is a role as an answer shows it, without what it may do.
func liveOf(r *types.Role) (live liveRole, err error) {
	live = liveRole{attrs: attrsOf(r), tags: tagMap(r.Tags)}
	if live.have, err = roleTable.Read(kind.Struct(r)); err != nil {
		return live, err
	}
	live.have.TrustPolicy = documentIn(r.AssumeRolePolicyDocument)
	if b := r.PermissionsBoundary; b != nil {
		live.have.PermissionsBoundary = aws.ARN(sdkaws.ToString(b.PermissionsBoundaryArn))
	}
	return live, nil
}

func attrsOf(r *types.Role) Role {
	return Role{ARN: aws.ARN(sdkaws.ToString(r.Arn)), Name: sdkaws.ToString(r.RoleName), ID: sdkaws.ToString(r.RoleId)}
}

// attached are the managed policies of a role.
func attached(ctx context.Context, client *sdk.Client, role string) ([]aws.ARN, error) {
	var all []aws.ARN
	next := func(in *sdk.ListAttachedRolePoliciesInput, out *sdk.ListAttachedRolePoliciesOutput) bool {
		in.Marker = out.Marker
		return out.IsTruncated
	}
	for page, err := range aws.Pages(ctx, client.ListAttachedRolePolicies, &sdk.ListAttachedRolePoliciesInput{RoleName: &role}, next) {
		if err != nil {
			return nil, err
		}
		for _, p := range page.AttachedPolicies {
			all = append(all, aws.ARN(sdkaws.ToString(p.PolicyArn)))
		}
	}
	return all, nil
}

// inlineNames are the names of the inline policies of a role.
func inlineNames(ctx context.Context, client *sdk.Client, role string) ([]string, error) {
	var names []string
	next := func(in *sdk.ListRolePoliciesInput, out *sdk.ListRolePoliciesOutput) bool {
		in.Marker = out.Marker
		return out.IsTruncated
	}
	for page, err := range aws.Pages(ctx, client.ListRolePolicies, &sdk.ListRolePoliciesInput{RoleName: &role}, next) {
		if err != nil {
			return nil, err
		}
		names = append(names, page.PolicyNames...)
	}
	return names, nil
}

// inlined are the inline policies of a role, each asked for by itself: no call shows them all.
func inlined(ctx context.Context, client *sdk.Client, role string) (map[string]string, error) {
	names, err := inlineNames(ctx, client, role)
	if err != nil {
		return nil, err
	}
	documents := make([]string, len(names))
	group, ctx := errgroup.WithContext(ctx)
	for i, name := range names {
		group.Go(func() error {
			out, err := client.GetRolePolicy(ctx, &sdk.GetRolePolicyInput{RoleName: &role, PolicyName: &name})
			if err == nil {
				documents[i] = documentIn(out.PolicyDocument)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all := make(map[string]string, len(names))
	for i, name := range names {
		all[name] = documents[i]
	}
	return all, nil
}

// createRole carries all that CreateRole takes, the owner tag included. What the role may do comes by itself afterwards.
func createRole(ctx context.Context, s roleSite) (Role, error) {
	in := &sdk.CreateRoleInput{
		RoleName: &s.Name, PermissionsBoundary: aws.OrNil(string(s.Want.PermissionsBoundary)), Tags: tagList(aws.Tags(s.Cloud, s.Want.Tags, s.Owner)),
	}
	if err := roleTable.Created(s.Want, kind.Struct(in)); err != nil {
		return Role{}, err
	}
	client := clientOf(s.Cloud)
	out, err := client.CreateRole(ctx, in)
	if err != nil {
		return Role{}, untrusted(ctx, client, s.Location, *in.AssumeRolePolicyDocument, err)
	}
	return attrsOf(out.Role), nil
}

// deleteRole takes off all that hangs on a role first, which IAM does not do by itself.
func deleteRole(ctx context.Context, s roleSite) error {
	client, name := clientOf(s.Cloud), s.Last.Name
	if err := leaveProfiles(ctx, client, name); err != nil {
		return err
	}
	managed, err := attached(ctx, client, name)
	if err != nil {
		return err
	}
	for _, arn := range managed {
		if err := detach(ctx, client, name, arn); err != nil {
			return err
		}
	}
	inline, err := inlineNames(ctx, client, name)
	if err != nil {
		return err
	}
	for _, policy := range inline {
		if err := dropInline(ctx, client, name, policy); err != nil {
			return err
		}
	}
	_, err = client.DeleteRole(ctx, &sdk.DeleteRoleInput{RoleName: &name})
	return err
}

func leaveProfiles(ctx context.Context, client *sdk.Client, role string) error {
	next := func(in *sdk.ListInstanceProfilesForRoleInput, out *sdk.ListInstanceProfilesForRoleOutput) bool {
		in.Marker = out.Marker
		return out.IsTruncated
	}
	for page, err := range aws.Pages(ctx, client.ListInstanceProfilesForRole, &sdk.ListInstanceProfilesForRoleInput{RoleName: &role}, next) {
		if err != nil {
			return err
		}
		for _, p := range page.InstanceProfiles {
			_, err := client.RemoveRoleFromInstanceProfile(ctx, &sdk.RemoveRoleFromInstanceProfileInput{
				InstanceProfileName: p.InstanceProfileName, RoleName: &role,
			})
			if err != nil && !aws.IsAbsent(err) {
				return err
			}
		}
	}
	return nil
}

// detach and dropInline take what is not there as taken off: somebody else may have been faster.
func detach(ctx context.Context, client *sdk.Client, role string, policy aws.ARN) error {
	_, err := client.DetachRolePolicy(ctx, &sdk.DetachRolePolicyInput{RoleName: &role, PolicyArn: new(string(policy))})
	return aws.OrNone(err)
}

func dropInline(ctx context.Context, client *sdk.Client, role, policy string) error {
	_, err := client.DeleteRolePolicy(ctx, &sdk.DeleteRolePolicyInput{RoleName: &role, PolicyName: &policy})
	return aws.OrNone(err)
}

// linked begins the paths of roles that services of AWS own, and nobody else can change.
var linked = []string{"/aws-service-role/", "/aws-reserved/"}

func listRoles(ctx context.Context, scope kind.ListScope) (all []kind.Found, err error) {
	client := clientOf(scope.Cloud)
	next := func(in *sdk.ListRolesInput, out *sdk.ListRolesOutput) bool {
		in.Marker = out.Marker
		return out.IsTruncated
	}
	for page, err := range aws.Pages(ctx, client.ListRoles, &sdk.ListRolesInput{MaxItems: new(int32(1000))}, next) {
		if err != nil {
			return nil, err
		}
		for _, r := range page.Roles {
			name, path := sdkaws.ToString(r.RoleName), sdkaws.ToString(r.Path)
			if !strings.HasPrefix(name, scope.Prefix) || strings.HasPrefix(path, linked[0]) || strings.HasPrefix(path, linked[1]) {
				continue
			}
			all = append(all, kind.Found{Kind: roleType, Place: scope.Place, Identity: sdkaws.ToString(r.Arn), Name: name})
		}
	}
	return all, nil
}

// compareRole states every aspect. What the role may do comes last, so that a boundary is there before what it bounds.
func compareRole(d *roleDiff, want RoleProps, live liveRole) {
	// One call sets the description and the longest session: of the one that is left alone, what is there.
	update := kind.Set("UpdateRole", func(ctx context.Context, u kind.Update[liveRole]) error {
		in := &sdk.UpdateRoleInput{RoleName: &u.Live.attrs.Name}
		if err := roleTable.Created(roleTable.Merged(want, u.Live.have, u.Changed), kind.Struct(in)); err != nil {
			return err
		}
		aws.OrDefault(&in.Description, "")
		_, err := clientOf(u.Cloud).UpdateRole(ctx, in)
		return aws.NotYet(err)
	})
	trust := kind.Set("UpdateAssumeRolePolicy", func(ctx context.Context, u kind.Update[liveRole]) error {
		client, text := clientOf(u.Cloud), aws.Text(want.TrustPolicy)
		_, err := client.UpdateAssumeRolePolicy(ctx, &sdk.UpdateAssumeRolePolicyInput{RoleName: &u.Live.attrs.Name, PolicyDocument: text})
		return untrusted(ctx, client, u.Location, *text, aws.NotYet(err))
	})
	bound := kind.Set("PutRolePermissionsBoundary", func(ctx context.Context, u kind.Update[liveRole]) error {
		client, name := clientOf(u.Cloud), &u.Live.attrs.Name
		if want.PermissionsBoundary == "" {
			_, err := client.DeleteRolePermissionsBoundary(ctx, &sdk.DeleteRolePermissionsBoundaryInput{RoleName: name})
			return aws.NotYet(err)
		}
		_, err := client.PutRolePermissionsBoundary(ctx, &sdk.PutRolePermissionsBoundaryInput{
			RoleName: name, PermissionsBoundary: new(string(want.PermissionsBoundary)),
		})
		return missing(ctx, client, want.PermissionsBoundary, err)
	})
	kind.CompareEach(d, roleTable, want, live.have, map[tree.Path]*kind.Operation[liveRole]{
		"trustPolicy": trust, "description": update, "maxSessionDuration": update, "permissionsBoundary": bound,
	})
	compareInline(d, want, live)
	compareBindings(d, want, live)
	reconcile.Set(d, "managedPolicies", want.ManagedPolicies, live.managed, "AttachRolePolicy", attach)
}

func compareInline(d *roleDiff, want RoleProps, live liveRole) {
	declared, there := map[string]any{}, map[string]any{}
	for name, document := range want.Inline {
		declared[name] = aws.CanonicalPolicy(document)
	}
	for name, document := range live.inline {
		if name != grantsPolicy {
			there[name] = aws.CanonicalPolicy(document)
		}
	}
	reconcile.Map(d, "inline", declared, there, "PutRolePolicy",
		func(ctx context.Context, on kind.Update[liveRole], put map[string]any, drop []string) error {
			client := clientOf(on.Cloud)
			for name := range put {
				if err := putInline(ctx, client, on.Live.attrs.Name, name, want.Inline[name]); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			for _, name := range drop {
				if err := dropInline(ctx, client, on.Live.attrs.Name, name); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			return nil
		})
}

func putInline(ctx context.Context, client *sdk.Client, role, name string, document any) error {
	_, err := client.PutRolePolicy(ctx, &sdk.PutRolePolicyInput{RoleName: &role, PolicyName: &name, PolicyDocument: aws.Text(document)})
	return aws.NotYet(err)
}

// mostAttached is how many managed policies a role may have, unless its account has leave for more:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
const mostAttached = 10

// attach puts new policies beside the old ones before those go, so that the role can do at every moment what it can do
// before and after; not where there is no room for that.
func attach(ctx context.Context, on kind.Update[liveRole], add, drop []aws.ARN) error {
	client, role := clientOf(on.Cloud), on.Live.attrs.Name
	attach := func() error {
		for _, arn := range add {
			_, err := client.AttachRolePolicy(ctx, &sdk.AttachRolePolicyInput{RoleName: &role, PolicyArn: new(string(arn))})
			if err := missing(ctx, client, arn, err); err != nil {
				return err
			}
		}
		return nil
	}
	detachAll := func() error {
		for _, arn := range drop {
			if err := detach(ctx, client, role, arn); err != nil {
				return err
			}
		}
		return nil
	}
	first, second := attach, detachAll
	if len(on.Live.managed)+len(add) > mostAttached {
		first, second = detachAll, attach
	}
	if err := first(); err != nil {
		return err
	}
	return second()
}

func tagRole(ctx context.Context, u kind.Update[liveRole], tags map[string]string) error {
	_, err := clientOf(u.Cloud).TagRole(ctx, &sdk.TagRoleInput{RoleName: &u.Live.attrs.Name, Tags: tagList(tags)})
	return err
}

func untagRole(ctx context.Context, u kind.Update[liveRole], keys []string) error {
	_, err := clientOf(u.Cloud).UntagRole(ctx, &sdk.UntagRoleInput{RoleName: &u.Live.attrs.Name, TagKeys: keys})
	return err
}
