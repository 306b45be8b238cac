package ecs

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	obj  = map[string]any
	list = []any
)

const (
	account = "111122223333"
	// shop is the cluster of the tests of services, which is others'.
	shop = "shop"
)

// world is ministack, which makes deployments, where moto makes none. What it leaves out of deployments the amendments of a test add.
type world struct{ awstest.World[aws.Cloud] }

// worldOf makes worlds of a kind.
func worldOf(k reconcile.Any, address string, more awstest.Amendments) func(t *testing.T) *world {
	return func(t *testing.T) *world {
		t.Helper()
		server := awstest.StartMinistack(t)
		more.Account = account
		connect := func(cfg sdkaws.Config, _ ...func(*struct{})) *aws.Cloud { return aws.FromConfig(cfg).AtAnyRate() }
		w := &world{awstest.NewWorld(t, server, awstest.Amend(t, server, more), connect, k, address)}
		w.Located(t, account)
		if address == "web" {
			w.ask(t, "CreateCluster", kind.Document{"clusterName": shop})
			server.Reset()
		}
		return w
	}
}

var (
	newClusterWorld = worldOf(clusterKind.Erase(), "tasks", awstest.Amendments{})
	newServiceWorld = worldOf(serviceKind.Erase(), "web", awstest.Amendments{})
)

// ask makes a call as somebody else.
func (w *world) ask(t kindtest.T, operation string, in kind.Document) kind.Document {
	t.Helper()
	out, err := answered(context.Background(), w.Others, operation, in)
	if err != nil {
		t.Fatalf("%s: %v", operation, err)
	}
	return out
}

// clusters are all as others see them.
func (w *world) clusters(t kindtest.T) []any {
	t.Helper()
	var all []any
	arns := w.ask(t, "ListClusters", kind.Document{})["clusterArns"]
	for _, shown := range documents(w.ask(t, "DescribeClusters", kind.Document{"clusters": arns, "include": list{"TAGS", "SETTINGS"}})["clusters"]) {
		all = append(all, obj{"settings": shown["settings"], "tags": awstest.Owned(tagsIn(shown))})
	}
	return all
}

// described is a service as others see it.
func (w *world) described(t kindtest.T, name any) kind.Document {
	t.Helper()
	return documents(w.ask(t, "DescribeServices", kind.Document{"cluster": shop, "services": list{name}, "include": list{"TAGS"}})["services"])[0]
}

// services are all as others see them, each with the revision that it runs.
func (w *world) services(t kindtest.T) []any {
	t.Helper()
	var all []any
	arns, _ := w.ask(t, "ListServices", kind.Document{"cluster": shop})["serviceArns"].(list)
	for _, arn := range arns {
		shown := w.described(t, arn)
		task := w.ask(t, "DescribeTaskDefinition", kind.Document{"taskDefinition": shown["taskDefinition"]})["taskDefinition"].(obj)
		for _, name := range []string{"serviceArn", "serviceName", "taskDefinition", "deployments", "events", "createdAt", "runningCount", "pendingCount"} {
			delete(shown, name)
		}
		for _, name := range []string{"taskDefinitionArn", "family", "revision", "registeredAt", "registeredBy", "status", "deregisteredAt"} {
			delete(task, name)
		}
		network, _ := shown.Get("networkConfiguration.awsvpcConfiguration").(obj)
		if none, ok := network["securityGroups"].(list); ok && len(none) == 0 || network["securityGroups"] == nil {
			delete(network, "securityGroups")
		}
		shown["tags"], shown["task"] = awstest.Owned(tagsIn(shown)), task
		all = append(all, obj(shown))
	}
	return all
}

// active are the active revisions of a family, the oldest first.
func (w *world) active(t kindtest.T, family string) (all []string) {
	t.Helper()
	arns, _ := w.ask(t, "ListTaskDefinitions", kind.Document{"familyPrefix": family, "status": "ACTIVE"})["taskDefinitionArns"].(list)
	for _, arn := range arns {
		all = append(all, revisionOf(aws.ARN(arn.(string))))
	}
	return all
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDeniedException", "ThrottlingException", "ServerException")(class)
}

// retag changes tags as somebody else.
func (w *world) retag(t kindtest.T, arn any, have map[string]string, to kindtest.Edited) error {
	return awstest.Retag(have, to, func(keys []string) error {
		w.ask(t, "UntagResource", kind.Document{"resourceArn": arn, "tagKeys": keys})
		return nil
	}, func(tags map[string]string) error {
		w.ask(t, "TagResource", kind.Document{"resourceArn": arn, "tags": aws.JSONTags[aws.LowerTag](tags)})
		return nil
	})
}

func clusterHands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	return map[tree.Path]kindtest.Hand{
		"": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			w.ask(t, "DeleteCluster", kind.Document{"cluster": to.Attrs["name"]})
			return nil
		}),
		"containerInsights": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			w.ask(t, "UpdateClusterSettings", kind.Document{"cluster": to.Attrs["name"], "settings": list{obj{
				"name": "containerInsights", "value": *kindtest.PropsOf(t, clusterTable, to.Props).ContainerInsights,
			}}})
			return nil
		}),
		"tags": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			shown := documents(w.ask(t, "DescribeClusters", kind.Document{"clusters": list{to.Attrs["name"]}, "include": list{"TAGS"}})["clusters"])[0]
			return w.retag(t, to.Attrs["arn"], tagsIn(shown), to)
		}),
	}
}

// serviceHands change a service as somebody else would: by an update of one member, or by a revision of a family of their own.
func serviceHands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	hands := kindtest.Mutators(serviceTable, func() kind.Document { return kind.Document{} },
		func(t kindtest.T, at kindtest.World, to kindtest.Edited, body kind.Document) {
			body["cluster"], body["service"] = shop, to.Attrs["name"]
			if lbs, ok := body["loadBalancers"]; ok && lbs == nil {
				body["loadBalancers"] = list{}
			}
			ws[at.Dir].ask(t, "UpdateService", body)
		})
	task := ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
		in := revisionBy(t, to.Props)
		arn := w.ask(t, "RegisterTaskDefinition", in).Get("taskDefinition.taskDefinitionArn")
		w.ask(t, "UpdateService", kind.Document{"cluster": shop, "service": to.Attrs["name"], "taskDefinition": arn})
		return nil
	})
	for _, path := range ofTask() {
		hands[path] = task
	}
	hands[""] = ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
		w.ask(t, "DeleteService", kind.Document{"cluster": shop, "service": to.Attrs["name"], "force": true})
		return nil
	})
	hands["tags"] = ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
		return w.retag(t, to.Attrs["arn"], tagsIn(w.described(t, to.Attrs["name"])), to)
	})
	return hands
}

// revisionBy is a task definition, written down by the API's own names.
func revisionBy(t kindtest.T, declared obj) obj {
	t.Helper()
	p := kindtest.PropsOf(t, serviceTable, declared)
	in := obj{
		"family": "by-hand", "networkMode": "awsvpc", "requiresCompatibilities": list{"FARGATE"}, "cpu": itoa(*p.CPU), "memory": itoa(int(*p.Memory / (1 << 20))),
		"runtimePlatform": obj{"cpuArchitecture": *p.Architecture, "operatingSystemFamily": "LINUX"},
	}
	if p.Role != "" {
		in["taskRoleArn"] = p.Role
	}
	if p.ExecutionRole != "" {
		in["executionRoleArn"] = p.ExecutionRole
	}
	if size := int(*p.EphemeralStorage / (1 << 30)); size > 20 {
		in["ephemeralStorage"] = obj{"sizeInGiB": size}
	}
	defs := list{}
	for _, name := range slices.Sorted(maps.Keys(p.Containers)) {
		c := p.Containers[name]
		def := obj{
			"name": name, "image": c.Image, "cpu": c.CPU, "essential": *c.Essential, "readonlyRootFilesystem": c.ReadonlyRoot, "stopTimeout": int(c.StopTimeout.Seconds()),
		}
		set := func(member string, v any, isSet bool) {
			if isSet {
				def[member] = v
			}
		}
		set("entryPoint", c.EntryPoint, len(c.EntryPoint) > 0)
		set("command", c.Command, len(c.Command) > 0)
		set("memory", c.Memory, c.Memory > 0)
		set("memoryReservation", c.MemoryReservation, c.MemoryReservation > 0)
		set("user", c.User, c.User != "")
		set("workingDirectory", c.WorkingDirectory, c.WorkingDirectory != "")
		var env, secrets, depends, ports list
		for _, k := range slices.Sorted(maps.Keys(c.Env)) {
			env = append(env, obj{"name": k, "value": c.Env[k]})
		}
		for _, k := range slices.Sorted(maps.Keys(c.Secrets)) {
			secrets = append(secrets, obj{"name": k, "valueFrom": c.Secrets[k]})
		}
		for _, k := range slices.Sorted(maps.Keys(c.DependsOn)) {
			depends = append(depends, obj{"containerName": k, "condition": c.DependsOn[k]})
		}
		for _, port := range slices.Sorted(slices.Values(c.Ports)) {
			ports = append(ports, obj{"containerPort": port, "protocol": "tcp"})
		}
		for _, port := range slices.Sorted(slices.Values(c.UDPPorts)) {
			ports = append(ports, obj{"containerPort": port, "protocol": "udp"})
		}
		set("environment", env, len(env) > 0)
		set("secrets", secrets, len(secrets) > 0)
		set("dependsOn", depends, len(depends) > 0)
		set("portMappings", ports, len(ports) > 0)
		if h := c.HealthCheck; h != nil {
			def["healthCheck"] = obj{
				"command": h.Command, "interval": int(h.Interval.Seconds()), "timeout": int(h.Timeout.Seconds()), "retries": *h.Retries,
				"startPeriod": int(h.StartPeriod.Seconds()),
			}
		}
		if p.Logging != nil {
			def["logConfiguration"] = obj{"logDriver": "awslogs", "options": obj{
				"awslogs-group": p.Logging.Group, "awslogs-region": "us-east-1", "awslogs-stream-prefix": "ecs",
			}}
		}
		defs = append(defs, def)
	}
	in["containerDefinitions"] = defs
	return in
}

func itoa(n int) string { return strings.TrimSpace(string(tree.Canonical(int64(n)))) }
