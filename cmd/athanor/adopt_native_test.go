//go:build unix

package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// nativeName is a name of the registry as Pulumi's provider aws-native has it: in camel case, and of acronyms the first letter alone
// large. The rule is that of https://github.com/pulumi/pulumi-aws-native/blob/master/provider/pkg/naming/naming.go
func nativeName(name string) string {
	var b strings.Builder
	isLarge := func(n int) bool {
		return n >= 0 && n < len(name) && (name[n] >= 'A' && name[n] <= 'Z' || name[n] >= '0' && name[n] <= '9')
	}
	for n := range len(name) {
		follows := isLarge(n-1) && isLarge(n)
		endsRun := n+1 < len(name) && !isLarge(n+1) // the last of a run begins the next word
		if text := name[n : n+1]; n == 0 || follows && !endsRun {
			b.WriteString(strings.ToLower(text))
		} else {
			b.WriteString(text)
		}
	}
	return b.String()
}

// nativeToken is a type of the registry as aws-native has it.
func nativeToken(typ string) string {
	parts := strings.Split(typ, "::")
	name := nativeName(parts[2])
	return "aws-native:" + strings.ToLower(parts[1]) + ":" + strings.ToUpper(name[:1]) + name[1:]
}

// nativeValue is a value of the registry with the names of aws-native.
func nativeValue(v any) any {
	switch v := v.(type) {
	case attributes:
		all := attributes{}
		for name, x := range v {
			all[nativeName(name)] = nativeValue(x)
		}
		return all
	case []any:
		all := make([]any, len(v))
		for n, x := range v {
			all[n] = nativeValue(x)
		}
		return all
	}
	return v
}

// export is what `pulumi stack export --show-secrets` prints of the network, made by aws-native. No provider wrote it: inputs and outputs
// are what the provider makes of what Cloud Control answers.
func (n *madeNetwork) export(t *testing.T) string {
	t.Helper()
	const prefix = "urn:pulumi:prod::shop::"
	provider := prefix + "pulumi:providers:aws-native::default_1_39_0"
	resources := []any{
		attributes{"urn": prefix + "pulumi:pulumi:Stack::shop-prod", "custom": false, "type": "pulumi:pulumi:Stack"},
		attributes{"urn": provider, "custom": true, "id": "p-1", "type": "pulumi:providers:aws-native", "inputs": attributes{"region": "eu-north-1"}},
	}
	for at, id := range n.ids {
		typ, name, _ := strings.Cut(at, " ")
		known, err := registry.Lookup(typ)
		if err != nil {
			t.Fatal(err)
		}
		token := nativeToken(typ)
		model := n.modelOf(typ, id)
		outputs, _ := nativeValue(model).(attributes)
		inputs := attributes{}
		for prop, value := range model {
			if known.ReadOnlyAt(tree.Path("").Key(prop)) || value == "" {
				continue
			}
			if inputs[nativeName(prop)] = nativeValue(value); prop == "MasterUserPassword" {
				sealed := attributes{"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "plaintext": `"db-very-secret-1"`}
				inputs[nativeName(prop)], outputs[nativeName(prop)] = sealed, sealed
			}
		}
		var depends []any
		for other, value := range n.ids {
			otherType, otherName, _ := strings.Cut(other, " ")
			named := value == "shop" && (otherType != "AWS::RDS::DBSubnetGroup" || typ != "AWS::RDS::DBInstance") // several have that name
			if text, _ := json.Marshal(inputs); other != at && !named && strings.Contains(string(text), `"`+value+`"`) {
				depends = append(depends, prefix+nativeToken(otherType)+"::"+otherName)
			}
		}
		resources = append(resources, attributes{
			"dependencies": depends, "urn": prefix + token + "::" + name, "custom": true, "id": id, "type": token, "inputs": inputs, "outputs": outputs, "provider": provider + "::p-1",
			"parent": prefix + "pulumi:pulumi:Stack::shop-prod",
		})
	}
	text, err := json.Marshal(attributes{"version": 3, "deployment": attributes{"manifest": attributes{"version": "v3.170.0"}, "resources": resources}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestAdoptNativePulumi takes over the network from a state of Pulumi's provider aws-native.
func TestAdoptNativePulumi(t *testing.T) {
	n := makeNetwork(t, false)
	ids := map[string]string{}
	for at, id := range n.ids {
		at = strings.NewReplacer("SecurityGroup db", "SecurityGroup group", "DBSubnetGroup shop", "DBSubnetGroup places", "[", "-", "]", "").Replace(at)
		ids[at] = id
	}
	n.ids = ids
	delete(n.ids, "AWS::ECS::Cluster shop") // it is adopted as aws.ecs.Cluster, whose service the server does not speak: see TestAdoptNativeCluster
	n.server.Vanish("AWS::ECS::Cluster", "shop")
	w := newWorld(t, "")
	if err := os.Remove(filepath.Join(w.dir, "athanor.yaml")); err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, slices.DeleteFunc(n.server.Environ(), func(entry string) bool { return !strings.HasPrefix(entry, "AWS_") })...)
	w.env = append(w.env, "ATHANOR_STAGE=prod")
	w.write("shop.json", n.export(t))
	p := &adoptedProject{world: w, from: []string{"shop.json"}, mapped: 5, looked: 1, mutations: func() int { return len(n.server.Mutations()) }, tagged: []string{"Tags", "tags"}}
	p.take()
	for _, want := range []string{"kind: AWS::RDS::DBInstance", "VpcId: ${main.VpcId}", "- ${group.GroupId}", "DBSubnetGroupName: ${places.DBSubnetGroupName}", "MultiAZ: false", "adopt: "} {
		if !strings.Contains(p.yaml, want) {
			t.Errorf("there is no %q in\n%s", want, p.yaml)
		}
	}
	if strings.Contains(p.yaml, "db-very") {
		t.Error("a secret is shown")
	}
	n.drifts(p)
	p.run(0, "destroy", "--yes", "--allow-delete", "db")
	if left := n.server.Find(""); len(left) != 0 {
		t.Errorf("there are left: %v", left)
	}
}

// TestAdoptNativeCluster takes over a cluster from a state of aws-native by its kind, where the emulator speaks ECS.
func TestAdoptNativeCluster(t *testing.T) {
	t.Parallel()
	server := awstest.Start(t)
	cloud := aws.FromConfig(server.Config(t))
	ecs := aws.JSONService{Name: "ECS", Signing: "ecs", Host: "ecs", Target: "AmazonEC2ContainerServiceV20141113", Version: "1.1", Env: "ECS"}
	ask := func(operation string, in attributes) (out attributes) {
		t.Helper()
		if err := ecs.Call(t.Context(), cloud, operation, in, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	insights := func(value string) []any { return []any{attributes{"name": "containerInsights", "value": value}} }
	made, _ := ask("CreateCluster", attributes{
		"clusterName": "shop", "settings": insights("enabled"), "tags": []any{attributes{"key": "team", "value": "shop"}},
	})["cluster"].(attributes)

	const prefix, typ = "urn:pulumi:prod::shop::", "aws-native:ecs:Cluster"
	inputs := attributes{
		"clusterName": "shop", "clusterSettings": insights("enabled"), "tags": []any{attributes{"key": "team", "value": "shop"}},
	}
	outputs := maps.Clone(inputs)
	outputs["arn"] = made["clusterArn"]
	state, err := json.Marshal(attributes{"version": 3, "deployment": attributes{"manifest": attributes{"version": "v3.170.0"}, "resources": []any{
		attributes{"urn": prefix + "pulumi:pulumi:Stack::shop-prod", "custom": false, "type": "pulumi:pulumi:Stack"},
		attributes{"urn": prefix + typ + "::cluster", "custom": true, "id": "shop", "type": typ, "inputs": inputs, "outputs": outputs},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, "")
	if err := os.Remove(filepath.Join(w.dir, "athanor.yaml")); err != nil {
		t.Fatal(err)
	}
	for name, value := range server.Env() {
		w.env = append(w.env, name+"="+value)
	}
	w.write("shop.json", string(state))
	p := &adoptedProject{world: w, from: []string{"shop.json"}, mapped: 1, mutations: func() int { return len(server.Mutations()) }, tagged: []string{`tags["athanor:`}}
	p.take()
	for _, want := range []string{"kind: aws.ecs.Cluster", "name: shop", "containerInsights: enabled", "team: shop"} {
		if !strings.Contains(p.yaml, want) {
			t.Errorf("there is no %q in\n%s", want, p.yaml)
		}
	}
	ask("UpdateCluster", attributes{"cluster": "shop", "settings": insights("disabled")})
	if found := p.planned(2); !shows(found["cluster"], "containerInsights") {
		t.Errorf("containerInsights is no drift: %v", found)
	}
	w.run(0, "destroy", "--yes")
	for _, left := range ask("DescribeClusters", attributes{"clusters": []any{"shop"}})["clusters"].([]any) {
		if left.(attributes)["status"] != "INACTIVE" { // as which a deleted one is shown for a while
			t.Errorf("there is left: %v", left)
		}
	}
}
