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
		edits: map[string]edit{
			"EnableDnsHostnames": {"tuned", false}, "EnableDnsSupport": {"tuned", true}, "InstanceTenancy": {"tuned", "default"},
			"Tags": {"", tags("team", "another", "by hand", "1")},
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
				"PrivateDnsNameOptionsOnLaunch": obj{"HostnameType": "resource-name"}, "Tags": tags("tier", "public"),
			}},
			{Name: "elsewhere", Props: obj{
				"VpcId": "vpc-2", "AvailabilityZoneId": "eun1-az1", "OutpostArn": "arn:aws:outposts:eu-north-1:1:outpost/op-1", "Ipv6Native": true,
				"Ipv4IpamPoolId": "pool-4", "Ipv4NetmaskLength": int64(24), "Ipv6IpamPoolId": "pool-6", "Ipv6NetmaskLength": int64(64),
			}},
		},
		edits: map[string]edit{
			"MapPublicIpOnLaunch": {"tuned", false}, "EnableDns64": {"tuned", false}, "AssignIpv6AddressOnCreation": {"tuned", false},
			"Ipv6CidrBlock": {"tuned", "2001:db8:1::/64"}, "PrivateDnsNameOptionsOnLaunch": {"tuned", obj{"HostnameType": "ip-name"}},
			"Tags": {"", tags()},
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
			{Name: "by name", Props: obj{
				"GroupDescription": "other", "GroupName": "other", "VpcId": "vpc-2",
				"SecurityGroupIngress": list{obj{"IpProtocol": "tcp", "SourceSecurityGroupName": "admins"}},
			}},
		},
		edits: map[string]edit{
			"SecurityGroupIngress": {"", list{web[1], obj{"IpProtocol": "udp", "CidrIp": "0.0.0.0/0"}}},
			"SecurityGroupEgress":  {"tuned", list{}},
			"Tags":                 {"tuned", tags("team", "other")},
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
			{Name: "internal", Props: obj{"Name": "front", "Scheme": "internal", "Type": "network", "SubnetMappings": list{obj{"SubnetId": "subnet-1"}}}},
		},
		edits: map[string]edit{
			"Subnets": {"", list{"subnet-1"}}, "IpAddressType": {"tuned", "ipv4"}, "SecurityGroups": {"tuned", list{"sg-1"}},
			"LoadBalancerAttributes":      {"tuned", list{obj{"Key": "deletion_protection.enabled", "Value": "false"}}},
			"MinimumLoadBalancerCapacity": {"tuned", obj{"CapacityUnits": 5}}, "EnablePrefixForIpv6SourceNat": {"tuned", "off"},
			"EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic": {"tuned", "off"}, "Ipv4IpamPoolId": {"tuned", nil},
			"SubnetMappings": {"internal", list{obj{"SubnetId": "subnet-9"}}}, "Tags": {"tuned", tags()},
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
		edits: map[string]edit{"GatewayId": {"", "igw-9"}},
	}
	for _, target := range targets {
		s.variants = append(s.variants, kindtest.Variant{Name: target, Props: obj{"RouteTableId": "rtb-1", "DestinationCidrBlock": "0.0.0.0/0", target: "x-1"}})
		s.edits[target] = edit{target, "x-9"}
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
			{Name: "made", Props: obj{"GenerateSecretString": obj{"PasswordLength": int64(20)}, "ReplicaRegions": list{obj{"Region": "eu-west-1"}}}},
		},
		edits: map[string]edit{
			"Description": {"", nil}, "KmsKeyId": {"given", "alias/two"}, "Type": {"given", "other"},
			"ReplicaRegions": {"made", list{obj{"Region": "eu-west-3"}}}, "Tags": {"given", tags("team", "none")},
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
				"Configuration": obj{"ExecuteCommandConfiguration": obj{"Logging": "DEFAULT"}}, "ServiceConnectDefaults": obj{"Namespace": "shop"},
				"DefaultCapacityProviderStrategy": list{obj{"CapacityProvider": "FARGATE", "Weight": int64(1)}},
			}},
		},
		edits: map[string]edit{
			"CapacityProviders": {"tuned", list{"FARGATE"}}, "ClusterSettings": {"tuned", list{obj{"Name": "containerInsights", "Value": "disabled"}}},
			"Configuration": {"tuned", obj{"ExecuteCommandConfiguration": obj{"Logging": "NONE"}}}, "Tags": {"", tags()},
			"DefaultCapacityProviderStrategy": {"tuned", list{}},
		},
		steady: map[tree.Path]string{"ServiceConnectDefaults": onlyWritten},
	}.run(t)
}
