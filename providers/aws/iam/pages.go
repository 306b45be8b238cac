package iam

import (
	"context"

	sdk "github.com/aws/aws-sdk-go-v2/service/iam"
)

// Paginators get a single operation each, and not the client: a client that becomes an interface is linked with every
// operation of its service, since templates may call any method by its name.
type (
	listAttachedRolePoliciesCall    func(context.Context, *sdk.ListAttachedRolePoliciesInput, ...func(*sdk.Options)) (*sdk.ListAttachedRolePoliciesOutput, error)
	listEntitiesForPolicyCall       func(context.Context, *sdk.ListEntitiesForPolicyInput, ...func(*sdk.Options)) (*sdk.ListEntitiesForPolicyOutput, error)
	listInstanceProfilesForRoleCall func(context.Context, *sdk.ListInstanceProfilesForRoleInput, ...func(*sdk.Options)) (*sdk.ListInstanceProfilesForRoleOutput, error)
	listPoliciesCall                func(context.Context, *sdk.ListPoliciesInput, ...func(*sdk.Options)) (*sdk.ListPoliciesOutput, error)
	listPolicyVersionsCall          func(context.Context, *sdk.ListPolicyVersionsInput, ...func(*sdk.Options)) (*sdk.ListPolicyVersionsOutput, error)
	listRolePoliciesCall            func(context.Context, *sdk.ListRolePoliciesInput, ...func(*sdk.Options)) (*sdk.ListRolePoliciesOutput, error)
	listRolesCall                   func(context.Context, *sdk.ListRolesInput, ...func(*sdk.Options)) (*sdk.ListRolesOutput, error)
)

// ListAttachedRolePolicies makes the call.
func (call listAttachedRolePoliciesCall) ListAttachedRolePolicies(ctx context.Context, in *sdk.ListAttachedRolePoliciesInput, o ...func(*sdk.Options)) (*sdk.ListAttachedRolePoliciesOutput, error) {
	return call(ctx, in, o...)
}

// ListEntitiesForPolicy makes the call.
func (call listEntitiesForPolicyCall) ListEntitiesForPolicy(ctx context.Context, in *sdk.ListEntitiesForPolicyInput, o ...func(*sdk.Options)) (*sdk.ListEntitiesForPolicyOutput, error) {
	return call(ctx, in, o...)
}

// ListInstanceProfilesForRole makes the call.
func (call listInstanceProfilesForRoleCall) ListInstanceProfilesForRole(ctx context.Context, in *sdk.ListInstanceProfilesForRoleInput, o ...func(*sdk.Options)) (*sdk.ListInstanceProfilesForRoleOutput, error) {
	return call(ctx, in, o...)
}

// ListPolicies makes the call.
func (call listPoliciesCall) ListPolicies(ctx context.Context, in *sdk.ListPoliciesInput, o ...func(*sdk.Options)) (*sdk.ListPoliciesOutput, error) {
	return call(ctx, in, o...)
}

// ListPolicyVersions makes the call.
func (call listPolicyVersionsCall) ListPolicyVersions(ctx context.Context, in *sdk.ListPolicyVersionsInput, o ...func(*sdk.Options)) (*sdk.ListPolicyVersionsOutput, error) {
	return call(ctx, in, o...)
}

// ListRolePolicies makes the call.
func (call listRolePoliciesCall) ListRolePolicies(ctx context.Context, in *sdk.ListRolePoliciesInput, o ...func(*sdk.Options)) (*sdk.ListRolePoliciesOutput, error) {
	return call(ctx, in, o...)
}

// ListRoles makes the call.
func (call listRolesCall) ListRoles(ctx context.Context, in *sdk.ListRolesInput, o ...func(*sdk.Options)) (*sdk.ListRolesOutput, error) {
	return call(ctx, in, o...)
}
