package cloudcontrol

import "github.com/athanor-dev/athanor"

// Props are properties by the registry's names. Values are plain ones, references, and lists and maps of these.
type Props = map[string]any

// NewResource declares a resource of a type of the registry. Packages below typed do the same with structs.
//
//	vpc := cloudcontrol.NewResource(s, "vpc", "AWS::EC2::VPC", cloudcontrol.Props{"CidrBlock": "10.0.0.0/16"})
//	cloudcontrol.NewResource(s, "subnet", "AWS::EC2::Subnet", cloudcontrol.Props{"VpcId": vpc.Attr("VpcId")})
func NewResource(s *athanor.Stack, name, typ string, p Props, opts ...athanor.Option) athanor.Resource {
	return s.Resource(typ, name, p, opts...)
}
