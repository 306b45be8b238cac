//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/controltest"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type attributes = map[string]any

// adoptedProject is a project that was made outside athanor, with the state that another tool has of it in a file.
type adoptedProject struct {
	*world
	// from is what adopt reads, with its options. Default: shop.tfstate.
	from []string
	// mapped and folded are how many objects of the state become resources, and parts of these; looked those that somebody must look at.
	mapped, folded, looked int
	// unmapped are how many objects the emulator gives no identity, drift what it left out when it made the others.
	unmapped int
	drift    []string
	// ignored are how many paths are sensitive numbers, which are not declared.
	ignored int
	// mutations counts the changes of the cloud.
	mutations func() int
	// yaml is the stack.
	yaml string
	// tagged are the paths that owner tags are at.
	tagged []string
}

// take adopts the project: the plan shows owner tags alone, and a second deploy changes nothing.
func (p *adoptedProject) take() {
	t := p.t
	t.Helper()
	var r adoption
	if len(p.from) == 0 {
		p.from = []string{"shop.tfstate"}
	}
	printed := p.run(0, append([]string{"adopt", "--json", "--from"}, p.from...)...)
	if err := json.Unmarshal([]byte(printed), &r); err != nil {
		t.Fatal(err)
	}
	if n := r.Counts; n.Mapped != p.mapped || n.Folded != p.folded || n.Ambiguous != p.looked || n.IgnoredPaths != p.ignored || n.Unmapped != p.unmapped {
		t.Errorf("%+v %+v\n%s", n, r.Drift, printed)
	}
	var drift []string
	for _, d := range r.Drift {
		drift = append(drift, d.Address+" "+d.Path)
	}
	if !slices.Equal(drift, p.drift) {
		t.Errorf("the drift of the source is %v", drift)
	}
	if p.yaml = r.YAML; p.yaml != "" {
		p.write("athanor.yaml", p.yaml)
	}
	p.yaml = p.read("athanor.yaml")
	for address, paths := range p.planned(2, "--adopt") {
		for _, path := range paths {
			if !slices.ContainsFunc(p.tagged, func(tag string) bool { return strings.HasPrefix(path, tag) }) {
				t.Errorf("the plan changes %s %s\n%s", address, path, r.YAML)
			}
		}
	}
	s := p.summary(0, "deploy", "--adopt", "--yes")
	for _, what := range []string{"created", "updated", "replaced", "deleted", "failed"} {
		if s[what] != 0.0 {
			t.Errorf("%d %s: %v", s[what], what, s)
		}
	}
	p.run(0, "adopt", "--finish")
	before := p.mutations()
	p.run(0, "deploy", "--yes")
	if after := p.mutations(); after != before {
		t.Errorf("a second deploy makes %d changes", after-before)
	}
	p.run(0, "drift")
}

// planned are the paths that a plan would change, by address. code is the plan's: 1 where it may not replace what holds data.
func (p *adoptedProject) planned(code int, args ...string) map[string][]string {
	p.t.Helper()
	var plan struct {
		Actions []struct {
			Address, Action string
			Reasons         []struct{ Path string }
		}
	}
	if err := json.Unmarshal([]byte(p.run(code, append([]string{"plan", "--json"}, args...)...)), &plan); err != nil {
		p.t.Fatal(err)
	}
	all := map[string][]string{}
	for _, a := range plan.Actions {
		if a.Action == "create" || a.Action == "delete" {
			p.t.Errorf("%s: %s", a.Address, a.Action)
		}
		for _, reason := range a.Reasons {
			all[a.Address] = append(all[a.Address], reason.Path)
		}
	}
	return all
}

// props are those that are declared, by address.
func (p *adoptedProject) props() map[string]attributes {
	p.t.Helper()
	var doc struct {
		Resources map[string]struct{ Props attributes }
	}
	if err := yaml.Unmarshal([]byte(p.yaml), &doc); err != nil {
		p.t.Fatal(err)
	}
	all := map[string]attributes{}
	for address, r := range doc.Resources {
		all[address] = r.Props
	}
	return all
}

// shows reports whether one of the paths is at a prop, or within it.
func shows(paths []string, prop string) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		return path == prop || strings.HasPrefix(path, prop+".") || strings.HasPrefix(path, prop+"[")
	})
}

// stateFile is a state with resources as a provider of Terraform writes them.
func stateFile(t *testing.T, resources ...attributes) string {
	t.Helper()
	text, err := json.Marshal(attributes{"version": 4, "terraform_version": "1.9.5", "serial": 7, "lineage": "x", "outputs": attributes{}, "resources": resources})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// stateResource is one with one instance, or with several by their keys.
func stateResource(module, address string, instances any, depends ...string) attributes {
	typ, name, _ := strings.Cut(address, ".")
	r := attributes{"mode": "managed", "type": typ, "name": name, "provider": `provider["registry.terraform.io/hashicorp/aws"]`}
	if module != "" {
		r["module"] = module
	}
	var all []any
	switch v := instances.(type) {
	case attributes:
		all = append(all, attributes{"attributes": v, "dependencies": depends})
	case map[string]attributes:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, attributes{"index_key": key, "attributes": v[key], "dependencies": depends})
		}
	}
	r["instances"] = all
	return r
}

// changed is a value that differs from another one in what is declared of it.
func changed(v, declared any) any {
	switch v := v.(type) {
	case string:
		return v + "-changed"
	case bool:
		return !v
	case float64:
		return v + 1
	case int:
		return v + 1
	case []any:
		if list, ok := declared.([]any); ok && len(v) > 0 && len(list) == len(v) {
			return append([]any{changed(v[0], list[0])}, v[1:]...)
		}
	case attributes:
		all := maps.Clone(v)
		of, _ := declared.(attributes)
		for _, name := range slices.Sorted(maps.Keys(of)) {
			if _, there := v[name]; there {
				all[name] = changed(v[name], of[name])
				return all
			}
		}
	}
	return "changed"
}

// network is a VPC with subnets, ECS and a database, made by hand. No provider wrote its state: the attributes are those in the
// documentation of hashicorp/aws 5, and of the states of real providers in $ATHANOR_TFSTATES that have these types.
type madeNetwork struct {
	server *controltest.Server
	ids    map[string]string // identifiers, by type and name
	state  string
}

func makeNetwork(t *testing.T, modules bool) *madeNetwork {
	t.Helper()
	n := &madeNetwork{server: controltest.Start(t, controltest.Load(t)), ids: map[string]string{}}
	const region, account = "eu-north-1", "123456789012"
	arn := func(service, rest string) string {
		return "arn:aws:" + service + ":" + region + ":" + account + ":" + rest
	}
	tags := func(name string) []any { return []any{attributes{"Key": "Name", "Value": name}} }
	put := func(typ, name string, model attributes) string {
		id := n.server.Put(typ, model)
		n.ids[typ+" "+name] = id
		return id
	}
	vpc := put("AWS::EC2::VPC", "main", attributes{"CidrBlock": "10.0.0.0/16", "EnableDnsSupport": true, "EnableDnsHostnames": true, "InstanceTenancy": "default", "Tags": tags("net")})
	subnets, ids := map[string]attributes{}, []any{}
	for n, zone := range []string{"a", "b"} {
		cidr := fmt.Sprintf("10.0.%d.0/24", n)
		id := put("AWS::EC2::Subnet", "private["+zone+"]", attributes{"VpcId": vpc, "CidrBlock": cidr, "AvailabilityZone": region + zone, "MapPublicIpOnLaunch": false, "Tags": tags("private-" + zone)})
		ids = append(ids, id)
		subnets[zone] = attributes{
			"id": id, "arn": arn("ec2", "subnet/"+id), "vpc_id": vpc, "cidr_block": cidr, "availability_zone": region + zone, "availability_zone_id": "eun1-az1",
			"map_public_ip_on_launch": false, "ipv6_native": false, "enable_dns64": false, "private_dns_hostname_type_on_launch": "ip-name", "owner_id": account,
			"tags": attributes{"Name": "private-" + zone}, "tags_all": attributes{"Name": "private-" + zone},
		}
	}
	rule := attributes{"IpProtocol": "tcp", "FromPort": 5432, "ToPort": 5432, "CidrIp": "10.0.0.0/16", "Description": "from the VPC"}
	out := attributes{"IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}
	group := put("AWS::EC2::SecurityGroup", "db", attributes{"GroupName": "db", "GroupDescription": "the database", "VpcId": vpc, "SecurityGroupIngress": []any{rule}, "SecurityGroupEgress": []any{out}, "Tags": tags("db")})
	block := func(from, to int, protocol, cidr, description string) attributes {
		return attributes{"from_port": from, "to_port": to, "protocol": protocol, "cidr_blocks": []any{cidr}, "description": description, "ipv6_cidr_blocks": []any{}, "prefix_list_ids": []any{}, "security_groups": []any{}, "self": false}
	}
	cluster := put("AWS::ECS::Cluster", "shop", attributes{"ClusterName": "shop", "ClusterSettings": []any{attributes{"Name": "containerInsights", "Value": "enabled"}}})
	n.server.Put("AWS::RDS::DBSubnetGroup", attributes{"DBSubnetGroupName": "shop", "DBSubnetGroupDescription": "where the database is", "SubnetIds": ids})
	n.ids["AWS::RDS::DBSubnetGroup shop"] = "shop"
	n.server.Hide("AWS::RDS::DBInstance", "MasterUserPassword")
	n.ids["AWS::RDS::DBInstance db"] = n.server.Put("AWS::RDS::DBInstance", attributes{
		"DBInstanceIdentifier": "shop", "DBInstanceClass": "db.t4g.micro", "Engine": "postgres", "EngineVersion": "16.4", "AllocatedStorage": "20", "MasterUsername": "app",
		"MasterUserPassword": "db-very-secret-1", "DBSubnetGroupName": "shop", "VPCSecurityGroups": []any{group}, "MultiAZ": false, "StorageType": "gp3", "StorageEncrypted": true, "DeletionProtection": false,
		"BackupRetentionPeriod": 7, "DBName": "shop", "Port": "5432", "PubliclyAccessible": false,
	})
	net, app := "", ""
	if modules {
		net, app = "module.net", "module.app"
	}
	at := func(module, address string) string { return strings.TrimPrefix(module+"."+address, ".") }
	n.state = stateFile(t,
		stateResource(net, "aws_vpc.main", attributes{
			"id": vpc, "arn": arn("ec2", "vpc/"+vpc), "cidr_block": "10.0.0.0/16", "enable_dns_support": true, "enable_dns_hostnames": true, "instance_tenancy": "default", "owner_id": account,
			"tags": attributes{"Name": "net"}, "tags_all": attributes{"Name": "net"},
		}),
		stateResource(net, "aws_subnet.private", subnets, at(net, "aws_vpc.main")),
		stateResource(net, "aws_security_group.db", attributes{
			"id": group, "arn": arn("ec2", "security-group/"+group), "name": "db", "description": "the database", "vpc_id": vpc, "owner_id": account, "revoke_rules_on_delete": false,
			"ingress": []any{block(5432, 5432, "tcp", "10.0.0.0/16", "from the VPC")}, "egress": []any{block(0, 0, "-1", "0.0.0.0/0", "")},
			"tags": attributes{"Name": "db"}, "tags_all": attributes{"Name": "db"},
		}, at(net, "aws_vpc.main")),
		stateResource(app, "aws_ecs_cluster.shop", attributes{ // its capacity providers keep it of the registry
			"id": arn("ecs", "cluster/"+cluster), "arn": arn("ecs", "cluster/"+cluster), "name": "shop", "setting": []any{attributes{"name": "containerInsights", "value": "enabled"}},
			"capacity_providers": []any{"FARGATE"},
		}),
		stateResource(app, "aws_db_subnet_group.shop", attributes{"id": "shop", "name": "shop", "arn": arn("rds", "subgrp:shop"), "description": "where the database is", "subnet_ids": ids, "vpc_id": vpc}, at(net, "aws_subnet.private")),
		stateResource(app, "aws_db_instance.db", attributes{
			"id": "db-ABCDEFGHIJKL", "identifier": "shop", "arn": arn("rds", "db:shop"), "instance_class": "db.t4g.micro", "engine": "postgres", "engine_version": "16.4", "allocated_storage": 20, "username": "app",
			"password": "db-very-secret-1", "db_subnet_group_name": "shop", "vpc_security_group_ids": []any{group}, "multi_az": false, "storage_type": "gp3", "storage_encrypted": true, "deletion_protection": false,
			"backup_retention_period": 7, "db_name": "shop", "port": 5432, "publicly_accessible": false, "skip_final_snapshot": true,
		}, at(app, "aws_db_subnet_group.shop"), at(net, "aws_security_group.db"), at(net, "aws_subnet.private")),
	)
	return n
}

// TestAdoptNetwork takes over a VPC with ECS and RDS, of types of the registry: flat, and with its parts in modules and the
// configuration next to the state. Each prop that is changed by hand is drift.
func TestAdoptNetwork(t *testing.T) {
	t.Parallel()
	for name, modules := range map[string]bool{"flat": false, "modules": true} {
		t.Run(name, func(t *testing.T) {
			n := makeNetwork(t, modules)
			w := newWorld(t, "")
			if err := os.Remove(filepath.Join(w.dir, "athanor.yaml")); err != nil {
				t.Fatal(err)
			}
			for _, entry := range n.server.Environ() {
				if strings.HasPrefix(entry, "AWS_") {
					w.env = append(w.env, entry)
				}
			}
			w.write("shop.tfstate", n.state)
			wants := []string{"db-very"}
			if modules {
				wants = append(wants, n.configuration(w)...)
			}
			p := &adoptedProject{world: w, mapped: 6, looked: 1, mutations: func() int { return len(n.server.Mutations()) }, tagged: []string{"Tags", "tags"}}
			p.take()
			if strings.Contains(p.yaml, wants[0]) {
				t.Error("a secret is shown")
			}
			for _, want := range wants[1:] {
				if !strings.Contains(p.yaml, want) {
					t.Errorf("there is no %q in\n%s", want, p.yaml)
				}
			}
			n.drifts(p)
			p.run(0, "destroy", "--yes", "--allow-delete", "db_instance-db", "--allow-delete", "app/db")
			if left := n.server.Find(""); len(left) != 0 {
				t.Errorf("there are left: %v", left)
			}
		})
	}
}

// configuration writes the configuration of the modules, and gives what the stack has of it.
func (n *madeNetwork) configuration(w *world) []string {
	for _, folder := range []string{"net", "app"} {
		if err := os.Mkdir(filepath.Join(w.dir, folder), 0o700); err != nil {
			w.t.Fatal(err)
		}
	}
	w.write("main.tf", `
variable "network" {
  description = "The addresses of the VPC."
  default     = "10.0.0.0/16"
}
variable "storage" { default = 10 }
module "net" {
  source  = "./net"
  network = var.network
}
module "app" {
  source  = "./app"
  subnets = values(module.net.subnets)[*].id
  group   = module.net.group
  storage = var.storage
}
`)
	w.write("terraform.tfvars", "storage = 20\n")
	w.write("net/main.tf", `
variable "network" {}
# The network of everything.
resource "aws_vpc" "main" {
  cidr_block = var.network
}
resource "aws_subnet" "private" {
  for_each = { a = "10.0.0.0/24", b = "10.0.1.0/24" }
  vpc_id   = aws_vpc.main.id
  tags     = { Name = "private-${each.key}" }
}
resource "aws_security_group" "db" {
  vpc_id = aws_vpc.main.id
  ingress {
    cidr_blocks = [var.network]
  }
}
output "subnets" { value = aws_subnet.private }
output "group" { value = aws_security_group.db.id }
`)
	w.write("app/main.tf", `
variable "subnets" {}
variable "group" {}
variable "storage" {}
resource "aws_ecs_cluster" "shop" {}
resource "aws_db_subnet_group" "shop" { subnet_ids = var.subnets }
# It is backed up for a week.
resource "aws_db_instance" "db" {
  allocated_storage      = var.storage
  db_subnet_group_name   = aws_db_subnet_group.shop.name
  vpc_security_group_ids = [var.group]
}
`)
	return []string{
		"description: The addresses of the VPC.", "CidrBlock: ${config.network}", "CidrIp: ${config.network}", "  # The network of everything.\n  net/main:", "Value: private-${each.key}",
		"VpcId: ${net/main.VpcId}", "- ${net/private[a].SubnetId}", "- ${net/db.GroupId}", "DBSubnetGroupName: ${app/db_subnet_group-shop.DBSubnetGroupName}", "DBName: shop\n", "AllocatedStorage: ${config.storage}",
		"  storage:\n    default: \"10\"\n    stages:\n      dev-tester: \"20\"\n", "  # It is backed up for a week.\n  app/db:",
	}
}

// drifts changes every declared prop of every object by hand, except those that identify it and what no read shows, and wants
// each to be drift; then it puts all back.
func (n *madeNetwork) drifts(p *adoptedProject) {
	t := p.t
	t.Helper()
	type edit struct {
		typ, id, name string
		value         any
	}
	var undo []edit
	want := map[string][]string{}
	declared := p.props()
	for address, props := range declared {
		for at, id := range n.ids {
			typ, name, _ := strings.Cut(at, " ")
			base, _, keyed := strings.Cut(name, "[")
			if address[strings.LastIndexByte(address, '/')+1:] != base && address[strings.LastIndexByte(address, '/')+1:] != shortOf(typ)+"-"+base {
				continue
			}
			key := ""
			if keyed {
				key = name[len(base):]
			}
			model := n.modelOf(typ, id)
			if model == nil {
				continue
			}
			known, err := registry.Lookup(typ)
			if err != nil {
				t.Fatal(err)
			}
			for _, prop := range slices.Sorted(maps.Keys(props)) {
				value, there := model[prop]
				if !there || slices.Contains(known.ID, tree.Path("").Key(prop)) {
					continue
				}
				undo = append(undo, edit{typ, id, prop, value})
				if err := n.server.Edit(typ, id, prop, changed(value, props[prop])); err != nil {
					t.Fatal(err)
				}
				want[address+key] = append(want[address+key], prop)
			}
		}
	}
	if len(want) < p.mapped+p.looked || len(undo) < 25 {
		t.Errorf("%d props of %d objects were changed: %v", len(undo), len(want), want)
	}
	said := p.run(2, "drift")
	found := p.planned(1)
	for address, props := range want {
		if !strings.Contains(said, address) {
			t.Errorf("%s is no drift:\n%s", address, said)
		}
		for _, prop := range props {
			if !shows(found[address], prop) {
				t.Errorf("%s %s is no drift: %v", address, prop, found[address])
			}
		}
	}
	for _, e := range undo {
		if err := n.server.Edit(e.typ, e.id, e.name, e.value); err != nil {
			t.Fatal(err)
		}
	}
	p.run(0, "drift")
}

// shortOf is the short name of a type, as it stands in addresses of several types.
func shortOf(typ string) string {
	return map[string]string{"AWS::EC2::VPC": "vpc", "AWS::EC2::SecurityGroup": "security_group", "AWS::ECS::Cluster": "ecs_cluster", "AWS::RDS::DBSubnetGroup": "db_subnet_group", "AWS::RDS::DBInstance": "db_instance"}[typ]
}

// modelOf are the properties of an object.
func (n *madeNetwork) modelOf(typ, id string) attributes {
	for _, m := range n.server.Find(typ) {
		for _, v := range m {
			if v == any(id) {
				return m
			}
		}
	}
	return nil
}
