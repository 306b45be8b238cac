package cloudcontrol

import (
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	contract "github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// partsOf are the types whose resources become a part of another resource, which may state all of its parts. The schemas do not
// say so. A test derives from them which types there are to be decided about.
var partsOf = map[string][]contract.Part{
	// Kinds of this provider. Types that set what they state and nothing else are refused, see [aws.Service.Registry].
	"AWS::ApiGatewayV2::Authorizer":               {{Prop: "ApiId", Kind: httpAPI, States: "authorizers"}},
	"AWS::ApiGatewayV2::Integration":              {{Prop: "ApiId", Kind: httpAPI, States: "routes", Always: true}},
	"AWS::ApiGatewayV2::Route":                    {{Prop: "ApiId", Kind: httpAPI, States: "routes", Always: true}},
	"AWS::ApiGatewayV2::Stage":                    {{Prop: "ApiId", Kind: httpAPI, States: "stages", Always: true}},
	"AWS::KMS::Alias":                             {{Prop: "TargetKeyId", Kind: "aws.kms.Key", States: "aliases", Always: true}},
	"AWS::SecretsManager::SecretTargetAttachment": {{Prop: "SecretId", Kind: "aws.secretsmanager.Secret", States: "value"}},

	// Other types, which state their parts where their property is declared.
	"AWS::AccessAnalyzer::ArchiveRule":    {{Prop: "AnalyzerName", Kind: "AWS::AccessAnalyzer::Analyzer", States: "ArchiveRules"}},
	"AWS::EC2::SecurityGroupEgress":       {{Prop: "GroupId", Kind: securityGroup, States: "SecurityGroupEgress"}},
	"AWS::EC2::SecurityGroupIngress":      {{Prop: "GroupId", Kind: securityGroup, States: "SecurityGroupIngress"}},
	"AWS::IAM::GroupPolicy":               {{Prop: "GroupName", Kind: "AWS::IAM::Group", States: "Policies"}},
	"AWS::IAM::UserPolicy":                {{Prop: "UserName", Kind: "AWS::IAM::User", States: "Policies"}},
	"AWS::MediaConnect::BridgeOutput":     {{Prop: "BridgeArn", Kind: "AWS::MediaConnect::Bridge", States: "Outputs"}},
	"AWS::MediaConnect::BridgeSource":     {{Prop: "BridgeArn", Kind: "AWS::MediaConnect::Bridge", States: "Sources"}},
	"AWS::MediaConnect::FlowMediaStream":  {{Prop: "FlowArn", Kind: "AWS::MediaConnect::Flow", States: "MediaStreams"}},
	"AWS::MediaConnect::FlowVpcInterface": {{Prop: "FlowArn", Kind: "AWS::MediaConnect::Flow", States: "VpcInterfaces"}},
	"AWS::SSMContacts::Plan":              {{Prop: "ContactId", Kind: "AWS::SSMContacts::Contact", States: "Plan"}},
}

const (
	httpAPI       = "aws.apigatewayv2.HTTPAPI"
	securityGroup = "AWS::EC2::SecurityGroup"
)

// namePart is a property that is a part of the name of a resource, and its value where it is left out.
type namePart struct {
	at      tree.Path
	without string
}

// namesakes are the types that are tagged, or are not identified by their name, and create what a kind of this provider creates too.
// That kind states the same words, see [aws.Declares].
var namesakes = map[string][]namePart{
	"AWS::CloudFront::OriginAccessControl": {{at: "OriginAccessControlConfig.Name"}},
	"AWS::ECR::Repository":                 {{at: "RepositoryName"}},
	"AWS::Lambda::Alias":                   {{at: "FunctionName"}, {at: "Name"}},
	"AWS::Scheduler::Schedule":             {{"GroupName", "default"}, {at: "Name"}},
	"AWS::StepFunctions::StateMachine":     {{at: "StateMachineName"}},
}

// unique says which objects a resource is, where nothing on the object says whose it is: two of them would undo each other's work.
func (k *kind) unique() func(object) []string {
	names := namesakes[k.Name]
	if names == nil && k.tags == nil && k.Finding() == registry.ByName {
		for _, p := range k.ID {
			names = append(names, namePart{at: p})
		}
	}
	if names == nil {
		return nil
	}
	return func(want object) []string {
		values := make([]string, len(names))
		for i, n := range names {
			if values[i] = textAt(want, n.at); values[i] == "" {
				values[i] = n.without
			}
		}
		return aws.Declares(k.Name, values...)
	}
}
