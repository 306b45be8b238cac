package stacks_test

import (
	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/cognito"
	"github.com/athanor-dev/athanor/providers/aws/iam"
)

// signedIn has a pool of users who prove who they are by text messages, and a client of it.
func signedIn(word string) athanor.Program {
	return func(s *athanor.Stack) error {
		texter := iam.NewRole(s, "texter", iam.RoleProps{
			TrustPolicy: iam.ServiceTrust("cognito-idp.amazonaws.com"),
			Bindings:    []aws.Statement{{Actions: []string{"sns:Publish"}, Resources: []string{"*"}}},
		})
		attributes := map[string]cognito.Attribute{"first": {}}
		attributes[word] = cognito.Attribute{}
		users := cognito.NewUserPool(s, "users", cognito.UserPoolProps{
			MFA: new(map[bool]string{true: "ON", false: "OPTIONAL"}[word == "second"]), Factors: []string{"sms"}, SMS: cognito.SMS{Role: texter.ARN, ExternalID: word},
			Attributes: attributes, DeletionProtection: word == "second", Tags: map[string]string{"team": "shop"}, // of which moto changes none
		}, athanor.AllowDelete())
		cognito.NewUserPoolClient(s, "web", cognito.UserPoolClientProps{UserPool: users.ID, TokenRevocation: new(word == "first")})
		return nil
	}
}
