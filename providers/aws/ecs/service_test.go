package ecs

import (
	"maps"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

const (
	roleOne, roleTwo = "arn:aws:iam::111122223333:role/one", "arn:aws:iam::111122223333:role/two"
	targets          = "arn:aws:elasticloadbalancing:us-east-1:111122223333:targetgroup/web/0123456789abcdef"
	secret           = "arn:aws:secretsmanager:us-east-1:111122223333:secret:shop-AbCdEf"
)

// plain are the least props of a service.
func plain(more obj) obj {
	all := obj{
		"cluster": shop, "subnets": list{"subnet-1"}, "containers": obj{"web": obj{"image": "nginx:1", "ports": list{int64(80)}}, "side": obj{"image": "side:0"}},
		"executionRole": roleOne, "logging": obj{"group": "/shop"}, "loadBalancers": list{obj{"targetGroup": targets + "0", "container": "web", "port": int64(80)}},
	}
	maps.Copy(all, more)
	return all
}

// tuned are props of a service that are all set.
func tuned(more obj) obj {
	all := obj{
		"cluster": shop, "desiredCount": int64(2), "cpu": int64(512), "memory": "2GiB", "architecture": "ARM64", "ephemeralStorage": "30GiB",
		"containers": obj{
			"web": obj{
				"image": "nginx:2", "entryPoint": list{"/run"}, "command": list{"--fast", "now"}, "cpu": int64(512), "memory": int64(1024), "memoryReservation": int64(512),
				"env": obj{"STAGE": "test", "MODE": "fast"}, "secrets": obj{"KEY": secret + ":key::", "WORD": "/shop/word"}, "ports": list{int64(80), int64(8080)},
				"udpPorts":    list{int64(67), int64(53)},
				"healthCheck": obj{"command": list{"CMD-SHELL", "curl -f localhost"}, "interval": "10s", "timeout": "3s", "retries": int64(5), "startPeriod": "1m"},
				"dependsOn":   obj{"side": "START"}, "user": "1000:1000", "workingDirectory": "/srv", "readonlyRoot": true, "stopTimeout": "60s",
			},
			"side": obj{"image": "side:1", "essential": false, "ports": list{int64(80)}},
		},
		"role": roleTwo, "executionRole": roleTwo, "logging": obj{"group": "/shop/web"}, "subnets": list{"subnet-2", "subnet-3"},
		"securityGroups": list{"sg-1", "sg-2"}, "publicIp": true, "platformVersion": "1.4.0",
		"loadBalancers": list{
			obj{"targetGroup": targets, "container": "web", "port": int64(80)}, obj{"targetGroup": targets + "1", "container": "side", "port": int64(80)},
		},
		"healthCheckGracePeriod": "2m", "minimumHealthyPercent": int64(50), "maximumPercent": int64(150), "circuitBreaker": "FAIL", "executeCommand": true,
		"tags": obj{"team": "web", "cost center": "42"},
	}
	maps.Copy(all, more)
	return all
}

func serviceSuite() kindtest.Suite {
	ws := awstest.Worlds[*world]{}
	return kindtest.Derive(serviceTable, kindtest.Suite{
		Kind:  serviceKind.Erase(),
		World: ws.Make(newServiceWorld, (*world).services),
		Base:  plain(obj{"memory": "1GiB", "tags": obj{"team": "shop"}}),
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: tuned(nil)},
			{Name: "named", Props: plain(obj{"name": "Web_1", "desiredCount": int64(0), "circuitBreaker": "OFF", "loadBalancers": list{}, "logging": nil})},
		},
		Hands: serviceHands(ws),
		Others: map[tree.Path][]any{
			"cpu": {int64(1024)}, "memory": {"4GiB"}, "ephemeralStorage": {"40GiB"}, "containers.*.entryPoint": {list{"/other"}},
			"containers.*.udpPorts": {list{int64(54)}}, "containers.*.dependsOn.*": {"COMPLETE"}, "loadBalancers.*.container": {"side"},
			"loadBalancers.*.port": {int64(8080)},
		},
		Ordered: map[tree.Path]string{
			"containers.*.entryPoint":          "arguments have an order",
			"containers.*.command":             "arguments have an order",
			"containers.*.healthCheck.command": "arguments have an order",
		},
		MayBeDenied: map[string]string{"ECS.ListTasks": "they are for the message alone", "ECS.DescribeTasks": "they are for the message alone"},
		Steady:      map[tree.Path]string{"name": "a service keeps its name for life"},
	})
}

func TestService(t *testing.T) {
	t.Parallel()
	for _, c := range kindtest.Checks() {
		t.Run(c.Name, func(t *testing.T) { c.Do(t, serviceSuite()) })
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	ws := awstest.Worlds[*world]{}
	kindtest.Run(t, kindtest.Derive(clusterTable, kindtest.Suite{
		Kind:  clusterKind.Erase(),
		World: ws.Make(newClusterWorld, (*world).clusters),
		Base:  obj{"tags": obj{"team": "shop"}},
		Fault: fault,
		Variants: []kindtest.Variant{
			{Name: "tuned", Props: obj{"containerInsights": "enhanced", "tags": obj{"team": "web", "cost center": "42"}}},
			{Name: "named", Props: obj{"name": "Shop_1", "containerInsights": "enabled"}},
		},
		Hands:  clusterHands(ws),
		Steady: map[tree.Path]string{"name": "a cluster keeps its name for life"},
	}))
}

// TestFaults breaks each call of a creation: there is one service in the end, with one revision.
func TestFaults(t *testing.T) {
	t.Parallel()
	declared := plain(obj{"name": "web", "tags": obj{"team": "shop"}})
	awstest.Faults(t, newServiceWorld, kindtest.Quick(serviceKind, 300*time.Millisecond), declared, (*world).services, awstest.Broken{
		{Name: "the registration is not answered", Fault: awstest.Fault{Op: "ECS.RegisterTaskDefinition", Kind: awstest.DropAnswer}, Wrote: 2},
		{Name: "the registration fails", Fault: awstest.Fault{Op: "ECS.RegisterTaskDefinition", Kind: awstest.ServerError}, Wrote: 3},
		{Name: "the creation is not answered", Fault: awstest.Fault{Op: "ECS.CreateService", Kind: awstest.DropAnswer}, Wrote: 2},
		{Name: "the creation fails", Fault: awstest.Fault{Op: "ECS.CreateService", Kind: awstest.ServerError}, Wrote: 3},
		{Name: "a read is throttled", Fault: awstest.Fault{Op: "ECS.DescribeServices", Kind: awstest.Throttle}, Wrote: 2},
		{Name: "the revision cannot be read", Fault: awstest.Fault{Op: "ECS.DescribeTaskDefinition", Kind: awstest.ServerError}, Wrote: 2},
		{Name: "the revisions cannot be listed", Fault: awstest.Fault{Op: "ECS.ListTaskDefinitions", Kind: awstest.ServerError}, Wrote: 2},
	})
}
