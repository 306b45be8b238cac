package ecs

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor/adopt"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// kept are the members of a revision that are not managed, and that the next one keeps. All others that are not set are facts about
// the revision, or mean nothing on Fargate.
func kept() []string {
	return []string{"volumes", "pidMode", "proxyConfiguration", "enableFaultInjection"}
}

// readTask reads a revision into the props of its service.
func readTask(task kind.Document, p *ServiceProps) error {
	cpu, cpuErr := strconv.Atoi(text(task, "cpu"))
	memory, memoryErr := strconv.ParseInt(text(task, "memory"), 10, 64)
	if cpuErr != nil || memoryErr != nil {
		return reconcile.WithClass(errOther, reconcile.Invalid)
	}
	p.CPU, p.Memory = &cpu, new(props.Size(memory)<<20)
	p.Architecture = new("X86_64")
	if a := text(task, "runtimePlatform.cpuArchitecture"); a != "" {
		p.Architecture = &a
	}
	p.EphemeralStorage = new(20 * props.GiB)
	if n := number(task, "ephemeralStorage.sizeInGiB"); n > 0 {
		p.EphemeralStorage = new(props.Size(n) * props.GiB)
	}
	p.Role, p.ExecutionRole = aws.ARN(text(task, "taskRoleArn")), aws.ARN(text(task, "executionRoleArn"))
	groups := map[string]bool{}
	p.Containers = map[string]Container{}
	for _, shown := range documents(task["containerDefinitions"]) {
		c, err := readContainer(shown)
		if err != nil {
			return err
		}
		p.Containers[text(shown, "name")] = c
		if driver := text(shown, "logConfiguration.logDriver"); driver == "" || driver == awslogs {
			options, _ := shown.Get("logConfiguration.options").(map[string]any)
			group, _ := options["awslogs-group"].(string)
			groups[group] = true
		}
	}
	if p.Logging = nil; len(groups) > 1 || len(groups) == 1 && !groups[""] {
		p.Logging = &Logging{Group: strings.Join(slices.Sorted(maps.Keys(groups)), ",")} // several are none that can be declared
	}
	return nil
}

const awslogs = "awslogs"

// writeTask is the next revision of a family, made of the last one, nil without one, with all that is managed as declared.
func (p ServiceProps) writeTask(family, region string, last kind.Document) (kind.Document, error) {
	body := kind.Document{
		"family": family, "networkMode": "awsvpc", "requiresCompatibilities": []any{"FARGATE"}, "cpu": strconv.Itoa(*p.CPU), "memory": megabytes(*p.Memory),
		"runtimePlatform": map[string]any{"cpuArchitecture": *p.Architecture, "operatingSystemFamily": "LINUX"},
	}
	for _, member := range kept() {
		list, isList := last[member].([]any)
		if v := last[member]; v != nil && v != "" && (!isList || len(list) > 0) {
			body[member] = v
		}
	}
	if system := text(last, "runtimePlatform.operatingSystemFamily"); system != "" {
		body.Set("runtimePlatform.operatingSystemFamily", system)
	}
	for member, role := range map[string]aws.ARN{"taskRoleArn": p.Role, "executionRoleArn": p.ExecutionRole} {
		if role != "" {
			body[member] = string(role)
		}
	}
	if *p.EphemeralStorage > 20*props.GiB {
		body["ephemeralStorage"] = map[string]any{"sizeInGiB": int64(*p.EphemeralStorage / props.GiB)}
	}
	containers := []any{}
	for _, name := range names(p.Containers, nil) {
		def := kind.Document{}
		for _, shown := range documents(last["containerDefinitions"]) {
			if text(shown, "name") == name {
				def = maps.Clone(shown)
			}
		}
		if err := p.Containers[name].write(name, def); err != nil {
			return nil, err
		}
		p.writeLogging(region, def)
		containers = append(containers, map[string]any(def))
	}
	body["containerDefinitions"] = containers
	return body, nil
}

// writeLogging makes a container log as declared. Another driver than that of CloudWatch stays.
func (p ServiceProps) writeLogging(region string, def kind.Document) {
	if driver := text(def, "logConfiguration.logDriver"); driver != "" && driver != awslogs {
		return
	}
	if p.Logging == nil {
		delete(def, "logConfiguration")
		return
	}
	options := map[string]any{"awslogs-stream-prefix": "ecs"}
	if had, ok := def.Get("logConfiguration.options").(map[string]any); ok {
		maps.Copy(options, had)
	}
	options["awslogs-group"], options["awslogs-region"] = p.Logging.Group, region
	had, _ := def["logConfiguration"].(map[string]any)
	logs := maps.Clone(had)
	if logs == nil {
		logs = map[string]any{}
	}
	logs["logDriver"], logs["options"] = awslogs, options
	def["logConfiguration"] = logs
}

// sameTask reports whether no prop differs that is in the task definition.
func sameTask(want, have ServiceProps) bool {
	only := func(p ServiceProps) ServiceProps {
		return ServiceProps{
			CPU: p.CPU, Memory: p.Memory, Architecture: p.Architecture, EphemeralStorage: p.EphemeralStorage, Role: p.Role, ExecutionRole: p.ExecutionRole,
			Logging: p.Logging,
		}
	}
	return serviceTable.Equal(only(want), only(have)) && sameContainers(want.Containers, have.Containers)
}

// revisions keeps the revisions that were read: one never changes but for its status and its tags.
type revisions struct{ by sync.Map }

// describeTask is a revision.
func describeTask(ctx context.Context, cloud kind.Cloud, arn aws.ARN) (kind.Document, error) {
	known := aws.Shared(cloud, "revisions of task definitions", func() *revisions { return &revisions{} })
	if task, ok := known.by.Load(arn); ok {
		return task.(kind.Document), nil
	}
	task, _, err := describeRevision(ctx, cloud, arn)
	if err == nil {
		known.by.Store(arn, task)
	}
	return task, err
}

func describeRevision(ctx context.Context, cloud kind.Cloud, arn aws.ARN) (task kind.Document, tags map[string]string, err error) {
	out, err := answered(ctx, cloud, "DescribeTaskDefinition", kind.Document{"taskDefinition": arn, "include": []string{"TAGS"}})
	task, _ = out["taskDefinition"].(map[string]any)
	return task, tagsIn(out), err
}

// revisionOf is FAMILY:REVISION.
func revisionOf(arn aws.ARN) string {
	p, _ := arn.Parse()
	return strings.TrimPrefix(p.Resource, "task-definition/")
}

// revision is one of an owner's.
type revision struct {
	arn  aws.ARN
	task kind.Document
}

// ownRevisions are the active revisions of a family that have the owner tag of an address, the newest first. Of those of the family
// as many are read, 0 for all: others may have registered some of the same name.
func ownRevisions(ctx context.Context, cloud kind.Cloud, family string, owner kind.OwnerTag, most int, but ...aws.ARN) (own []revision, err error) {
	var arns []aws.ARN
	in := kind.Document{"familyPrefix": family, "status": "ACTIVE", "sort": "DESC"}
	err = pages(ctx, cloud, "ListTaskDefinitions", "taskDefinitionArns", in, func(arn aws.ARN) bool {
		if of, _, ok := strings.Cut(revisionOf(arn), ":"); ok && of == family && !slices.Contains(but, arn) {
			arns = append(arns, arn)
		}
		return most == 0 || len(arns) < most
	})
	if err != nil {
		return nil, err
	}
	for _, arn := range arns {
		task, tags, err := describeRevision(ctx, cloud, arn)
		if err != nil {
			return nil, err
		}
		if adopt.MarkOf(tags).SameResource(owner) {
			own = append(own, revision{arn, task})
		}
	}
	return own, nil
}

// mostRevisions is how many revisions of a family are looked at for the owner's: there are two during a deployment, and more after
// some that failed.
const mostRevisions = 10

// staleRevisions are the revisions of an owner that a service no longer runs.
func staleRevisions(ctx context.Context, cloud kind.Cloud, family string, runs aws.ARN, owner kind.OwnerTag) (stale []aws.ARN, err error) {
	own, err := ownRevisions(ctx, cloud, family, owner, mostRevisions, runs)
	for _, r := range own {
		stale = append(stale, r.arn)
	}
	return stale, err
}

// registered is the revision that a service is to run. Registering is not idempotent: one of the owner's that is there already, after
// a run that was cut off, an answer that was lost or a deployment that was rolled back, is taken instead.
func registered(ctx context.Context, facts kind.Facts, family string, want ServiceProps, last kind.Document) (aws.ARN, error) {
	own, err := ownRevisions(ctx, facts.Cloud, family, facts.Owner, mostRevisions)
	if err != nil {
		return "", err
	}
	for _, r := range own {
		var have ServiceProps
		if readTask(r.task, &have) == nil && sameTask(want, have) {
			return r.arn, nil
		}
	}
	body, err := want.writeTask(family, facts.Location.Region, last)
	if err != nil {
		return "", err
	}
	body["tags"] = aws.JSONTags[aws.LowerTag](aws.Tags(facts.Cloud, want.Tags, facts.Owner))
	out, err := answered(ctx, facts.Cloud, "RegisterTaskDefinition", body)
	return aws.ARN(text(out, "taskDefinition.taskDefinitionArn")), err
}

// deregister makes revisions inactive. What runs them goes on.
func deregister(ctx context.Context, cloud kind.Cloud, arns []aws.ARN) error {
	for _, arn := range arns {
		if err := call(ctx, cloud, "DeregisterTaskDefinition", kind.Document{"taskDefinition": arn}, nil); err != nil {
			return err
		}
	}
	return nil
}
