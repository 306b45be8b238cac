package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry/structs"
)

// typed are the types whose Go structs are part of athanor, which has those of every other type by its command generate: those that programs use most, without those that have a kind of their own
// or that one is planned for.
var typed = []string{
	"AWS::AutoScaling::AutoScalingGroup", "AWS::CertificateManager::Certificate", "AWS::CloudFront::Distribution", "AWS::CloudFront::OriginAccessControl",
	"AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard", "AWS::Cognito::UserPool", "AWS::Cognito::UserPoolClient", "AWS::EC2::EIP", "AWS::EC2::Instance",
	"AWS::EC2::InternetGateway", "AWS::EC2::LaunchTemplate", "AWS::EC2::NatGateway", "AWS::EC2::Route", "AWS::EC2::RouteTable", "AWS::EC2::SecurityGroup",
	"AWS::EC2::Subnet", "AWS::EC2::SubnetRouteTableAssociation", "AWS::EC2::VPC", "AWS::EC2::VPCEndpoint", "AWS::EC2::VPCGatewayAttachment",
	"AWS::ECR::Repository", "AWS::ECS::Cluster", "AWS::ECS::Service", "AWS::ECS::TaskDefinition", "AWS::EFS::FileSystem", "AWS::ElastiCache::ReplicationGroup",
	"AWS::ElasticLoadBalancingV2::Listener", "AWS::ElasticLoadBalancingV2::ListenerRule", "AWS::ElasticLoadBalancingV2::LoadBalancer",
	"AWS::ElasticLoadBalancingV2::TargetGroup", "AWS::KMS::Alias", "AWS::KMS::Key", "AWS::Kinesis::Stream", "AWS::Pipes::Pipe", "AWS::RDS::DBCluster",
	"AWS::RDS::DBInstance", "AWS::RDS::DBSubnetGroup", "AWS::Scheduler::Schedule", "AWS::StepFunctions::StateMachine",
}

// writeTyped writes a package for each service, with structs for its types.
func writeTyped(dir string, types map[string]*registry.Type) error {
	services := map[string][]*registry.Type{}
	for _, name := range typed {
		t := types[name]
		if t == nil {
			return fmt.Errorf("%s is no type", name)
		}
		services[structs.Package(name)] = append(services[structs.Package(name)], t)
	}
	for _, service := range keys(services) {
		text, err := structs.Source(service, "registry/internal/generate", services[service]...)
		if err != nil {
			return fmt.Errorf("%s: %w", service, err)
		}
		if err := os.MkdirAll(filepath.Join(dir, service), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, service, service+".go"), text, 0o644); err != nil { //nolint:gosec // it is source
			return err
		}
	}
	return nil
}
