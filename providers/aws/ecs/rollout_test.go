package ecs

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// script changes how services are shown, as a test says.
type script struct {
	mu   sync.Mutex
	show func(service obj)
	// stopped is a task that has stopped, nil for none. Its deployment is the primary one.
	stopped obj
	primary any
}

func (s *script) play(stopped obj, show func(service obj)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped, s.show = stopped, show
}

// scripted is a world in which deployments go as a script says.
func scripted(t *testing.T) (*world, *script) {
	t.Helper()
	s := &script{}
	return worldOf(serviceKind.Erase(), "web", awstest.Amendments{Show: map[string]func(in, out awstest.Fields){
		"DescribeServices": func(_, out awstest.Fields) {
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, shown := range documents(out["services"]) {
				for _, d := range documents(shown["deployments"]) {
					if d["status"] == "PRIMARY" {
						s.primary = d["id"]
					}
				}
				if s.show != nil {
					s.show(shown)
				}
			}
		},
		"ListTasks": func(_, out awstest.Fields) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if out["taskArns"] = (list{}); s.stopped != nil {
				out["taskArns"] = list{"arn:aws:ecs:us-east-1:111122223333:task/shop/0123456789abcdef"}
			}
		},
		"DescribeTasks": func(_, out awstest.Fields) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.stopped["startedBy"] = s.primary
			out["tasks"] = list{obj{"startedBy": "another", "stoppedReason": "not asked for", "stoppedAt": 9e9}, s.stopped}
		},
	}})(t), s
}

// primary is the primary deployment of a shown service.
func primaryOf(service obj) kind.Document {
	all := documents(service["deployments"])
	i := slices.IndexFunc(all, func(d kind.Document) bool { return d["status"] == "PRIMARY" })
	return all[i]
}

// pull is a task that could not be started.
func pull() obj {
	return obj{
		"stoppedReason": "CannotPullContainerError: the image is not there.", "stoppedAt": 1.7e9,
		"containers": list{obj{"name": "web", "reason": "it was not started"}, obj{"name": "side", "exitCode": 137}},
	}
}

// another is the same world as another process reaches it, which remembers nothing.
func (w *world) another(t *testing.T) {
	t.Helper()
	cfg, err := w.Cloud.Config()
	if err != nil {
		t.Fatal(err)
	}
	w.Cloud = aws.FromConfig(cfg).AtAnyRate()
	if _, err := w.Cloud.Place(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func image(name string) obj {
	return plain(obj{"name": "web", "containers": obj{"web": obj{"image": name, "ports": list{int64(80)}}}})
}

func (w *world) settle(t *testing.T, props obj, last *reconcile.Outcome, hooks reconcile.Hooks) (reconcile.Outcome, error) {
	t.Helper()
	return w.Kind.Settle(t.Context(), w.Job(t, w.Kind, props, last), hooks)
}

// TestDeploymentIsWaitedFor: a deployment in progress is waited for, with how far it is, and with what stops its tasks.
func TestDeploymentIsWaitedFor(t *testing.T) {
	t.Parallel()
	w, s := scripted(t)
	left := 2
	s.play(pull(), func(service obj) {
		if left--; left >= 0 {
			d := primaryOf(service)
			d["rolloutState"], d["runningCount"], d["pendingCount"], d["failedTasks"] = inProgress, 0, 1, 3
		}
	})
	var notes []string
	out, err := w.settle(t, image("web:1"), nil, reconcile.Hooks{Note: func(note string) { notes = append(notes, note) }})
	if err != nil {
		t.Fatal(err)
	}
	want := "its deployment is in progress: 0 of 1 tasks run, 1 are starting, 3 have failed; CannotPullContainerError: the image is not there; " +
		"container web: it was not started; container side: exit code 137"
	if !slices.Contains(notes, want) {
		t.Errorf("%q", notes)
	}
	if got := out.Attrs["taskDefinition"]; got != "arn:aws:ecs:us-east-1:111122223333:task-definition/web:1" {
		t.Error(got)
	}
}

// TestFailedDeployment: one that failed fails the run once, with what stopped its tasks; the next run makes it again.
func TestFailedDeployment(t *testing.T) {
	t.Parallel()
	w, s := scripted(t)
	s.play(pull(), func(service obj) {
		d := primaryOf(service)
		d["rolloutState"], d["rolloutStateReason"], d["failedTasks"] = failed, "ECS deployment circuit breaker: tasks failed to start.", 3
	})
	out, err := w.settle(t, image("web:1"), nil, reconcile.Hooks{})
	if !errors.Is(err, errFailed) || !strings.Contains(err.Error(), "tasks failed to start; CannotPullContainerError") || w.Cloud.Classify(err) != reconcile.Invalid {
		t.Fatalf("%v", err)
	}
	if wrote := w.Wrote(); !slices.Equal(wrote, []string{"ECS.RegisterTaskDefinition", "ECS.CreateService"}) {
		t.Error(wrote)
	}
	w.another(t)
	look, err := w.Kind.Look(t.Context(), w.Job(t, w.Kind, image("web:1"), &out))
	if err != nil || len(look.Steps) != 1 || look.Steps[0].Path != deploymentPath {
		t.Fatalf("%v %+v", err, look.Steps)
	}
	s.play(nil, nil)
	before := primaryOf(w.described(t, "web"))["id"]
	s.play(pull(), func(service obj) {
		if d := primaryOf(service); d["id"] == before {
			d["rolloutState"] = failed
		}
	})
	w.Server.Reset()
	if _, err := w.settle(t, image("web:1"), &out, reconcile.Hooks{}); err != nil {
		t.Fatal(err)
	}
	if wrote := w.Wrote(); !slices.Equal(wrote, []string{"ECS.UpdateService"}) {
		t.Error(wrote)
	}
	if now := w.active(t, "web"); !slices.Equal(now, []string{"web:1"}) {
		t.Error(now)
	}
}

// TestRolledBack: what is rolled back fails the run, and is not made again by it; another declaration is deployed at once.
func TestRolledBack(t *testing.T) {
	t.Parallel()
	w, s := scripted(t)
	out, err := w.settle(t, image("web:1"), nil, reconcile.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	one, two := "arn:aws:ecs:us-east-1:111122223333:task-definition/web:1", "arn:aws:ecs:us-east-1:111122223333:task-definition/web:2"
	s.play(pull(), func(service obj) {
		d := primaryOf(service)
		if d["taskDefinition"] != two {
			return
		}
		ended := obj{"id": d["id"], "status": "ACTIVE", "taskDefinition": two, "rolloutState": failed, "rolloutStateReason": "ECS deployment circuit breaker: tasks failed to start."}
		d["id"], d["taskDefinition"], d["rolloutState"], service["taskDefinition"] = "ecs-svc/again", one, inProgress, one
		service["deployments"] = list{obj(d), ended}
	})
	w.Server.Reset()
	_, err = w.settle(t, image("web:2"), &out, reconcile.Hooks{})
	if !errors.Is(err, errFailed) || !strings.Contains(err.Error(), "tasks failed to start; CannotPullContainerError") ||
		!strings.Contains(err.Error(), "the service runs web:1 again") {
		t.Fatalf("%v", err)
	}
	if wrote := w.Wrote(); !slices.Equal(wrote, []string{"ECS.RegisterTaskDefinition", "ECS.UpdateService"}) {
		t.Error(wrote)
	}
	if _, err := w.settle(t, image("web:3"), &out, reconcile.Hooks{}); err != nil {
		t.Fatal(err)
	}
	if now := w.active(t, "web"); !slices.Equal(now, []string{"web:3"}) {
		t.Errorf("the revision that failed and the one before are left: %v", now)
	}
}

// TestOthersDeployment: a deployment that a run was cut off after is a difference, and the next run waits for it.
func TestOthersDeployment(t *testing.T) {
	t.Parallel()
	w, s := scripted(t)
	out, err := w.settle(t, image("web:1"), nil, reconcile.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	w.another(t)
	left := 3
	s.play(nil, func(service obj) {
		if left--; left >= 0 {
			primaryOf(service)["rolloutState"] = inProgress
		}
	})
	look, err := w.Kind.Look(t.Context(), w.Job(t, w.Kind, image("web:1"), &out))
	if err != nil || len(look.Steps) != 1 || look.Steps[0].Path != deploymentPath || look.Busy != "" {
		t.Fatalf("%v %+v", err, look)
	}
	var notes []string
	w.Server.Reset()
	if _, err := w.settle(t, image("web:1"), &out, reconcile.Hooks{Note: func(note string) { notes = append(notes, note) }}); err != nil {
		t.Fatal(err)
	}
	if len(w.Wrote()) != 0 || !slices.ContainsFunc(notes, func(n string) bool { return strings.HasPrefix(n, "its deployment is in progress") }) {
		t.Errorf("%v %q", w.Wrote(), notes)
	}
}

// TestLaggingRead: a read that still shows the deployment before is no failure.
func TestLaggingRead(t *testing.T) {
	r := rollout{deployment: deployment{id: "ecs-svc/1", task: "web:1", rollout: completed}, begun: begun{id: "ecs-svc/2", task: "web:2", try: "x", at: time.Now()}}
	if r.failure("x") != "" || r.isOurs() {
		t.Error("it is not visible yet")
	}
	if r.begun.isSeen = true; r.failure("x") != "" {
		t.Error("reads may be behind for a while")
	}
	if r.begun.at = time.Now().Add(-time.Hour); r.failure("x") == "" || r.failure("y") != "" {
		t.Error("it was rolled back, and something else may be declared")
	}
}

// TestRevisions: each change of the task definition registers one revision, what is the same is not registered again, others'
// revisions of the family are left alone, and the deletion leaves none of the service's.
func TestRevisions(t *testing.T) {
	t.Parallel()
	w := newServiceWorld(t)
	theirs := kind.Document{"family": "web", "containerDefinitions": list{obj{"name": "x", "image": "x"}}, "requiresCompatibilities": list{"FARGATE"}, "cpu": "256", "memory": "512"}
	w.ask(t, "RegisterTaskDefinition", theirs)
	out := w.Settled(t, image("web:1"), nil)
	out = w.Settled(t, image("web:2"), &out)
	if now := w.active(t, "web"); !slices.Equal(now, []string{"web:1", "web:3"}) {
		t.Error(now)
	}
	w.Server.Reset()
	scaled := image("web:2")
	scaled["desiredCount"], scaled["maximumPercent"] = int64(2), int64(150)
	out = w.Settled(t, scaled, &out)
	if wrote := w.Wrote(); !slices.Equal(wrote, []string{"ECS.UpdateService"}) {
		t.Errorf("%v: no revision is needed for that", wrote)
	}
	if err := w.Kind.Delete(t.Context(), w.Job(t, w.Kind, nil, &out)); err != nil {
		t.Fatal(err)
	}
	if now := w.active(t, "web"); !slices.Equal(now, []string{"web:1"}) {
		t.Error(now)
	}
}

// TestCutOff: a run that ends right after the registration leaves a revision, which the next one takes.
func TestCutOff(t *testing.T) {
	t.Parallel()
	w := newServiceWorld(t)
	out := w.Settled(t, image("web:1"), nil)
	w.Server.Inject(awstest.Fault{Op: "ECS.UpdateService", Kind: awstest.Deny})
	if _, err := w.settle(t, image("web:2"), &out, reconcile.Hooks{}); w.Cloud.Classify(err) != reconcile.Denied {
		t.Fatal(err)
	}
	if now := w.active(t, "web"); !slices.Equal(now, []string{"web:1", "web:2"}) {
		t.Error(now)
	}
	w.another(t)
	w.Server.Reset()
	w.Settled(t, image("web:2"), &out)
	if wrote := w.Wrote(); !slices.Equal(wrote, []string{"ECS.UpdateService", "ECS.DeregisterTaskDefinition"}) {
		t.Error(wrote)
	}
	if now := w.active(t, "web"); !slices.Equal(now, []string{"web:2"}) {
		t.Error(now)
	}
}

// TestKept: what is not managed of a task definition is in its next revision too.
func TestKept(t *testing.T) {
	t.Parallel()
	w := newServiceWorld(t)
	out := w.Settled(t, image("web:1"), nil)
	in := kind.Document(revisionBy(t, image("web:1")))
	in["volumes"] = list{obj{"name": "files"}}
	def := in["containerDefinitions"].(list)[0].(obj)
	def["mountPoints"], def["dockerLabels"] = list{obj{"sourceVolume": "files", "containerPath": "/files"}}, obj{"a": "b"}
	def["portMappings"] = list{obj{"containerPort": 80, "protocol": "tcp", "name": "web", "appProtocol": "http"}}
	arn := w.ask(t, "RegisterTaskDefinition", in).Get("taskDefinition.taskDefinitionArn")
	w.ask(t, "UpdateService", kind.Document{"cluster": shop, "service": "web", "taskDefinition": arn})
	out = w.Settled(t, image("web:2"), &out)
	task := kind.Document(w.ask(t, "DescribeTaskDefinition", kind.Document{"taskDefinition": out.Attrs["taskDefinition"]})["taskDefinition"].(obj))
	now := documents(task["containerDefinitions"])[0]
	if task["family"] != "web" || len(documents(task["volumes"])) != 1 || now["image"] != "web:2" || now.Get("dockerLabels.a") != "b" ||
		len(documents(now["mountPoints"])) != 1 || documents(now["portMappings"])[0]["appProtocol"] != "http" {
		t.Errorf("%v", task)
	}
}

// TestIgnored: props that are left to others keep what they are in the next revision.
func TestIgnored(t *testing.T) {
	one, two := Container{Image: "web:1", Env: map[string]string{"A": "1", "B": "1"}}, Container{Image: "web:2", Env: map[string]string{"A": "2", "B": "2"}}
	merged := mergedContainers(map[string]Container{"web": two, "new": two}, map[string]Container{"web": one, "old": one}, []tree.Path{"containers.web.env.A", "containers.new"})
	if web := merged["web"]; web.Image != "web:1" || web.Env["A"] != "2" || web.Env["B"] != "1" || merged["new"].Image != "web:2" || merged["old"].Image != "web:1" {
		t.Errorf("%+v", merged)
	}
	if gone := mergedContainers(nil, map[string]Container{"old": one}, []tree.Path{"containers.old"}); len(gone) != 0 {
		t.Errorf("%+v", gone)
	}
}

// TestDraining: a service that is being deleted is waited for, and cannot be changed.
func TestDraining(t *testing.T) {
	if statusOf(liveService{status: draining, tasks: 2}) != kind.Busy("it is being deleted: 2 of its tasks still run") || statusOf(liveService{}) != kind.Ready() {
		t.Error("wrong status")
	}
}

// TestDenied fails at once, in the words of the service.
func TestDenied(t *testing.T) {
	t.Parallel()
	awstest.Denied(t, newServiceWorld, image("web:1"), "ECS.DescribeServices", "ECS.ListTaskDefinitions", "ECS.RegisterTaskDefinition", "ECS.CreateService")
	awstest.Denied(t, newClusterWorld, obj{}, "ECS.DescribeClusters", "ECS.CreateCluster")
}

func TestElsewhere(t *testing.T) {
	t.Parallel()
	awstest.Elsewhere(t, newServiceWorld, image("web:1"), "arn:aws:ecs:eu-west-9:111122223333:service/shop/web", func(string) []string { return []string{"shop/web"} })
	awstest.Elsewhere(t, newClusterWorld, obj{"name": "tasks"}, "arn:aws:ecs:eu-west-9:111122223333:cluster/tasks", func(string) []string { return []string{"tasks"} })
}

// TestListed: services are listed through all clusters.
func TestListed(t *testing.T) {
	t.Parallel()
	w := newServiceWorld(t)
	w.Settled(t, image("web:1"), nil)
	found, err := listServices(t.Context(), kind.ListScope{Cloud: w.Cloud, Prefix: "we"})
	if err != nil || len(found) != 1 || found[0].Identity != "arn:aws:ecs:us-east-1:111122223333:service/shop/web" || found[0].Name != "web" {
		t.Errorf("%v %v", found, err)
	}
}

// TestMatch knows clusters and services by their ARNs, and nothing else of ECS.
func TestMatch(t *testing.T) {
	for arn, want := range map[aws.ARN]string{
		"arn:aws:ecs:eu-west-1:111122223333:cluster/shop": clusterType + " shop", "arn:aws:ecs:eu-west-1:111122223333:service/shop/web": serviceType + " web",
		"arn:aws:ecs:eu-west-1:111122223333:task-definition/web:3": "", "arn:aws:ecs:eu-west-1:111122223333:service/web": "", "arn:aws:sqs:eu-west-1:111122223333:cluster/shop": "",
	} {
		typ, _, name, ok := Service().Match(arn)
		if got := strings.TrimSpace(typ + " " + name); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %s %v", arn, got, ok)
		}
	}
}

// TestRefused finds what ECS would refuse, before any call.
func TestRefused(t *testing.T) {
	kindtest.Refuses(t, serviceKind.Erase(), kindtest.Refusals{
		{plain(nil), ""},
		{tuned(nil), ""},
		{plain(obj{"cpu": int64(300)}), "want one of 256, 512"},
		{plain(obj{"cpu": int64(256), "memory": "3GiB"}), "Fargate has 512 MiB, 1024 MiB or 2048 MiB for 256 CPU units"},
		{plain(obj{"cpu": int64(4096), "memory": "4GiB"}), "Fargate has 8192 MiB to 30720 MiB in steps of 1024 MiB for 4096 CPU units"},
		{plain(obj{"cpu": int64(8192), "memory": "17GiB"}), "in steps of 4096 MiB"},
		{plain(obj{"cpu": int64(16384), "memory": "120GiB"}), ""},
		{plain(obj{"containers": obj{"web": obj{"image": "x", "essential": false}}, "loadBalancers": nil}), "at least that is essential"},
		{plain(obj{"containers": obj{"web": obj{"image": "x"}}}), "want one of the ports of the container web"},
		{plain(obj{"containers": obj{"api": obj{"image": "x"}}}), "want a container of the service"},
		{plain(obj{"containers": obj{"web": obj{"image": "x", "ports": list{int64(80)}, "dependsOn": obj{"side": "START"}}}}), "want another container"},
		{plain(obj{"containers": obj{"web": obj{"image": "x", "ports": list{int64(70000)}}}, "loadBalancers": nil}), "want a port from 1 to 65535"},
		{plain(obj{"containers": obj{"web": obj{"image": "x", "ports": list{int64(80)}, "secrets": obj{"A": "arn:aws:s3:::b"}}}}), "want the ARN of a secret"},
		{plain(obj{"maximumPercent": int64(100)}), "no task could be replaced"},
	})
}

// TestSecrets: the role that starts tasks may read what containers name, and no more.
func TestSecrets(t *testing.T) {
	for from, want := range map[string]string{
		secret: secret, secret + ":key::": secret, secret + ":key:AWSCURRENT:": secret, "/shop/word": "arn:*:ssm:*:*:parameter/shop/word", "word": "arn:*:ssm:*:*:parameter/word",
		"arn:aws:ssm:us-east-1:111122223333:parameter/shop/word": "arn:aws:ssm:us-east-1:111122223333:parameter/shop/word",
	} {
		if got := secretOf(from); got != want {
			t.Errorf("%s: %s", from, got)
		}
	}
}
