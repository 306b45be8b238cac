package stacks_test

import (
	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/iam"
	"github.com/athanor-dev/athanor/providers/aws/lambda"
)

// published has a layer, a function with its versions, and an alias that leads to the newest. A change of the function publishes another one.
func published(word string) athanor.Program {
	return func(s *athanor.Stack) error {
		role := iam.NewRole(s, "role", iam.RoleProps{
			TrustPolicy: iam.ServiceTrust("lambda.amazonaws.com"),
			Bindings:    []aws.Statement{{Actions: []string{"s3:GetObject"}, Resources: []string{"*"}}},
		})
		lambda.NewLayer(s, "shared", lambda.LayerProps{Code: lambda.LayerCode{Zip: "code.zip"}, Description: word})
		fn := lambda.NewFunction(s, "worker", lambda.FunctionProps{
			Code: lambda.Code{Zip: "code.zip"}, Role: role.ARN, Runtime: new("python3.14"), Handler: new("main.handler"), Description: word,
		})
		version := lambda.NewVersion(s, "version", lambda.VersionProps{Function: fn.ARN, Follows: fn.CodeDigest, Keep: new(0)})
		lambda.NewAlias(s, "live", lambda.AliasProps{
			Function: fn.ARN, Name: "live", Version: version.Version, Description: word, ProvisionedConcurrency: new(len(word)),
		})
		return nil
	}
}
