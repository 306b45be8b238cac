package cloudcontrol

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func tags(pairs ...string) list {
	var all list
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, obj{"Key": pairs[i], "Value": pairs[i+1]})
	}
	return all
}

const (
	onlyWritten = "it cannot be read back"
	identifies  = "with another it would be another route"
)

func TestVPC(t *testing.T) {
	suite{
		typ:  "AWS::EC2::VPC",
		base: obj{"CidrBlock": "10.0.0.0/16", "Tags": tags("team", "shop")},
		variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{
				"CidrBlock": "10.0.0.0/16", "EnableDnsHostnames": true, "EnableDnsSupport": false, "InstanceTenancy": "dedicated",
				"Tags": tags("cost center", "42", "team", "web"),
			}},
			{Name: "elsewhere", Props: obj{"CidrBlock": "10.1.0.0/16"}},
			{Name: "from a pool", Props: obj{"Ipv4IpamPoolId": "ipam-pool-1", "Ipv4NetmaskLength": int64(20), "VpcEncryptionControl": obj{"Mode": "monitor"}}},
		},
	}.run(t)
}

func TestSubnet(t *testing.T) {
	suite{
		typ:  "AWS::EC2::Subnet",
		base: obj{"VpcId": "vpc-1", "CidrBlock": "10.0.1.0/24"},
		variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{
				"VpcId": "vpc-1", "CidrBlock": "10.0.1.0/24", "AvailabilityZone": "eu-north-1a", "MapPublicIpOnLaunch": true, "EnableDns64": true,
				"AssignIpv6AddressOnCreation": true, "Ipv6CidrBlock": "2001:db8::/64", "EnableLniAtDeviceIndex": int64(1),
				"PrivateDnsNameOptionsOnLaunch": obj{"HostnameType": "resource-name", "EnableResourceNameDnsARecord": true, "EnableResourceNameDnsAAAARecord": true}, "Tags": tags("tier", "public"),
			}},
			{Name: "elsewhere", Props: obj{
				"VpcId": "vpc-2", "AvailabilityZoneId": "eun1-az1", "OutpostArn": "arn:aws:outposts:eu-north-1:1:outpost/op-1", "Ipv6Native": true,
				"Ipv4IpamPoolId": "pool-4", "Ipv4NetmaskLength": int64(24), "Ipv6IpamPoolId": "pool-6", "Ipv6NetmaskLength": int64(64),
			}},
		},
		steady: map[tree.Path]string{"EnableLniAtDeviceIndex": onlyWritten},
	}.run(t)
}

func TestSecurityGroup(t *testing.T) {
	web := list{
		obj{"IpProtocol": "tcp", "FromPort": int64(443), "ToPort": int64(443), "CidrIp": "0.0.0.0/0", "Description": "web"},
		obj{"IpProtocol": int64(6), "FromPort": int64(80), "ToPort": int64(80), "CidrIp": "10.0.0.0/8"},
	}
	suite{
		typ:  "AWS::EC2::SecurityGroup",
		base: obj{"GroupDescription": "web", "VpcId": "vpc-1", "SecurityGroupIngress": web},
		variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{
				"GroupDescription": "web", "VpcId": "vpc-1", "SecurityGroupIngress": web[:1],
				"SecurityGroupEgress": list{obj{"IpProtocol": "-1", "CidrIp": "10.0.0.0/8"}}, "Tags": tags("team", "web"),
			}},
			{Name: "every way", Props: obj{
				"GroupDescription": "web", "VpcId": "vpc-1",
				"SecurityGroupIngress": list{
					obj{"IpProtocol": "tcp", "CidrIpv6": "::/0"},
					obj{"IpProtocol": "udp", "SourcePrefixListId": "pl-1"},
					obj{"IpProtocol": "tcp", "SourceSecurityGroupId": "sg-9", "SourceSecurityGroupOwnerId": "123456789012"},
				},
				"SecurityGroupEgress": list{
					obj{"IpProtocol": "tcp", "CidrIpv6": "::/0", "FromPort": int64(1), "ToPort": int64(2), "Description": "out"},
					obj{"IpProtocol": "tcp", "DestinationPrefixListId": "pl-1"},
					obj{"IpProtocol": "udp", "DestinationSecurityGroupId": "sg-9"},
				},
			}},
			{Name: "by name", Props: obj{
				"GroupDescription": "other", "GroupName": "other", "VpcId": "vpc-2",
				"SecurityGroupIngress": list{obj{"IpProtocol": "tcp", "SourceSecurityGroupName": "admins"}},
			}},
		},
	}.run(t)
}

func TestLoadBalancer(t *testing.T) {
	suite{
		typ:  "AWS::ElasticLoadBalancingV2::LoadBalancer",
		base: obj{"Subnets": list{"subnet-1", "subnet-2"}},
		variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{
				"Subnets": list{"subnet-2", "subnet-3"}, "IpAddressType": "dualstack", "SecurityGroups": list{"sg-2", "sg-1"}, "Tags": tags("team", "web"),
				"LoadBalancerAttributes":      list{obj{"Key": "deletion_protection.enabled", "Value": "true"}},
				"MinimumLoadBalancerCapacity": obj{"CapacityUnits": int64(10)}, "EnableCapacityReservationProvisionStabilize": true,
				"EnablePrefixForIpv6SourceNat": "on", "EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic": "on", "Ipv4IpamPoolId": "pool-1",
			}},
			{Name: "internal", Props: obj{"Name": "front", "Scheme": "internal", "Type": "network", "SubnetMappings": list{obj{
				"SubnetId": "subnet-1", "AllocationId": "eipalloc-1", "IPv6Address": "2001:db8::1", "PrivateIPv4Address": "10.0.0.4", "SourceNatIpv6Prefix": "auto_assigned",
			}}}},
		},
		steady: map[tree.Path]string{"EnableCapacityReservationProvisionStabilize": onlyWritten},
	}.run(t)
}

// TestRoute has no tags: it is found in the list of its table.
func TestRoute(t *testing.T) {
	targets := []string{
		"CarrierGatewayId", "CoreNetworkArn", "EgressOnlyInternetGatewayId", "InstanceId", "LocalGatewayId", "NatGatewayId",
		"NetworkInterfaceId", "OdbNetworkArn", "TransitGatewayId", "VpcEndpointId", "VpcPeeringConnectionId",
	}
	s := suite{
		typ:  "AWS::EC2::Route",
		base: obj{"RouteTableId": "rtb-1", "DestinationCidrBlock": "0.0.0.0/0", "GatewayId": "igw-1"},
		variants: []kindtest.Variant{
			{Name: "six", Props: obj{"RouteTableId": "rtb-1", "DestinationIpv6CidrBlock": "::/0", "GatewayId": "igw-2"}},
			{Name: "prefixes", Props: obj{"RouteTableId": "rtb-2", "DestinationPrefixListId": "pl-1"}},
		},
		steady: map[tree.Path]string{
			"DestinationCidrBlock": identifies, "DestinationIpv6CidrBlock": identifies, "DestinationPrefixListId": identifies,
		},
	}
	for _, target := range targets {
		s.variants = append(s.variants, kindtest.Variant{Name: target, Props: obj{"RouteTableId": "rtb-1", "DestinationCidrBlock": "0.0.0.0/0", target: "x-1"}})
	}
	s.run(t)
}

// TestAssociation has no tags and cannot be changed.
func TestAssociation(t *testing.T) {
	suite{
		typ:      "AWS::EC2::SubnetRouteTableAssociation",
		base:     obj{"SubnetId": "subnet-1", "RouteTableId": "rtb-1"},
		variants: []kindtest.Variant{{Name: "other", Props: obj{"SubnetId": "subnet-2", "RouteTableId": "rtb-2"}}},
	}.run(t)
}

// TestSecret keeps to itself what it was given.
func TestSecret(t *testing.T) {
	suite{
		typ:  "AWS::SecretsManager::Secret",
		base: obj{"Description": "of the shop"},
		variants: []kindtest.Variant{
			{Name: "given", Props: obj{"Name": "given", "SecretString": "one", "KmsKeyId": "alias/one", "Type": "generic", "Tags": tags("team", "web")}},
			{Name: "made", Props: obj{"GenerateSecretString": obj{"PasswordLength": int64(20)}, "ReplicaRegions": list{obj{"Region": "eu-west-1", "KmsKeyId": "alias/one"}}}},
		},
		steady: map[tree.Path]string{"SecretString": onlyWritten, "GenerateSecretString": onlyWritten},
	}.run(t)
}

// TestCluster has a name that is chosen, or made up.
func TestCluster(t *testing.T) {
	suite{
		typ:  "AWS::ECS::Cluster",
		base: obj{"Tags": tags("team", "shop")},
		variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{
				"ClusterName": "tuned", "CapacityProviders": list{"FARGATE_SPOT", "FARGATE"}, "ClusterSettings": list{obj{"Name": "containerInsights", "Value": "enabled"}},
				"Configuration": obj{
					"ExecuteCommandConfiguration": obj{"Logging": "OVERRIDE", "KmsKeyId": "key-1", "LogConfiguration": obj{
						"CloudWatchEncryptionEnabled": true, "CloudWatchLogGroupName": "logs", "S3BucketName": "logs", "S3EncryptionEnabled": true, "S3KeyPrefix": "ecs",
					}},
					"ManagedStorageConfiguration": obj{"KmsKeyId": "key-2", "FargateEphemeralStorageKmsKeyId": "key-3"},
				},
				"ServiceConnectDefaults":          obj{"Namespace": "shop"},
				"DefaultCapacityProviderStrategy": list{obj{"CapacityProvider": "FARGATE", "Weight": int64(1), "Base": int64(2)}},
			}},
		},
		steady: map[tree.Path]string{"ServiceConnectDefaults": onlyWritten},
	}.run(t)
}
