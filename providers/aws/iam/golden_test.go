package iam

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	sdk "github.com/aws/aws-sdk-go-v2/service/iam"
)

// TestGolden has the parameters of https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html and of
// API_CreatePolicy.html beside it that go as they are declared: a session counts seconds, and documents are JSON in text.
func TestGolden(t *testing.T) {
	const document = `{"Statement":[{"Action":"s3:Get*","Effect":"Allow","Resource":"*"}],"Version":"2012-10-17"}`
	awstest.GoldenStruct(t, roleTable, obj{
		"path": "/jobs/night/", "trustPolicy": trust("lambda"), "description": "works & sleeps", "maxSessionDuration": "12h",
	}, &sdk.CreateRoleInput{
		Path: new("/jobs/night/"), Description: new("works & sleeps"), MaxSessionDuration: new(int32(43200)),
		AssumeRolePolicyDocument: new(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow",` +
			`"Principal":{"Service":"lambda.amazonaws.com"},"Action":"sts:AssumeRole"}]}`),
	})
	awstest.GoldenStruct(t, policyTable, obj{"path": "/shop/", "description": "reads", "document": allow("s3:Get*", "*")}, &sdk.CreatePolicyInput{
		Path: new("/shop/"), Description: new("reads"), PolicyDocument: new(document),
	})
}
