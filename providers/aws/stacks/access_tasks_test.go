package stacks_test

import (
	"testing"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/aws/ecs"
	"github.com/athanor-dev/athanor/providers/aws/iam"
)

// tasks has a cluster and a service whose tasks run as a role. A change of it registers another revision.
func tasks(word string) athanor.Program {
	return func(s *athanor.Stack) error {
		role := iam.NewRole(s, "role", iam.RoleProps{
			TrustPolicy: iam.ServiceTrust("ecs-tasks.amazonaws.com"),
			Bindings:    []aws.Statement{{Actions: []string{"s3:GetObject"}, Resources: []string{"*"}}},
		})
		cluster := ecs.NewCluster(s, "cluster", ecs.ClusterProps{
			ContainerInsights: new(map[bool]string{true: "enabled", false: "disabled"}[word == "second"]), Tags: map[string]string{"word": word},
		})
		ecs.NewService(s, "web", ecs.ServiceProps{
			Cluster: cluster.Name, Subnets: []string{"subnet-1"}, Role: role.ARN, ExecutionRole: role.ARN, Tags: map[string]string{word: "word"},
			Containers: map[string]ecs.Container{"web": {Image: "nginx:" + word}},
		})
		return nil
	}
}

// serviceOf declares a service of one container.
func serviceOf(s *athanor.Stack, address, cluster, word string) {
	role := aws.ARN("arn:aws:iam::" + "111122223333" + ":role/tasks")
	ecs.NewService(s, address, ecs.ServiceProps{
		Cluster: cluster, Subnets: []string{"subnet-1"}, ExecutionRole: role, Containers: map[string]ecs.Container{"web": {Image: "nginx:1", Env: map[string]string{"WORD": word}}},
	})
}

// TestDeploymentsAreWaitedFor: what is deployed is announced and waited for, through quotas, reads that are behind, and roles that are
// known late. An unchanged plan then shows nothing, and of each family one revision is left.
func TestDeploymentsAreWaitedFor(t *testing.T) {
	inStageOf(t, awstest.StartMinistack(t), awstest.Documented{
		Quotas: awstest.PublishedQuotas(), Latency: 50 * time.Millisecond, Pending: 3 * time.Minute, Behind: awstest.Lag{For: 5 * time.Second},
	}, func(s *stage) {
		for _, word := range []string{"first", "second"} {
			since := time.Now()
			s.deploy(tasks(word))
			if took := time.Since(since); took < 3*time.Minute || took > 10*time.Minute {
				s.Errorf("deployed after %v, and the deployment takes three minutes", took)
			}
			if s.played.Waited()["ECS.DescribeServices"] == 0 {
				s.Error("no deployment was shown in progress")
			}
			time.Sleep(time.Hour)
			if p := s.plan(tasks(word)); p.Pending() {
				s.Errorf("the plan is not unchanged: %+v", p.Summary)
			}
		}
		s.destroy()
	})
}
