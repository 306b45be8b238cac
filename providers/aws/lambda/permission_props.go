package lambda

import "github.com/athanor-dev/athanor/providers/aws"

// PermissionProps declare one statement of a function's policy: leave to call it. Limits are those of
// https://docs.aws.amazon.com/lambda/latest/api/API_AddPermission.html
type PermissionProps struct {
	// Function is the ARN of the function, or of a version or an alias of it. Changing it replaces the statement.
	Function aws.ARN `prop:"required"`
	// Principal is who may: a service such as events.amazonaws.com, an account, the ARN of a user or role, or * for
	// everybody. Changing it replaces the statement.
	Principal string `prop:"required"`
	// Action is what they may. Default: lambda:InvokeFunction. Changing it replaces the statement.
	Action *string
	// SourceARN is the resource on whose behalf a service calls; * stands for any text. Without it, or sourceAccount, the
	// service may call for anybody's. Default: none. Changing it replaces the statement.
	SourceARN aws.ARN
	// SourceAccount is the account of that resource, for ARNs that do not name it. Default: none. Changing it replaces the
	// statement.
	SourceAccount string
	// PrincipalOrgID is the organization that principals must be in. Default: none. Changing it replaces the statement.
	PrincipalOrgID string
	// EventSourceToken is what an Alexa skill must show. Default: none. Changing it replaces the statement.
	EventSourceToken string
	// FunctionURLAuth is the auth that the function's URL must have, for lambda:InvokeFunctionUrl. Default: none. Changing it
	// replaces the statement.
	FunctionURLAuth *string `prop:"enum=AWS_IAM|NONE"`
	// InvokedViaURL: only calls through the function's URL. Default: false. Changing it replaces the statement.
	InvokedViaURL bool
	// StatementID names the statement: up to 100 letters, digits, - and _. Default: none, one is generated. Changing it
	// replaces the statement.
	StatementID string
}

// Permission is what others may refer to of a permission.
type Permission struct {
	// Function as it was declared.
	Function aws.ARN
	// StatementID is the name of the statement in the function's policy.
	StatementID string
}
