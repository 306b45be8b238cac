package ecs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// States of a deployment.
const inProgress, completed, failed = "IN_PROGRESS", "COMPLETED", "FAILED"

var errFailed = errors.New("the deployment failed")

// deployment is one as ECS shows it. The primary one is what the service is to become.
type deployment struct {
	id, task, rollout, reason         string
	desired, running, pending, failed int64
}

// rollout is how far the deployment of a service is.
type rollout struct {
	deployment
	others []deployment
	// begun is what this process began last, zero without one.
	begun begun
	// stopped says why tasks have stopped, where some have failed.
	stopped string
}

// begun is a deployment that this process began, or waits for.
type begun struct {
	id   string
	task aws.ARN
	// try is what was to be deployed: see [attempt].
	try string
	at  time.Time
	// isSeen: a read has shown it.
	isSeen bool
}

// deployments are those that this process began, by service.
type deployments struct {
	mu sync.Mutex
	by map[aws.ARN]begun
}

func ofProcess(cloud kind.Cloud) *deployments {
	return aws.Shared(cloud, "deployments of services", func() *deployments { return &deployments{by: map[aws.ARN]begun{}} })
}

// attempt tells what is declared from other declarations of the same service.
func attempt(want ServiceProps) string {
	text, err := json.Marshal(want)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// begin remembers the primary deployment in the answer to a creation or an update.
func begin(cloud kind.Cloud, arn aws.ARN, answer kind.Document, task aws.ARN, try string) {
	shown, _ := answer["service"].(map[string]any)
	if primary, _ := deploymentsIn(shown); primary.id != "" {
		all := ofProcess(cloud)
		all.mu.Lock()
		defer all.mu.Unlock()
		all.by[arn] = begun{id: primary.id, task: task, try: try, at: time.Now()}
	}
}

// await remembers a deployment that somebody else began.
func (r rollout) await(cloud kind.Cloud, arn aws.ARN, try string) {
	all := ofProcess(cloud)
	all.mu.Lock()
	defer all.mu.Unlock()
	all.by[arn] = begun{id: r.id, task: aws.ARN(r.task), try: try, at: time.Now(), isSeen: true}
}

func deploymentsIn(shown kind.Document) (primary deployment, others []deployment) {
	for _, d := range documents(shown["deployments"]) {
		one := deployment{
			id: text(d, "id"), task: text(d, "taskDefinition"), rollout: text(d, "rolloutState"), reason: text(d, "rolloutStateReason"),
			desired: number(d, "desiredCount"), running: number(d, "runningCount"), pending: number(d, "pendingCount"), failed: number(d, "failedTasks"),
		}
		if text(d, "status") == "PRIMARY" {
			primary = one
		} else {
			others = append(others, one)
		}
	}
	return primary, others
}

// rolloutOf is how far a service is, with what this process began of it.
func rolloutOf(cloud kind.Cloud, arn aws.ARN, shown kind.Document) rollout {
	r := rollout{}
	r.deployment, r.others = deploymentsIn(shown)
	all := ofProcess(cloud)
	all.mu.Lock()
	defer all.mu.Unlock()
	if b, ok := all.by[arn]; ok {
		b.isSeen = b.isSeen || b.id == r.id
		all.by[arn], r.begun = b, b
	}
	return r
}

// state of the primary deployment. One that has none, as those of old, is completed.
func (r rollout) state() string {
	if r.rollout == "" {
		return completed
	}
	return r.rollout
}

// isOurs: this process began the primary deployment, or waits for it.
func (r rollout) isOurs() bool { return r.begun.id != "" && r.begun.id == r.id }

// ended is the deployment that this process began, where it is listed as one that failed.
func (r rollout) ended() (deployment, bool) {
	i := slices.IndexFunc(r.others, func(d deployment) bool { return d.id == r.begun.id && d.rollout == failed })
	if i < 0 {
		return deployment{}, false
	}
	return r.others[i], true
}

// isLost: what this process began is no longer what the service is to become. A read that is behind shows the same for a while.
func (r rollout) isLost() bool {
	_, isListed := r.ended()
	switch {
	case r.begun.id == "" || r.isOurs() || aws.ARN(r.task) == r.begun.task:
		return false
	case isListed:
		return true
	}
	return r.begun.isSeen && time.Since(r.begun.at) > aws.EventuallyVisible
}

// suspect is the deployment whose tasks are asked about.
func (r rollout) suspect() string {
	if r.isLost() {
		return r.begun.id
	}
	return r.id
}

// failure is why what this process began failed, as long as the same is declared; "" where it did not.
func (r rollout) failure(try string) string {
	switch {
	case r.begun.id == "" || r.begun.try != try:
		return ""
	case r.isOurs() && r.state() == failed:
		return r.why()
	case !r.isLost():
		return ""
	}
	why := fmt.Sprintf("the service runs %s again", revisionOf(aws.ARN(r.task)))
	if ended, ok := r.ended(); ok {
		return joined(ended.reason, r.stopped, why)
	}
	return joined(r.reason, r.stopped, why)
}

// why is what is said of the primary deployment.
func (r rollout) why() string { return joined(r.reason, r.stopped) }

// progress is what a deployment is waited for.
func (r rollout) progress() string {
	text := fmt.Sprintf("its deployment is in progress: %d of %d tasks run, %d are starting", r.running, r.desired, r.pending)
	if r.failed > 0 {
		text += fmt.Sprintf(", %d have failed", r.failed)
	}
	return joined(text, r.stopped)
}

// joined are sentences without their full stops, those that are not empty.
func joined(sentences ...string) string {
	var all []string
	for _, s := range sentences {
		if s = strings.TrimSuffix(strings.TrimSpace(s), "."); s != "" {
			all = append(all, s)
		}
	}
	return strings.Join(all, "; ")
}

// whyStopped says why the newest stopped task of a deployment has stopped. It is for the message alone: where it cannot be
// read, the deployment is judged all the same.
func whyStopped(ctx context.Context, cloud kind.Cloud, cluster, service, deployment string) string {
	out, err := answered(ctx, cloud, "ListTasks", kind.Document{"cluster": cluster, "serviceName": service, "desiredStatus": "STOPPED", "maxResults": 100})
	arns, _ := out["taskArns"].([]any)
	if err != nil || len(arns) == 0 {
		return ""
	}
	out, err = answered(ctx, cloud, "DescribeTasks", kind.Document{"cluster": cluster, "tasks": arns})
	if err != nil {
		return ""
	}
	stopped := slices.DeleteFunc(documents(out["tasks"]), func(t kind.Document) bool { return text(t, "startedBy") != deployment })
	if len(stopped) == 0 {
		return ""
	}
	newest := slices.MaxFunc(stopped, func(a, b kind.Document) int { return strings.Compare(stoppedAt(a), stoppedAt(b)) })
	reasons := []string{text(newest, "stoppedReason")}
	for _, c := range documents(newest["containers"]) {
		reason := text(c, "reason")
		if code := number(c, "exitCode"); code != 0 {
			reason = joined(fmt.Sprintf("exit code %d", code), reason)
		}
		if reason != "" {
			reasons = append(reasons, "container "+text(c, "name")+": "+reason)
		}
	}
	return joined(reasons...)
}

// stoppedAt is when a task has stopped, as text that is ordered as times are.
func stoppedAt(task kind.Document) string {
	switch at := task["stoppedAt"].(type) {
	case float64:
		return fmt.Sprintf("%020.6f", at)
	case int64:
		return fmt.Sprintf("%020.6f", float64(at))
	}
	return ""
}
