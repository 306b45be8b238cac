package ecs

import (
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// TestGolden has the members of https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateService.html and
// API_RegisterTaskDefinition.html as they show them.
func TestGolden(t *testing.T) {
	service := kind.Document{
		"desiredCount": int64(2), "platformVersion": "1.4.0", "enableExecuteCommand": true, "healthCheckGracePeriodSeconds": int64(120),
		"networkConfiguration": obj{"awsvpcConfiguration": obj{"subnets": list{"subnet-2", "subnet-3"}, "securityGroups": list{"sg-1", "sg-2"}, "assignPublicIp": "ENABLED"}},
		"loadBalancers": list{
			obj{"targetGroupArn": targets, "containerName": "web", "containerPort": int64(80)},
			obj{"targetGroupArn": targets + "1", "containerName": "side", "containerPort": int64(80)},
		},
		"deploymentConfiguration": obj{
			"minimumHealthyPercent": int64(50), "maximumPercent": int64(150), "deploymentCircuitBreaker": obj{"enable": true, "rollback": false},
		},
	}
	p := kindtest.PropsOf(t, serviceTable, tuned(nil))
	sent, err := p.write()
	if err != nil {
		t.Fatal(err)
	}
	if !tree.Equal(obj(sent), obj(service)) {
		t.Errorf("sent\n%s\nwant\n%s", tree.Canonical(obj(sent)), tree.Canonical(obj(service)))
	}
	service["cluster"], service["serviceName"], service["taskDefinition"], service["launchType"] = shop, "web", "web:1", "FARGATE"
	service["tags"] = list{obj{"key": "team", "value": "web"}}
	awstest.ConformTree(t, "ecs", "CreateService", service)
	logging := obj{"logDriver": "awslogs", "options": obj{"awslogs-group": "/shop/web", "awslogs-region": "eu-north-1", "awslogs-stream-prefix": "ecs"}}
	task := kind.Document{
		"family": "web", "networkMode": "awsvpc", "requiresCompatibilities": list{"FARGATE"}, "cpu": "512", "memory": "2048",
		"runtimePlatform":  obj{"cpuArchitecture": "ARM64", "operatingSystemFamily": "LINUX"},
		"ephemeralStorage": obj{"sizeInGiB": int64(30)}, "taskRoleArn": roleTwo, "executionRoleArn": roleTwo,
		"containerDefinitions": list{
			obj{
				"name": "side", "image": "side:1", "cpu": int64(0), "essential": false, "readonlyRootFilesystem": false, "stopTimeout": int64(30), "logConfiguration": logging,
				"portMappings": list{obj{"containerPort": int64(80), "protocol": "tcp"}},
			},
			obj{
				"name": "web", "image": "nginx:2", "entryPoint": list{"/run"}, "command": list{"--fast", "now"}, "cpu": int64(512), "memory": int64(1024),
				"memoryReservation": int64(512), "essential": true, "readonlyRootFilesystem": true, "stopTimeout": int64(60), "user": "1000:1000", "workingDirectory": "/srv",
				"environment": list{obj{"name": "MODE", "value": "fast"}, obj{"name": "STAGE", "value": "test"}},
				"secrets":     list{obj{"name": "KEY", "valueFrom": secret + ":key::"}, obj{"name": "WORD", "valueFrom": "/shop/word"}},
				"portMappings": list{
					obj{"containerPort": int64(53), "protocol": "udp"}, obj{"containerPort": int64(67), "protocol": "udp"}, obj{"containerPort": int64(80), "protocol": "tcp"}, obj{"containerPort": int64(8080), "protocol": "tcp"},
				},
				"healthCheck": obj{
					"command": list{"CMD-SHELL", "curl -f localhost"}, "interval": int64(10), "timeout": int64(3), "retries": int64(5), "startPeriod": int64(60),
				},
				"dependsOn": list{obj{"containerName": "side", "condition": "START"}}, "logConfiguration": logging,
			},
		},
	}
	registered, err := p.writeTask("web", "eu-north-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if !tree.Equal(obj(registered), obj(task)) {
		t.Errorf("registered\n%s\nwant\n%s", tree.Canonical(obj(registered)), tree.Canonical(obj(task)))
	}
	task["tags"] = list{obj{"key": "team", "value": "web"}}
	awstest.ConformTree(t, "ecs", "RegisterTaskDefinition", task)
	for operation, body := range map[string]kind.Document{
		"UpdateService":            {"cluster": shop, "service": "web", "taskDefinition": "web:1", "forceNewDeployment": true, "desiredCount": int64(1)},
		"DeleteService":            {"cluster": shop, "service": "web", "force": true},
		"DescribeServices":         {"cluster": shop, "services": list{"web"}, "include": list{"TAGS"}},
		"DescribeClusters":         {"clusters": list{shop}, "include": list{"SETTINGS", "TAGS"}},
		"DescribeTaskDefinition":   {"taskDefinition": "web:1", "include": list{"TAGS"}},
		"ListTaskDefinitions":      {"familyPrefix": "web", "status": "ACTIVE", "sort": "DESC", "maxResults": int64(100)},
		"DeregisterTaskDefinition": {"taskDefinition": "web:1"},
		"ListTasks":                {"cluster": shop, "serviceName": "web", "desiredStatus": "STOPPED", "maxResults": int64(100)},
		"DescribeTasks":            {"cluster": shop, "tasks": list{"a"}},
		"CreateCluster":            {"clusterName": shop, "settings": list{obj{"name": insights, "value": "enhanced"}}, "tags": list{obj{"key": "a", "value": "b"}}},
		"UpdateClusterSettings":    {"cluster": shop, "settings": list{obj{"name": insights, "value": "disabled"}}},
		"DeleteCluster":            {"cluster": shop},
		"TagResource":              {"resourceArn": "arn:aws:ecs:us-east-1:111122223333:cluster/shop", "tags": list{obj{"key": "a", "value": "b"}}},
		"UntagResource":            {"resourceArn": "arn:aws:ecs:us-east-1:111122223333:cluster/shop", "tagKeys": list{"a"}},
	} {
		awstest.ConformTree(t, "ecs", operation, body)
	}
}
