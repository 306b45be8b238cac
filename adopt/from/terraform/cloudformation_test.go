package terraform

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// stackSource reads stacks with the kinds of testdata/kinds.json.
func stackSource(t testing.TB) CloudFormation {
	return CloudFormation{Name: "cloudformation", Find: kindsOf(t), Identifier: func(typ string) []string {
		return map[string][]string{
			"AWS::EC2::VPC": {"VpcId"}, "AWS::EC2::Subnet": {"SubnetId"}, "AWS::EC2::InternetGateway": {"InternetGatewayId"},
			"AWS::EC2::VPCGatewayAttachment": {"AttachmentType", "VpcId"}, "AWS::EC2::RouteTable": {"RouteTableId"}, "AWS::EC2::Route": {"RouteTableId", "CidrBlock"},
		}[typ]
	}}
}

// deployedStack is a stack as the API tells of it, with resources as LOGICAL=PHYSICAL.
func deployedStack(template string, parameters map[string]string, resources ...string) *DeployedStack {
	s := &DeployedStack{
		Name: "Shop", ID: "arn:aws:cloudformation:eu-north-1:123456789012:stack/Shop/1", Region: "eu-north-1", Account: "123456789012", Partition: "aws",
		Template: template, Parameters: parameters,
	}
	for _, r := range resources {
		logical, physical, _ := strings.Cut(r, "=")
		s.Resources = append(s.Resources, DeployedResource{Logical: logical, Physical: physical})
	}
	return s
}

func stackDraft(t testing.TB, s *DeployedStack) from.Draft {
	t.Helper()
	content, err := s.File()
	if err != nil {
		t.Fatal(err)
	}
	d, err := stackSource(t).Draft(from.File{Name: "Shop", Content: content}, from.Options{Name: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func textOfStack(t testing.TB, s from.Stack) string {
	t.Helper()
	text, err := s.YAML("")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestStackFunctions evaluates the functions of templates.
func TestStackFunctions(t *testing.T) {
	for value, want := range map[string]string{
		`!Ref AWS::Region`:                                  "eu-north-1",
		`!Sub "${AWS::StackName}-${Stage}-${!Kept}"`:        "Shop-prod-${Kept}",
		`!Sub ["${a}/${Stage}", {a: !Ref Stage}]`:           "prod/prod",
		`!Join ["-", [a, !Ref Stage]]`:                      "a-prod",
		`!Select [1, !Split [",", "x,y,z"]]`:                "y",
		`!If [IsProd, big, small]`:                          "big",
		`!If [Both, big, small]`:                            "small",
		`!FindInMap [Sizes, !Ref Stage, name]`:              "large",
		`{"Fn::ImportValue": !Sub "${Stage}-net"}`:          "vpc-1234abcd",
		`{"Fn::Base64": hello}`:                             "aGVsbG8=",
		`!Select [0, !Ref Zones]`:                           "a",
		`!Join [",", !Ref Zones]`:                           "a,b",
		`{"Fn::ToJsonString": {a: [1, !Ref Stage]}}`:        `{"a":[1,"prod"]}`,
		`!GetAtt Other.Arn`:                                 "arn:aws:sqs:eu-north-1:123456789012:other-1",
		`!Sub "${Other.QueueName}!"`:                        "other-1!",
		`{"Fn::GetAtt": [Other, QueueName]}`:                "other-1",
		`!FindInMap [Sizes, none, name, {DefaultValue: d}]`: "d",
	} {
		s := deployedStack(`
Parameters: {Stage: {Type: String}, Zones: {Type: CommaDelimitedList, Default: "a, b"}}
Mappings: {Sizes: {prod: {name: large}}}
Conditions: {IsProd: !Equals [!Ref Stage, prod], Both: !And [!Condition IsProd, !Not [!Condition IsProd]]}
Resources:
  Other: {Type: AWS::SQS::Queue}
  Value: {Type: AWS::SSM::Parameter, Properties: {Type: String, Value: `+value+`}}
`, map[string]string{"Stage": "prod"}, "Other=https://sqs.eu-north-1.amazonaws.com/123456789012/other-1", "Value=value-1")
		s.Imports = map[string]string{"prod-net": "vpc-1234abcd"}
		for _, r := range stackDraft(t, s).Resources() {
			if r.Kind == "aws.ssm.Parameter" && r.Props["value"] != want {
				t.Errorf("%s is %q, want %q", value, r.Props["value"], want)
			}
		}
	}
}

const netTemplate = `{"Resources": {
  "Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16", "EnableDnsSupport": "true"}},
  "Gateway": {"Type": "AWS::EC2::InternetGateway"},
  "Attached": {"Type": "AWS::EC2::VPCGatewayAttachment", "Properties": {"VpcId": {"Ref": "Vpc"}, "InternetGatewayId": {"Ref": "Gateway"}}},
  "Table": {"Type": "AWS::EC2::RouteTable", "Properties": {"VpcId": {"Ref": "Vpc"}}},
  "Route": {"Type": "AWS::EC2::Route", "DependsOn": "Attached", "Properties": {"RouteTableId": {"Ref": "Table"}, "DestinationCidrBlock": "0.0.0.0/0", "GatewayId": {"Ref": "Gateway"}}},
  "Group": {"Type": "AWS::EC2::SecurityGroup", "Properties": {"GroupDescription": "web", "VpcId": {"Ref": "Vpc"}}},
  "Named": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "/net/default", "Type": "String", "Value": {"Fn::GetAtt": ["Vpc", "DefaultSecurityGroup"]}}},
  "Asked": {"Type": "Custom::Lookup", "Properties": {"ServiceToken": "x"}}
}}`

func netStack() *DeployedStack {
	return deployedStack(netTemplate, nil, "Vpc=vpc-0123456789abcdef0", "Gateway=igw-0123456789abcdef0", "Attached=IGW|vpc-0123456789abcdef0",
		"Table=rtb-0123456789abcdef0", "Route=Shop-Route-1", "Group=sg-0123456789abcdef0", "Named=/net/default", "Asked=asked-1")
}

// TestStackOfTheRegistry declares types of the registry by their own names, with the identities that their schemas have. An attribute
// that the template does not tell is a reference, and its value what the object has when it is read.
func TestStackOfTheRegistry(t *testing.T) {
	d := stackDraft(t, netStack())
	ids := map[string]string{}
	for _, r := range d.Resources() {
		ids[r.Address] = r.Adopt
	}
	for address, want := range map[string]string{
		"Vpc": "vpc-0123456789abcdef0", "Route": "rtb-0123456789abcdef0|0.0.0.0/0", "Group": "sg-0123456789abcdef0",
		"Named": "arn:aws:ssm:eu-north-1:123456789012:parameter/net/default", "Table": "rtb-0123456789abcdef0",
	} {
		if ids[address] != want {
			t.Errorf("%s has the identity %q, want %q", address, ids[address], want)
		}
	}
	for name, observed := range map[string]map[string]from.Observed{
		"read": {"Named": {Props: map[string]any{"name": "/net/default", "type": "String", "value": "sg-0fedcba9876543210"}, Differs: []tree.Path{"value"}}},
		"not":  nil,
	} {
		s := stackDraft(t, netStack()).Stack(observed)
		text := textOfStack(t, s)
		for _, want := range []string{"EnableDnsSupport: true", "VpcId: ${Vpc.VpcId}", "GatewayId: ${Gateway.InternetGatewayId}", "value: ${Vpc.DefaultSecurityGroup}"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: there is no %s in\n%s", name, want, text)
			}
		}
		if strings.Contains(text, unresolved) || len(s.Drifts) != 0 {
			t.Errorf("%s: %v\n%s", name, s.Drifts, text)
		}
		listed := 0
		for _, e := range s.Entries {
			if e.Source == "Asked" && e.Outcome == from.Unmapped {
				listed++
			}
		}
		if listed != 1 {
			t.Errorf("%s: the custom resource is listed %d times: %+v", name, listed, s.Entries)
		}
	}
}

// TestStackOfTheEdge declares keys, certificates and distributions by kinds of their own, and those with more by the types of the registry.
func TestStackOfTheEdge(t *testing.T) {
	text := textOfStack(t, stackDraft(t, deployedStack(`
Resources:
  Key: {Type: AWS::KMS::Key, Properties: {Description: of the shop, EnableKeyRotation: true, RotationPeriodInDays: 90, PendingWindowInDays: 7, KeyPolicy: {Version: "2012-10-17", Statement: []}}}
  Alias: {Type: AWS::KMS::Alias, Properties: {AliasName: alias/shop, TargetKeyId: !GetAtt Key.Arn}}
  Other: {Type: AWS::KMS::Alias, Properties: {AliasName: alias/other, TargetKeyId: 1234abcd-12ab-34cd-56ef-1234567890ab}}
  Zone: {Type: AWS::Route53::HostedZone, Properties: {Name: shop.example}}
  Cert:
    Type: AWS::CertificateManager::Certificate
    Properties: {DomainName: shop.example, SubjectAlternativeNames: [www.shop.example], ValidationMethod: DNS, DomainValidationOptions: [{DomainName: shop.example, HostedZoneId: !Ref Zone}], Tags: [{Key: team, Value: a}]}
  Mail: {Type: AWS::CertificateManager::Certificate, Properties: {DomainName: mail.shop.example}}
  Tasks: {Type: AWS::ECS::Cluster, Properties: {ClusterSettings: [{Name: containerInsights, Value: enabled}]}}
  Spot: {Type: AWS::ECS::Cluster, Properties: {CapacityProviders: [FARGATE_SPOT]}}
  Site: {Type: AWS::S3::Bucket}
  Control: {Type: AWS::CloudFront::OriginAccessControl, Properties: {OriginAccessControlConfig: {Name: site, OriginAccessControlOriginType: s3, SigningBehavior: always, SigningProtocol: sigv4}}}
  Cdn:
    Type: AWS::CloudFront::Distribution
    Properties:
      Tags: [{Key: team, Value: a}]
      DistributionConfig:
        Enabled: true
        Comment: the site
        Aliases: [shop.example]
        HttpVersion: http2
        DefaultRootObject: index.html
        ViewerCertificate: {AcmCertificateArn: !Ref Cert, SslSupportMethod: sni-only, MinimumProtocolVersion: TLSv1.2_2021}
        Origins: [{Id: site, DomainName: !GetAtt Site.RegionalDomainName, OriginAccessControlId: !GetAtt Control.Id, S3OriginConfig: {OriginAccessIdentity: ""}}]
        DefaultCacheBehavior: {TargetOriginId: site, ViewerProtocolPolicy: redirect-to-https, CachePolicyId: 658327ea-f89d-4fab-a63d-7e88639e58f6, Compress: true}
        CustomErrorResponses: [{ErrorCode: 404, ResponseCode: 200, ResponsePagePath: /index.html, ErrorCachingMinTTL: 30}]
  Walled:
    Type: AWS::CloudFront::Distribution
    Properties: {DistributionConfig: {Enabled: true, WebACLId: arn:aws:wafv2:us-east-1:123456789012:global/webacl/x/y, Origins: [{Id: x, DomainName: x.example, S3OriginConfig: {}}],
      DefaultCacheBehavior: {TargetOriginId: x, ViewerProtocolPolicy: allow-all, CachePolicyId: 658327ea-f89d-4fab-a63d-7e88639e58f6}}}
  Record: {Type: AWS::Route53::RecordSet, Properties: {HostedZoneId: !Ref Zone, Name: shop.example, Type: A, AliasTarget: {HostedZoneId: Z2FDTNDATAQYW2, DNSName: !GetAtt Cdn.DomainName}}}
Outputs:
  Domain: {Value: !GetAtt Cdn.DomainName}
  Cluster: {Value: !GetAtt Tasks.Arn}
`, nil, "Tasks=tasks-1", "Spot=spot-1", "Key=1234abcd-12ab-34cd-56ef-000000000001", "Alias=alias/shop", "Other=alias/other", "Zone=Z0123456789ABC", "Cert=arn:aws:acm:us-east-1:123456789012:certificate/c-1",
		"Mail=arn:aws:acm:us-east-1:123456789012:certificate/c-2", "Site=site-1", "Control=E327GJI25M56DG", "Cdn=E2QWRUHAPOMQZL", "Walled=E2QWRUHAPOMQZM", "Record=shop.example")).Stack(nil))
	for _, want := range []string{
		"kind: aws.kms.Key", "- alias/shop", "rotationPeriod: 90d", "deletionWindow: 7d", "adopt: arn:aws:kms:eu-north-1:123456789012:key/1234abcd-12ab-34cd-56ef-000000000001",
		"kind: AWS::KMS::Alias", "AliasName: alias/other", "kind: aws.acm.Certificate", "hostedZoneId: ${Zone.id}", "- www.shop.example", "kind: AWS::CertificateManager::Certificate",
		"kind: aws.cloudfront.OriginAccessControl", "kind: aws.cloudfront.Distribution", "certificate: ${Cert.arn}", "accessControl: ${Control.id}", "domain: ${Site.regionalDomainName}",
		"status: 200", "cacheFor: 30s", "ipv6: false", "team: a", "kind: aws.ecs.Cluster", "containerInsights: enabled", "Cluster: ${Tasks.arn}", "kind: AWS::ECS::Cluster", "- FARGATE_SPOT", "kind: AWS::CloudFront::Distribution", "WebACLId: arn:aws:wafv2", "dnsName: ${Cdn.domainName}",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestStackSecrets seals the value of a parameter that CloudFormation shows to nobody, which only the object tells.
func TestStackSecrets(t *testing.T) {
	s := deployedStack(`
Parameters: {Word: {Type: String, NoEcho: true}}
Resources:
  P: {Type: AWS::SSM::Parameter, Properties: {Name: p, Type: String, Value: !Sub "user:${Word}@db"}}
`, map[string]string{"Word": "****"}, "P=p")
	stack := stackDraft(t, s).Stack(map[string]from.Observed{"P": {Props: map[string]any{"name": "p", "value": "user:plain-words@db"}}})
	text := textOfStack(t, stack)
	if len(stack.Secrets) != 1 || stack.Secrets[0].Value != "plain-words" || !strings.Contains(text, "user:${secret.wordWord}@db") && !strings.Contains(text, "user:${secret.") {
		t.Errorf("%+v\n%s", stack.Secrets, text)
	}
	if strings.Contains(text, "plain-words") {
		t.Error(text)
	}
	unread := stackDraft(t, s).Stack(nil)
	if text := textOfStack(t, unread); strings.Contains(text, unresolved) || !strings.Contains(unread.Entries[0].Text, "value") {
		t.Errorf("%+v\n%s", unread.Entries, text)
	}
}

// TestNestedStacks makes scopes of nested stacks, and follows their outputs.
func TestNestedStacks(t *testing.T) {
	s := deployedStack(`
Resources:
  Net: {Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: x}}
  Group: {Type: AWS::EC2::SecurityGroup, Properties: {GroupDescription: web, VpcId: !GetAtt Net.Outputs.Vpc}}
`, nil, "Net=arn:aws:cloudformation:eu-north-1:123456789012:stack/Net/1", "Group=sg-0123456789abcdef0")
	net := deployedStack(`{"Resources": {"Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}}}}`, nil, "Vpc=vpc-0123456789abcdef0")
	net.Outputs = map[string]string{"Vpc": "vpc-0123456789abcdef0"}
	s.Nested = map[string]*DeployedStack{"Net": net}
	text := textOfStack(t, stackDraft(t, s).Stack(nil))
	if !strings.Contains(text, "Net/Vpc:") || !strings.Contains(text, "VpcId: ${Net/Vpc.VpcId}") {
		t.Error(text)
	}
}

// TestConstructNames names resources as the program of CDK does.
func TestConstructNames(t *testing.T) {
	resource := func(path string) any { return map[string]any{"Metadata": map[string]any{"aws:cdk:path": path}} }
	names := constructNames(map[string]any{
		"A": resource("Prod/Shop/Orders/Resource"), "B": resource("Prod/Shop/Worker/ServiceRole/Resource"), "C": resource("Prod/Shop/CDKMetadata/Default"),
		"D": map[string]any{},
	})
	for logical, want := range map[string]string{"A": "Orders", "B": "Worker/ServiceRole", "C": "CDKMetadata"} {
		if have := strings.Join(append(names[logical].scopes, names[logical].name), "/"); have != want {
			t.Errorf("%s is %s, want %s", logical, have, want)
		}
	}
}

// TestTemplateAlone reads a template of which nothing is deployed: what has a name is found by it, the rest is listed.
func TestTemplateAlone(t *testing.T) {
	source := stackSource(t)
	file := from.File{Name: "shop.yaml", Content: []byte("Resources:\n  Q: {Type: AWS::SQS::Queue, Properties: {QueueName: orders}}\n  V: {Type: AWS::EC2::VPC}\n")}
	if !source.Recognizes(file) {
		t.Error("a template is not recognised")
	}
	d, err := source.Draft(file, from.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := d.Stack(nil)
	if len(s.Entries) != 2 || s.Entries[0].Outcome != from.Mapped || s.Entries[1].Outcome != from.Unmapped || !strings.Contains(s.Entries[1].Text, "identity") {
		t.Errorf("%+v", s.Entries)
	}
	if text := textOfStack(t, s); !strings.Contains(text, "name: orders") || strings.Contains(text, "adopt:") {
		t.Error(text)
	}
}

// TestHostileTemplates reads templates that are damaged, deep, or refer to themselves.
func TestHostileTemplates(t *testing.T) {
	for name, template := range map[string]string{
		"empty": "", "no resources": "Parameters: {}", "aliases": "Resources: {A: &a {Type: AWS::SQS::Queue}, B: *a}",
		"deep": `{"Resources": ` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}", "deep YAML": "Resources: " + strings.Repeat("[", 200) + strings.Repeat("]", 200),
		"no YAML": "Resources: {\x00",
	} {
		content, err := deployedStack(template, nil).File()
		if err != nil {
			t.Fatal(err)
		}
		_, err = stackSource(t).Draft(from.File{Name: "s", Content: content}, from.Options{})
		if !errors.Is(err, errDamaged) && !errors.Is(err, errNoTemplate) {
			t.Errorf("%s: %v", name, err)
		}
	}
	loop := deployedStack(`{"Conditions": {"A": {"Condition": "B"}, "B": {"Condition": "A"}}, "Resources": {
		"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": {"Fn::GetAtt": ["P", "Name"]}, "Value": {"Fn::If": ["A", "x", "y ${stage} ${config.x}\n- z"]}}}}}`, nil, "P=p")
	text := textOfStack(t, stackDraft(t, loop).Stack(nil))
	if !strings.Contains(text, "$${stage} $${config.x}") {
		t.Error(text)
	}
}

// TestGrowingTemplates reads templates whose values and conditions are made of two of the one before: they are refused.
func TestGrowingTemplates(t *testing.T) {
	var resources, conditions strings.Builder
	for n := range 60 {
		fmt.Fprintf(&resources, `"P%d": {"Type": "AWS::SSM::Parameter", "Condition": "C0", "Properties": {"Type": "String", "Value":
			{"Fn::Join": ["", [{"Fn::GetAtt": ["P%d", "Value"]}, {"Fn::GetAtt": ["P%d", "Value"]}]]}}},`, n, n+1, n+1)
		fmt.Fprintf(&conditions, `"C%d": {"Fn::And": [{"Condition": "C%d"}, {"Condition": "C%d"}]},`, n, n+1, n+1)
	}
	template := `{"Conditions": {` + conditions.String() + `"C60": {"Fn::Equals": ["a", "a"]}}, "Resources": {` + resources.String() +
		`"P60": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "grow"}}}}`
	content, err := deployedStack(template, nil, "P0=p0", "P60=p60").File()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stackSource(t).Draft(from.File{Name: "s", Content: content}, from.Options{}); !errors.Is(err, errDamaged) {
		t.Errorf("%v", err)
	}
}

// FuzzTemplate reads any template: it never panics, and what comes out is written as YAML.
func FuzzTemplate(f *testing.F) {
	f.Add(netTemplate)
	f.Add("Resources:\n  A: {Type: AWS::SQS::Queue, Properties: {QueueName: !Sub '${A.Arn}'}}\n")
	f.Fuzz(func(t *testing.T, template string) {
		content, err := json.Marshal(deployedFile{deployedStack(template, nil, "A=a", "Vpc=vpc-1")})
		if err != nil {
			t.Skip()
		}
		d, err := stackSource(t).Draft(from.File{Name: "s", Content: content}, from.Options{Name: "s"})
		if err != nil {
			return
		}
		textOfStack(t, d.Stack(nil))
	})
}

// TestStackOfMachines declares state machines by a kind of their own, and one whose definition is in a bucket by the type of the registry.
func TestStackOfMachines(t *testing.T) {
	const arn = "arn:aws:states:eu-north-1:123456789012:stateMachine:"
	text := textOfStack(t, stackDraft(t, deployedStack(`
Resources:
  Role: {Type: AWS::IAM::Role, Properties: {RoleName: runs, AssumeRolePolicyDocument: {Version: "2012-10-17", Statement: []}}}
  Orders:
    Type: AWS::StepFunctions::StateMachine
    Properties:
      RoleArn: !GetAtt Role.Arn
      StateMachineType: EXPRESS
      DefinitionString: '{"StartAt": "Done", "States": {"Done": {"Type": "Succeed"}}}'
      LoggingConfiguration: {Level: ERROR, IncludeExecutionData: true, Destinations: [{CloudWatchLogsLogGroup: {LogGroupArn: "arn:aws:logs:eu-north-1:123456789012:log-group:orders:*"}}]}
      TracingConfiguration: {Enabled: true}
      EncryptionConfiguration: {KmsKeyId: "arn:aws:kms:eu-north-1:123456789012:key/1234abcd-12ab-34cd-56ef-000000000001", Type: CUSTOMER_MANAGED_KMS_KEY, KmsDataKeyReusePeriodSeconds: 120}
      Tags: [{Key: team, Value: a}]
  Stored: {Type: AWS::StepFunctions::StateMachine, Properties: {RoleArn: !GetAtt Role.Arn, DefinitionS3Location: {Bucket: b, Key: k}}}
Outputs:
  Machine: {Value: !Ref Orders}
`, nil, "Role=runs", "Orders="+arn+"orders", "Stored="+arn+"stored")).Stack(nil))
	for _, want := range []string{
		"kind: aws.sfn.StateMachine", "role: ${Role.arn}", "type: EXPRESS", "StartAt", "logLevel: ERROR", "logData: true", "log-group:orders", "tracing: true", "kmsKey: arn:aws:kms:", "keyReuse: 2m",
		"team: a", "Machine: ${Orders.arn}", "adopt: " + arn + "orders", "kind: AWS::StepFunctions::StateMachine", "Bucket: b",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}
