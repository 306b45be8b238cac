package registry

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	obj  = map[string]any
	list = []any
)

func lookup(t *testing.T, name string) *Type {
	t.Helper()
	typ, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// TestTable reads every type: what lists refer to is there, and the table is as small as it is promised to be.
func TestTable(t *testing.T) {
	if len(table) > 700_000 {
		t.Errorf("the table has %d bytes", len(table))
	}
	names, err := Names()
	if err != nil || len(names) < 1480 {
		t.Fatalf("%d types, %v", len(names), err)
	}
	count := map[Finding]int{}
	for _, name := range names {
		typ := lookup(t, name)
		count[typ.Finding()]++
		if typ.Create == nil || typ.Read == nil || typ.Delete == nil || len(typ.ID) == 0 || typ.Root == nil {
			t.Errorf("%s cannot be served", name)
		}
		if tags := typ.Tags; tags != nil && typ.Root.Properties[tags.Property] == nil {
			t.Errorf("%s has no property %s", name, tags.Property)
		}
		for _, p := range slices.Concat(typ.ID, typ.CreateOnly, typ.ReadOnly, typ.WriteOnly) {
			if !typ.has(p) {
				t.Errorf("%s has no %s", name, p)
			}
		}
	}
	// The number without any way to be found again is documented in docs/aws.md.
	if count[Nowhere] != 21 {
		t.Errorf("found by %v", count)
	}
}

// has reports whether a path leads to a property.
func (t *Type) has(p tree.Path) bool {
	n := t.Root
	for _, s := range p.Steps() {
		n = t.Follow(n)
		switch {
		case s.Any && n.Items != nil:
			n = n.Items
		case s.Any && n.Values != nil:
			n = n.Values
		case n.Properties[s.Key] != nil:
			n = n.Properties[s.Key]
		default:
			return n.Free()
		}
	}
	return true
}

func TestLookup(t *testing.T) {
	vpc := lookup(t, "AWS::EC2::VPC")
	if !slices.Equal(vpc.ID, []tree.Path{"VpcId"}) || vpc.Tags == nil || vpc.Tags.Key != "Key" || vpc.Finding() != ByTags {
		t.Errorf("%+v", vpc)
	}
	if always, _ := vpc.Replaces("CidrBlock"); !always {
		t.Error("the block of addresses replaces")
	}
	if always, sometimes := vpc.Replaces("InstanceTenancy"); always || !sometimes {
		t.Error("the tenancy replaces sometimes")
	}
	if !vpc.ReadOnlyAt("VpcEncryptionControl.State") || !vpc.WriteOnlyAt("Ipv4IpamPoolId") {
		t.Error("read-only and write-only properties")
	}
	if !slices.Contains(vpc.Create.Permissions, "ec2:CreateVpc") || slices.Contains(vpc.Delete.Permissions, "ec2:CreateVpc") {
		t.Errorf("permissions %v and %v", vpc.Create.Permissions, vpc.Delete.Permissions)
	}
	if db := lookup(t, "AWS::RDS::DBInstance"); db.Create.Timeout().Hours() != 36 {
		t.Errorf("a database may take %s", db.Create.Timeout())
	}
	if !lookup(t, "AWS::EC2::SubnetRouteTableAssociation").DeleteFirst {
		t.Error("a subnet has one route table")
	}
	if tags := lookup(t, "AWS::SSM::Parameter").Tags; tags == nil || tags.Key != "" {
		t.Errorf("tags of a parameter are a map: %+v", tags)
	}
	for name, want := range map[string]error{"AWS::Route53::RecordSet": ErrUnserved, "AWS::EC2::VCP": ErrUnknown, "VPC": ErrUnknown, "": ErrUnknown} {
		if _, err := Lookup(name); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", name, err, want)
		}
	}
}

func TestCheck(t *testing.T) {
	ref := token.Plain.Ref(token.Ref{Address: "vpc", Path: "VpcId"})
	rule := func(m obj) obj {
		return obj{"GroupDescription": "web", "SecurityGroupIngress": list{m}}
	}
	for _, c := range []struct {
		name, typ string
		declared  obj
		want      []string
	}{
		{"whole", "AWS::EC2::VPC", obj{"CidrBlock": "10.0.0.0/16", "EnableDnsSupport": true, "Tags": list{obj{"Key": "a", "Value": "b"}}}, nil},
		{"unknown", "AWS::EC2::VPC", obj{"CidrBlok": "10.0.0.0/16"}, []string{"CidrBlok: is not a property (did you mean CidrBlock?)"}},
		{
			"unknown inside", "AWS::EC2::VPC",
			obj{"Tags": list{obj{"Key": "a", "Valu": "b"}}},
			[]string{"Tags[0].Valu: is not a property (did you mean Value?)", "Tags[0].Value: is required"},
		},
		{"read-only", "AWS::EC2::VPC", obj{"VpcId": "vpc-1"}, []string{"VpcId: can only be read"}},
		{"type", "AWS::EC2::VPC", obj{"EnableDnsSupport": "yes", "Tags": "a"}, []string{
			"EnableDnsSupport: want true or false, have text", "Tags: want a list, have text",
		}},
		{"required", "AWS::EC2::Subnet", obj{}, []string{"VpcId: is required"}},
		{"reference", "AWS::EC2::Subnet", obj{"VpcId": ref, "MapPublicIpOnLaunch": ref}, nil},
		{"reference in text", "AWS::EC2::Subnet", obj{"VpcId": ref, "MapPublicIpOnLaunch": "x" + ref}, []string{
			"MapPublicIpOnLaunch: want true or false or one reference, have text with a reference in it",
		}},
		{"pattern", "AWS::EC2::SecurityGroup", obj{"GroupDescription": "ü"}, []string{
			`GroupDescription: want text that matches ^([a-z,A-Z,0-9,. _\-:/()#,@[\]+=&;\{\}!$*])*$`,
		}},
		{"length", "AWS::EC2::SecurityGroup", obj{"GroupDescription": strings.Repeat("a", 256)}, []string{"GroupDescription: want at most 255 characters"}},
		{"bound", "AWS::EC2::SecurityGroup", rule(obj{"IpProtocol": "tcp", "FromPort": int64(-2)}), []string{"SecurityGroupIngress[0].FromPort: want at least -1"}},
		{"number as text", "AWS::EC2::SecurityGroup", rule(obj{"IpProtocol": int64(6)}), nil},
		{"fraction as text", "AWS::EC2::SecurityGroup", rule(obj{"IpProtocol": 1.1}), []string{"SecurityGroupIngress[0].IpProtocol: want text, have a fraction (write it in quotes)"}},
		{"words", "AWS::ElasticLoadBalancingV2::Listener", obj{"Protocol": "HTPS", "LoadBalancerArn": ref, "DefaultActions": list{}}, []string{
			"Protocol: want one of GENEVE, HTTP, HTTPS, QUIC, TCP, TCP_QUIC, TCP_UDP, TLS, UDP (did you mean HTTPS?)",
		}},
		{"free document", "AWS::IAM::Role", obj{"RoleName": "r", "AssumeRolePolicyDocument": obj{"Statement": list{}}}, nil},
	} {
		var have []string
		for _, e := range lookup(t, c.typ).Check(c.declared) {
			text := e.Error()
			if e.Hint != "" {
				text += " (" + e.Hint + ")"
			}
			have = append(have, text)
		}
		if !slices.Equal(have, c.want) {
			t.Errorf("%s: %q, want %q", c.name, have, c.want)
		}
	}
}

func TestForm(t *testing.T) {
	have := lookup(t, "AWS::EC2::SecurityGroup").Form(obj{
		"GroupDescription": true, "SecurityGroupIngress": list{obj{"IpProtocol": int64(6), "FromPort": int64(80)}},
	})
	want := obj{"GroupDescription": "true", "SecurityGroupIngress": list{obj{"IpProtocol": "6", "FromPort": int64(80)}}}
	if !tree.Equal(have, want) {
		t.Errorf("%s", tree.Canonical(have))
	}
}

// TestFields: everything that can be set and read is documented, and a type that describes dashboards is cut.
func TestFields(t *testing.T) {
	find := func(fields []props.Field, path tree.Path) *props.Field {
		for _, f := range fields {
			if f.Path == path {
				return &f
			}
		}
		return nil
	}
	vpc := lookup(t, "AWS::EC2::VPC")
	cidr := find(vpc.Props(), "CidrBlock")
	if cidr == nil || !cidr.Replaces || cidr.Type != "string" || find(vpc.Props(), "VpcId") != nil {
		t.Errorf("%+v", cidr)
	}
	if find(vpc.Attrs(), "VpcId") == nil || find(vpc.Attrs(), "Ipv4IpamPoolId") != nil {
		t.Error("attributes are what can be read")
	}
	if tags := find(vpc.Props(), "Tags"); tags.Type != "list of object" || tags.Fields[0].Path != "Tags.*.Key" {
		t.Errorf("%+v", tags)
	}
	if secrets := Secrets(lookup(t, "AWS::RDS::DBInstance").Props()); !slices.Contains(secrets, "MasterUserPassword") {
		t.Errorf("secrets %v", secrets)
	}
	dashboard := lookup(t, "AWS::QuickSight::Dashboard")
	if fields := dashboard.Props(); len(fields) == 0 || find(fields, "Definition") == nil {
		t.Error("a dashboard has fields")
	}
}
