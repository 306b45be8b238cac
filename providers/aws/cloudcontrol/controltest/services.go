package controltest

type (
	obj  = map[string]any
	list = []any
)

// service says how the service of a type behaves where the schemas do not tell.
type service struct {
	hidden   []string
	defaults obj
	// arn is an identifier that is an ARN though it is not called so.
	arn string
}

// services are types whose behaviour tests need, from the documentation of each.
func services() map[string]service {
	return map[string]service{
		"AWS::EC2::VPC": {
			hidden: []string{"Ipv4IpamPoolId", "Ipv4NetmaskLength"},
			defaults: obj{
				"CidrBlock": "10.99.0.0/16", "EnableDnsSupport": true, "EnableDnsHostnames": false, "InstanceTenancy": "default",
				"CidrBlockAssociations": list{"vpc-cidr-assoc-1"}, "Ipv6CidrBlocks": list{},
			},
		},
		"AWS::EC2::Subnet": {
			hidden: []string{"EnableLniAtDeviceIndex", "Ipv4IpamPoolId", "Ipv4NetmaskLength", "Ipv6IpamPoolId", "Ipv6NetmaskLength"},
			defaults: obj{
				"AvailabilityZone": "eu-north-1b", "AvailabilityZoneId": "eun1-az2", "MapPublicIpOnLaunch": false, "AssignIpv6AddressOnCreation": false,
				"EnableDns64": false, "Ipv6Native": false, "CidrBlock": "10.99.1.0/24", "OutpostArn": "",
				"PrivateDnsNameOptionsOnLaunch": obj{"HostnameType": "ip-name", "EnableResourceNameDnsARecord": false, "EnableResourceNameDnsAAAARecord": false},
			},
		},
		"AWS::EC2::SecurityGroup": {
			hidden: []string{"SecurityGroupIngress.SourceSecurityGroupName"},
			defaults: obj{
				"GroupName": "made-up", "VpcId": "vpc-default",
				"SecurityGroupEgress": list{obj{"CidrIp": "0.0.0.0/0", "IpProtocol": "-1", "FromPort": -1, "ToPort": -1}},
			},
		},
		"AWS::ElasticLoadBalancingV2::LoadBalancer": {
			hidden: []string{"EnableCapacityReservationProvisionStabilize"},
			defaults: obj{
				"Name": "made-up", "Scheme": "internet-facing", "Type": "application", "IpAddressType": "ipv4", "SecurityGroups": list{"sg-default"},
				"LoadBalancerAttributes": list{obj{"Key": "idle_timeout.timeout_seconds", "Value": "60"}}, "EnablePrefixForIpv6SourceNat": "off",
			},
		},
		"AWS::EC2::Route": {defaults: obj{"CidrBlock": func(m map[string]any) any {
			for _, name := range []string{"DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId"} {
				if v, ok := m[name]; ok {
					return v
				}
			}
			return "none" // EC2 would refuse it, which the schemas do not say
		}}},
		"AWS::SecretsManager::Secret": {hidden: []string{"SecretString", "GenerateSecretString"}, defaults: obj{"Name": "made-up"}, arn: "Id"},
		"AWS::ECS::Cluster":           {hidden: []string{"ServiceConnectDefaults"}},
		"AWS::EC2::EIP": {
			hidden:   []string{"TransferAddress", "IpamPoolId", "Address"},
			defaults: obj{"PublicIp": "192.0.2.1", "Domain": "vpc", "NetworkBorderGroup": Region, "PublicIpv4Pool": "amazon"},
		},
		"AWS::EC2::NatGateway": {
			hidden:   []string{"MaxDrainDurationSeconds"},
			defaults: obj{"ConnectivityType": "public", "VpcId": "vpc-of-the-subnet", "PrivateIpAddress": "10.0.0.9"},
		},
		"AWS::EC2::VPCGatewayAttachment": {defaults: obj{"AttachmentType": "IGW"}},
		"AWS::ElasticLoadBalancingV2::TargetGroup": {defaults: obj{
			"Name": "made-up", "HealthCheckPath": "/", "HealthCheckProtocol": "HTTP", "HealthCheckPort": "traffic-port", "HealthyThresholdCount": 5,
			"TargetType": "instance", "ProtocolVersion": "HTTP1", "IpAddressType": "ipv4", "Matcher": obj{"HttpCode": "200"},
		}},
		"AWS::ElasticLoadBalancingV2::Listener": {hidden: []string{"DefaultActions.AuthenticateOidcConfig.ClientSecret"}},
	}
}
