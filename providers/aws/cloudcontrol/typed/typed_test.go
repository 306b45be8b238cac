// Package typed_test checks the generated structs against the registry that they were generated from.
package typed_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/typed/ec2"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/typed/elasticloadbalancingv2"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/typed/rds"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

func evaluate(t *testing.T, program func(*athanor.Stack) error) *engine.Graph {
	t.Helper()
	graph, err := athanor.Evaluate(program, athanor.Input{Stack: "net", Stage: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return graph
}

// TestSameGraph: structs and maps declare the same, and the kinds take it.
func TestSameGraph(t *testing.T) {
	typed := evaluate(t, func(s *athanor.Stack) error {
		vpc := ec2.NewVPC(s, "vpc", ec2.VPCProps{CidrBlock: "10.0.0.0/16", EnableDnsSupport: athanor.False, Tags: []ec2.VPCTag{{Key: "a", Value: "b"}}})
		subnet := ec2.NewSubnet(s, "subnet", ec2.SubnetProps{VpcId: vpc.VpcId, CidrBlock: "10.0.1.0/24", MapPublicIpOnLaunch: athanor.True})
		door := ec2.NewSecurityGroup(s, "door", ec2.SecurityGroupProps{
			GroupDescription: "door", VpcId: vpc.VpcId,
			SecurityGroupIngress: []ec2.SecurityGroupIngress{{IpProtocol: "tcp", FromPort: athanor.Num(80), ToPort: athanor.Num(80), CidrIp: "0.0.0.0/0"}},
		})
		elasticloadbalancingv2.NewLoadBalancer(s, "balancer", elasticloadbalancingv2.LoadBalancerProps{
			Subnets: []string{subnet.SubnetId}, SecurityGroups: []string{door.GroupId},
		}, athanor.DependsOn(vpc))
		return nil
	})
	free := evaluate(t, func(s *athanor.Stack) error {
		type m = cloudcontrol.Props
		vpc := cloudcontrol.NewResource(s, "vpc", "AWS::EC2::VPC", m{"CidrBlock": "10.0.0.0/16", "EnableDnsSupport": false, "Tags": []any{m{"Key": "a", "Value": "b"}}})
		subnet := cloudcontrol.NewResource(s, "subnet", "AWS::EC2::Subnet", m{"VpcId": vpc.Attr("VpcId"), "CidrBlock": "10.0.1.0/24", "MapPublicIpOnLaunch": true})
		door := cloudcontrol.NewResource(s, "door", "AWS::EC2::SecurityGroup", m{
			"GroupDescription": "door", "VpcId": vpc.Attr("VpcId"),
			"SecurityGroupIngress": []any{m{"IpProtocol": "tcp", "FromPort": 80, "ToPort": 80, "CidrIp": "0.0.0.0/0"}},
		})
		cloudcontrol.NewResource(s, "balancer", "AWS::ElasticLoadBalancingV2::LoadBalancer", m{
			"Subnets": []string{subnet.Attr("SubnetId")}, "SecurityGroups": []string{door.Attr("GroupId")},
		}, athanor.DependsOn(vpc))
		return nil
	})
	if len(typed.Resources) != 4 || len(free.Resources) != 4 {
		t.Fatalf("%d and %d resources", len(typed.Resources), len(free.Resources))
	}
	for i, a := range typed.Resources {
		b := free.Resources[i]
		if a.Kind != b.Kind || !tree.Equal(a.Props, b.Props) || !reflect.DeepEqual(a.Options.DependsOn, b.Options.DependsOn) {
			t.Errorf("%s: %s and %s", a.Address, tree.Canonical(a.Props), tree.Canonical(b.Props))
		}
		k, err := cloudcontrol.Kind(a.Kind)
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Decode(&reconcile.Job{Address: a.Address, Props: a.Props}); err != nil {
			t.Errorf("%s: %v", a.Address, err)
		}
	}
}

// TestMisspelt: a bad path of an attribute is a mistake of the program.
func TestMisspelt(t *testing.T) {
	_, err := athanor.Evaluate(func(s *athanor.Stack) error {
		vpc := cloudcontrol.NewResource(s, "vpc", "AWS::EC2::VPC", nil)
		s.Output("id", vpc.Attr(".VpcId"))
		return nil
	}, athanor.Input{Stack: "net", Stage: "test"})
	if err == nil || !strings.Contains(err.Error(), "vpc: attribute") {
		t.Errorf("%v", err)
	}
}

// TestShapes: what is deepest can hold props.
func TestShapes(t *testing.T) {
	for _, v := range []any{
		ec2.LaunchTemplateProps{}, ec2.InstanceProps{}, rds.DBInstanceProps{}, elasticloadbalancingv2.ListenerProps{},
	} {
		if err := props.Check(reflect.TypeOf(v)); err != nil {
			t.Errorf("%T: %v", v, err)
		}
	}
}

var declared = regexp.MustCompile(`s\.Resource\("([^"]+)"`)

// TestForty: the types that are named are kinds, and there are forty of them.
func TestForty(t *testing.T) {
	files, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			n++
			if _, err := cloudcontrol.Kind(m[1]); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	if n != 40 {
		t.Errorf("%d types", n)
	}
}
