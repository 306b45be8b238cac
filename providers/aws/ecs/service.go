package ecs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// ReadService uses a service that the stack does not own: by its ARN or CLUSTER/NAME, or by ServiceProps that name both.
func ReadService(s *athanor.Stack, name string, by any) FargateService {
	return athanor.Read(s, serviceKind, name, by)
}

// ServiceProps declare a service with its task definition. Defaults and limits are those of
// https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateService.html and API_RegisterTaskDefinition.html
type ServiceProps struct {
	// Name of the service, and of the family of its task definition: up to 255 letters, digits, - and _. Default: none, a name is
	// generated. Changing it replaces the service.
	Name string
	// Cluster is the name or the ARN of the cluster.
	Cluster string `prop:"required,immutable,needsready,maxlen=2048" wire:"-"`
	// DesiredCount is how many tasks run. Where a scaling policy sets it, name it in the option ignoreChanges.
	DesiredCount *int `prop:"min=0,default=1" wire:"desiredCount"`
	// CPU units of each task, 1024 for one processor: 256, 512, 1024, 2048, 4096, 8192 or 16384.
	CPU *int `prop:"min=256,max=16384,default=256" wire:"-"`
	// Memory of each task: what Fargate has for its processors, from 512 MiB for 256 units on. See
	// https://docs.aws.amazon.com/AmazonECS/latest/developerguide/fargate-tasks-services.html#fargate-tasks-size
	Memory *props.Size `prop:"min=512MiB,max=120GiB,default=512MiB,unit=1MiB" wire:"-"`
	// Architecture of the processors, which the images must be made for.
	Architecture *string `prop:"enum=X86_64|ARM64,default=X86_64" wire:"-"`
	// EphemeralStorage of each task, in whole GiB.
	EphemeralStorage *props.Size `prop:"min=20GiB,max=200GiB,default=20GiB,unit=1GiB" wire:"-"`
	// Containers of each task, by their names. At least one must be there.
	Containers map[string]Container `prop:"required,maxitems=10" wire:",elements"`
	// Role is the ARN of the role that containers run as. In Go programs a service without this and executionRole gets both, and a log
	// group, in YAML with "role: own" beside the props: NAME/role, which may do what is granted to the service; NAME/execution, which may pull
	// images, write to the group and read the secrets that containers name; and NAME/logs. Default: none, containers may call nothing.
	Role aws.ARN `prop:"maxlen=2048" wire:"-"`
	// ExecutionRole is the ARN of the role that ECS starts tasks with: logging and secrets need one, and images in ECR. Default: none.
	ExecutionRole aws.ARN `prop:"maxlen=2048" wire:"-"`
	// Logging says where containers log. Default: none, nowhere; a driver other than awslogs stays as it is.
	Logging *Logging `wire:"-"`
	// Subnets of the tasks, by their ids.
	Subnets []string `prop:"required,set,maxitems=16" wire:"networkConfiguration.awsvpcConfiguration.subnets"`
	// SecurityGroups of the tasks, by their ids. Default: none, that of the network.
	SecurityGroups []string `prop:"set,maxitems=5" wire:"networkConfiguration.awsvpcConfiguration.securityGroups"`
	// PublicIP gives each task a public address, which it needs in public subnets to pull its images.
	PublicIP bool `prop:"default=false" wire:"networkConfiguration.awsvpcConfiguration.assignPublicIp,enabled"`
	// PlatformVersion of Fargate, such as 1.4.0.
	PlatformVersion *string `prop:"default=LATEST" wire:"platformVersion"`
	// LoadBalancers are the target groups that tasks are registered with. Default: none.
	LoadBalancers []LoadBalancer `prop:"maxitems=5,set" wire:"loadBalancers,elements"`
	// HealthCheckGracePeriod is how long a new task may fail the health checks of its load balancers, in whole seconds.
	HealthCheckGracePeriod time.Duration `prop:"min=0s,max=2147483647s,default=0s,needs=loadBalancers" wire:"healthCheckGracePeriodSeconds,omitzero"`
	// MinimumHealthyPercent is how many of desiredCount run during a deployment at least.
	MinimumHealthyPercent *int `prop:"min=0,max=100,default=100" wire:"deploymentConfiguration.minimumHealthyPercent"`
	// MaximumPercent is how many of desiredCount run or start during a deployment at most.
	MaximumPercent *int `prop:"min=100,default=200" wire:"deploymentConfiguration.maximumPercent"`
	// CircuitBreaker says when a deployment has failed: never (OFF), which ECS does by default, or once enough tasks have failed to start,
	// and then the deployment before it is made again (ROLLBACK) or not (FAIL). A deployment that never fails is waited for until
	// the time for it is over, so that this package rolls back by default.
	CircuitBreaker *string `prop:"enum=OFF|FAIL|ROLLBACK,default=ROLLBACK" wire:"deploymentConfiguration.deploymentCircuitBreaker,breaker"`
	// ExecuteCommand lets people run commands in new containers, as the role of the containers permits it.
	ExecuteCommand bool `prop:"default=false" wire:"enableExecuteCommand"`
	// Tags of the service and of new revisions of its task definition, beside the owner tags. Default: none.
	Tags map[string]string
}

// Logging says where containers log.
type Logging struct {
	// Group is the name of the log group. The streams of a container are ecs/CONTAINER/TASK.
	Group string `prop:"required,maxlen=512"`
}

// LoadBalancer is a target group that tasks are registered with.
// https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_LoadBalancer.html
type LoadBalancer struct {
	// TargetGroup is its ARN: one of target type ip, which a listener forwards to.
	TargetGroup aws.ARN `prop:"required,maxlen=2048" wire:"targetGroupArn"`
	// Container that requests go to.
	Container string `prop:"required,maxlen=255" wire:"containerName"`
	// Port of the container.
	Port int `prop:"required,min=1,max=65535" wire:"containerPort"`
}

// FargateService is what others may refer to of a service.
type FargateService struct {
	// ARN of the service.
	ARN aws.ARN `attr:"early"`
	// Name of the service.
	Name string `attr:"early"`
	// Cluster is the name of its cluster.
	Cluster string `attr:"early"`
	// TaskDefinition is the ARN of the revision that the service runs.
	TaskDefinition aws.ARN `attr:"mutable=containers|cpu|memory|architecture|ephemeralStorage|role|executionRole|logging"`

	stack *athanor.Stack
	role  aws.ARN // that containers run as: grants are to it
}

// Granted is the role that containers run as: grants to the service are grants to it.
func (s FargateService) Granted() (stack *athanor.Stack, role aws.ARN) { return s.stack, s.role }

// liveService is an observed service.
type liveService struct {
	attrs  FargateService
	have   ServiceProps
	tags   map[string]string
	status string
	// tasks is how many still run.
	tasks int64
	// task is the revision that it runs, and stale are older and unused revisions of its owner.
	task  kind.Document
	stale []aws.ARN
	rollout
}

type (
	serviceSite = kind.Site[ServiceProps, FargateService]
	serviceOn   = kind.Update[liveService]
)

var serviceTable = kind.TableOf[ServiceProps](
	kind.Codec{
		Name: "enabled",
		Write: func(prop any) (any, error) {
			if prop == true {
				return "ENABLED", nil
			}
			return "DISABLED", nil
		},
		Read: func(wire any) (any, error) { return wire == "ENABLED", nil },
	},
	kind.Codec{
		Name: "breaker",
		Write: func(prop any) (any, error) {
			return map[string]any{"enable": prop != "OFF", "rollback": prop == "ROLLBACK"}, nil
		},
		Read: func(wire any) (any, error) {
			switch b, _ := wire.(map[string]any); {
			case b["enable"] != true:
				return "OFF", nil
			case b["rollback"] != true:
				return "FAIL", nil
			}
			return "ROLLBACK", nil
		},
	},
)

var serviceKind = &kind.Kind[ServiceProps, liveService, FargateService]{
	Type: serviceType,
	Doc: "A service of Amazon ECS on AWS Fargate with its task definition: containers, sizes, roles, network, target groups, deployments and tags. Each " +
		"change of the task definition registers one more revision, and the older ones are deregistered once the service runs the new one. A run " +
		"waits until a deployment is completed, and fails with what stopped its tasks. Volumes, Service Connect, capacity providers, scaling policies " +
		"and what else a task definition has are not managed, and stay.",

	Observe:    aws.Together(serviceType, observeService, observeServices),
	Create:     createService,
	Compare:    compareService,
	Attributes: func(live liveService) FargateService { return live.attrs },
	Delete:     deleteService,
	Identity:   func(s FargateService) string { return string(s.ARN) },
	CleansUp:   true, // revisions of its task definition

	Props: serviceTable,
	Check: checkService,
	Unique: func(want ServiceProps) []string {
		return aws.Declares("AWS::ECS::Service", clusterName(want.Cluster), want.Name)
	},
	Named: &kind.Named[ServiceProps, liveService]{
		Given: func(want ServiceProps) string { return want.Name },
		Rule:  func(ServiceProps) kind.NameRule { return kind.NameRule{Max: 255, Marks: "-_"} },
		Live:  func(live liveService) string { return live.attrs.Name },
	},
	Owner: tagged(
		func(want ServiceProps) map[string]string { return want.Tags },
		func(live liveService) map[string]string { return live.tags }, func(live liveService) aws.ARN { return live.attrs.ARN }),
	Status:   statusOf,
	List:     listServices,
	Bulk:     aws.InBulk(observeService, observeServices),
	Timeouts: kind.Timeouts{Create: longest, Update: longest, Delete: longest},

	EventuallyVisible: aws.EventuallyVisible,

	API: aws.API("ECS", "ecs", aws.Source(source), kind.Permissions{
		Observe: []string{"DescribeServices", "DescribeTaskDefinition", "ListTaskDefinitions", "ListTasks", "DescribeTasks"},
		List:    []string{"ListClusters", "ListServices"},
		Create:  []string{"RegisterTaskDefinition", "CreateService", "TagResource"},
		Update:  []string{"RegisterTaskDefinition", "UpdateService", "DeregisterTaskDefinition", "TagResource", "UntagResource"},
		Calls: map[string][]string{
			registers: {"RegisterTaskDefinition", "UpdateService", "DeregisterTaskDefinition", "TagResource"},
			updates:   {"UpdateService"},
		},
		Delete: []string{"DeleteService", "DeregisterTaskDefinition"},
		Resource: func(location kind.Location, name string) []string {
			if p, ok := aws.ARN(name).Parse(); ok {
				name = p.Resource[strings.LastIndexByte(p.Resource, '/')+1:]
			}
			return []string{
				string(aws.ARNIn(location, "ecs", "service/*/"+name)), string(aws.ARNIn(location, "ecs", "task-definition/"+name+":*")),
				string(aws.ARNIn(location, "ecs", "task/*")),
			}
		},
		// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonelasticcontainerservice.html
		Anywhere: []string{"ListClusters", "ListServices", "DescribeTaskDefinition", "ListTaskDefinitions", "DeregisterTaskDefinition", "ListTasks"},
		Depends: []kind.Dependence{
			aws.PassRole("ecs-tasks.amazonaws.com", false, []string{registers}, "role", "executionRole"),
		},
	}),
}

const (
	// longest is how long a deployment may take, and how long tasks may take to end.
	longest = 30 * time.Minute
	// registers and updates are what sets props: the first with another revision of the task definition.
	registers, updates = "RegisterTaskDefinition", "UpdateService"

	deploymentPath tree.Path = "deployment"
	revisionsPath  tree.Path = "olderRevisions"
)

var (
	errNoService = errors.New("a service is found by its ARN or CLUSTER/NAME, or by its cluster and its name")
	errOther     = errors.New("it does not run on Fargate by rolling deployments, which this kind manages alone: declare it as AWS::ECS::Service")
)

func serviceARN(location kind.Location, cluster, name string) aws.ARN {
	return aws.ARNIn(location, "ecs", "service/"+cluster+"/"+name)
}

// sizes are the least and the greatest memory that Fargate has for the CPU units of a task, and the steps between them, in MiB:
// https://docs.aws.amazon.com/AmazonECS/latest/developerguide/fargate-tasks-services.html#fargate-tasks-size
func sizes() map[int][3]int64 {
	return map[int][3]int64{
		256: {512, 2048, 512}, 512: {1024, 4096, 1024}, 1024: {2048, 8192, 1024}, 2048: {4096, 16384, 1024}, 4096: {8192, 30720, 1024},
		8192: {16384, 61440, 4096}, 16384: {32768, 122880, 8192},
	}
}

// checkService finds what ECS would refuse, beyond what the table says.
func checkService(want ServiceProps) error {
	var problems props.Errors
	checkSize(want, &problems)
	checkContainers(want.Containers, &problems)
	for i, lb := range want.LoadBalancers {
		at := tree.Path("loadBalancers").Index(i)
		switch c, ok := want.Containers[lb.Container]; {
		case token.Has(lb.Container):
		case !ok:
			problems.Wrong(at.Key("container"), "want a container of the service")
		case !listens(c, lb.Port):
			problems.Wrong(at.Key("port"), "want one of the ports of the container "+lb.Container)
		}
	}
	if least := want.MinimumHealthyPercent; (least == nil || *least == 100) && want.MaximumPercent != nil && *want.MaximumPercent == 100 {
		problems.Wrong("maximumPercent", "no task could be replaced: want more than 100, or a minimumHealthyPercent of less")
	}
	return problems.OrNil()
}

// checkSize finds sizes that Fargate does not have.
func checkSize(want ServiceProps, problems *props.Errors) {
	serviceTable.Default(&want)
	size, ok := sizes()[*want.CPU]
	if !ok {
		problems.Wrong("cpu", "want one of 256, 512, 1024, 2048, 4096, 8192, 16384")
		return
	}
	memory := int64(*want.Memory) >> 20
	isStep := memory%size[2] == 0 && memory >= size[0] && memory <= size[1]
	if *want.CPU == 256 {
		isStep = memory == 512 || memory == 1024 || memory == 2048
	}
	if !isStep {
		list := fmt.Sprintf("%d MiB to %d MiB in steps of %d MiB", size[0], size[1], size[2])
		if *want.CPU == 256 {
			list = "512 MiB, 1024 MiB or 2048 MiB"
		}
		problems.Wrong("memory", fmt.Sprintf("Fargate has %s for %d CPU units", list, *want.CPU))
	}
}

// place is where a service is looked for.
func place(s serviceSite) (cluster, name string, err error) {
	switch {
	case s.Last != nil:
		return s.Last.Cluster, s.Last.Name, nil
	case s.ID != "":
		id := s.ID
		if p, ok := aws.ARN(id).Parse(); ok {
			if id = strings.TrimPrefix(p.Resource, "service/"); p.Service != "ecs" || p.Account != s.Location.Account || p.Region != s.Location.Region {
				return "", "", aws.Foreign(s.ID, s.Location)
			}
		}
		cluster, name, ok := strings.Cut(id, "/")
		if !ok {
			return "", "", fmt.Errorf("%w: %q", errNoService, s.ID)
		}
		return cluster, name, nil
	case s.Want.Cluster == "" || s.Name == "":
		return "", "", errNoService
	case token.Has(s.Want.Cluster):
		return "", "", reconcile.ErrAbsent // what is not known yet has none
	}
	cluster, err = clusterIn(s.Location, s.Want.Cluster)
	return cluster, s.Name, err
}

// mostServices is how many one call describes:
// https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DescribeServices.html
const mostServices = 10

// describeServices are services of a cluster as ECS shows them, by their names. Those that are deleted, which it shows for a while, are
// left out.
func describeServices(ctx context.Context, cloud kind.Cloud, cluster string, names []string) (map[string]kind.Document, error) {
	out, err := answered(ctx, cloud, "DescribeServices", kind.Document{"cluster": cluster, "services": names, "include": []string{"TAGS"}})
	found := map[string]kind.Document{}
	for _, shown := range documents(out["services"]) {
		if text(shown, "status") != "INACTIVE" {
			found[text(shown, "serviceName")] = shown
		}
	}
	return found, err
}

func observeService(ctx context.Context, s serviceSite) (live liveService, err error) {
	cluster, name, err := place(s)
	if err != nil {
		return live, err
	}
	found, err := describeServices(ctx, s.Cloud, cluster, []string{name})
	switch {
	case err != nil:
		return live, aws.Absent(err)
	case found[name] == nil:
		return live, missing("service")
	}
	return readService(ctx, s, found[name])
}

// observeServices describes services of the same cluster together, and reads the task definition of each.
func observeServices(ctx context.Context, all []serviceSite) ([]*aws.Answer[liveService], error) {
	of := map[string][]string{}
	for _, s := range all {
		of[s.Last.Cluster] = append(of[s.Last.Cluster], s.Last.Name)
	}
	found := map[string]map[string]kind.Document{}
	for cluster, names := range of {
		found[cluster] = map[string]kind.Document{}
		for some := range slices.Chunk(names, mostServices) {
			shown, err := describeServices(ctx, all[0].Cloud, cluster, some)
			if err != nil {
				return nil, err
			}
			maps.Copy(found[cluster], shown)
		}
	}
	shown := func(s serviceSite) kind.Document { return found[s.Last.Cluster][s.Last.Name] }
	isMissing := func(i int) bool { return shown(all[i]) == nil }
	return aws.EachOf(ctx, all, isMissing, func(ctx context.Context, _ int, s serviceSite) (liveService, error) {
		return readService(ctx, s, shown(s))
	}), nil
}

// readService reads what hangs on a service: its task definition, unused revisions of it, and why tasks have stopped.
func readService(ctx context.Context, s serviceSite, shown kind.Document) (live liveService, err error) {
	cluster, name := clusterName(text(shown, "clusterArn")), text(shown, "serviceName")
	live.attrs = FargateService{
		ARN: aws.ARN(text(shown, "serviceArn")), Name: name, Cluster: cluster, TaskDefinition: aws.ARN(text(shown, "taskDefinition")),
	}
	live.tags, live.status, live.tasks = tagsIn(shown), text(shown, "status"), number(shown, "runningCount")
	if controller := text(shown, "deploymentController.type"); text(shown, "launchType") == "EC2" || controller != "" && controller != "ECS" {
		return live, reconcile.WithClass(errOther, reconcile.Invalid)
	}
	if live.have, err = serviceTable.Read(shown); err != nil {
		return live, err
	}
	live.have.Cluster = cluster
	if live.task, err = describeTask(ctx, s.Cloud, live.attrs.TaskDefinition); err != nil {
		return live, aws.NotYet(err)
	}
	if err := readTask(live.task, &live.have); err != nil {
		return live, err
	}
	if live.status == draining {
		return live, nil
	}
	live.rollout = rolloutOf(s.Cloud, live.attrs.ARN, shown)
	if live.rollout.state() == completed {
		live.stale, err = staleRevisions(ctx, s.Cloud, name, live.attrs.TaskDefinition, s.Owner)
		return live, aws.NotYet(err)
	}
	if live.failed > 0 || live.isLost() {
		live.stopped = whyStopped(ctx, s.Cloud, cluster, name, live.suspect())
	}
	return live, nil
}

const draining = "DRAINING"

func statusOf(live liveService) kind.Status {
	switch {
	case live.status == draining:
		return kind.Busy(fmt.Sprintf("it is being deleted: %d of its tasks still run", live.tasks))
	case live.isOurs() && live.state() == inProgress:
		return kind.Busy(live.progress())
	}
	return kind.Ready()
}

// write is all that a creation takes beside the task definition, and of which an update takes what changes.
func (p ServiceProps) write() (kind.Document, error) {
	body := kind.Document{}
	err := serviceTable.Created(p, body)
	return body, err
}

// createService registers a revision, unless one is there that an earlier run was cut off after, and creates the service with it.
func createService(ctx context.Context, s serviceSite) (made FargateService, err error) {
	cluster, err := clusterIn(s.Location, s.Want.Cluster)
	if err != nil {
		return made, err
	}
	task, err := registered(ctx, s.Facts, s.Name, s.Want, nil)
	if err != nil {
		return made, propagating(s.Cloud, err)
	}
	body, err := s.Want.write()
	if err != nil {
		return made, err
	}
	body["cluster"], body["serviceName"], body["taskDefinition"], body["launchType"] = cluster, s.Name, task, "FARGATE"
	body["tags"] = aws.JSONTags[aws.LowerTag](aws.Tags(s.Cloud, s.Want.Tags, s.Owner))
	out, err := answered(ctx, s.Cloud, "CreateService", body)
	made = FargateService{ARN: serviceARN(s.Location, cluster, s.Name), Name: s.Name, Cluster: cluster, TaskDefinition: task}
	switch {
	case err == nil:
		begin(s.Cloud, made.ARN, out, task, attempt(s.Want))
		return made, nil
	case aws.HasCode(err, "InvalidParameterException", "ClientException"):
		// ECS has no code of its own for a name that is taken, as after a creation that was not answered.
		if found, lookErr := describeServices(ctx, s.Cloud, cluster, []string{s.Name}); lookErr == nil && found[s.Name] != nil {
			return made, reconcile.WithClass(err, reconcile.Exists)
		}
	}
	return made, aws.NotYet(propagating(s.Cloud, err))
}

// propagating waits for a role that ECS does not know yet, or that does not have its permissions yet.
func propagating(cloud kind.Cloud, err error) error {
	if aws.HasCode(err, "AccessDeniedException") && aws.PermissionsArrive(cloud) {
		return aws.Busy(err)
	}
	return aws.Propagating(cloud, err)
}

// compareService states every aspect. What needs another revision is set by one call with all else that differs.
func compareService(d *kind.Diff[liveService], want ServiceProps, live liveService) {
	try := attempt(want)
	want.Cluster = clusterName(want.Cluster)
	isSame := sameTask(want, live.have)
	set := kind.Set(updates, func(ctx context.Context, u serviceOn) error { return update(ctx, u, want, try) })
	if !isSame {
		set = kind.Set(registers, func(ctx context.Context, u serviceOn) error { return update(ctx, u, want, try) })
		set.Affects = []tree.Path{revisionsPath} // which is then one more, until the service runs the new one
	}
	switch why := live.failure(try); {
	case why != "":
		// The deployment was begun by this process with these very props: to make it again would fail again.
		set = kind.Set(updates, func(context.Context, serviceOn) error {
			return reconcile.WithClass(fmt.Errorf("%w: %s", errFailed, why), reconcile.Invalid)
		})
		reconcile.Value(d, deploymentPath, completed, "FAILED: "+why, set)
	case live.state() == failed:
		reconcile.Value(d, deploymentPath, completed, "FAILED: "+live.why(), set)
	case live.state() == inProgress && !live.isOurs() && live.status != draining:
		// Somebody else began it, or a run that was cut off: from here on it is waited for.
		reconcile.Value(d, deploymentPath, completed, inProgress, kind.Set("DescribeServices", func(_ context.Context, u serviceOn) error {
			u.Live.await(u.Cloud, u.Live.attrs.ARN, try)
			return nil
		}))
	}
	kind.Compare(d, serviceTable, want, live.have, set)
	compareContainers(d, want.Containers, live.have.Containers, set)
	if isSame && len(live.stale) > 0 {
		var list []any
		for _, arn := range live.stale {
			list = append(list, revisionOf(arn))
		}
		reconcile.Value(d, revisionsPath, any([]any{}), any(list), kind.Set("DeregisterTaskDefinition", func(ctx context.Context, u serviceOn) error {
			return deregister(ctx, u.Cloud, u.Live.stale)
		}))
	}
}

// ofTask are the props that are in the task definition.
func ofTask() []tree.Path {
	return []tree.Path{"containers", "cpu", "memory", "architecture", "ephemeralStorage", "role", "executionRole", "logging"}
}

// update sets what differs by one call, after another revision of the task definition was registered if that takes one.
func update(ctx context.Context, u serviceOn, want ServiceProps, try string) error {
	have := u.Live.have
	merged := serviceTable.Merged(want, have, u.Changed)
	merged.Containers = mergedContainers(want.Containers, have.Containers, u.Changed)
	whole, err := merged.write()
	if err != nil {
		return err
	}
	part := kind.Document{}
	if err := serviceTable.Changed(want, have, u.Changed, part); err != nil {
		return err
	}
	body, task := kind.Document{"cluster": u.Live.attrs.Cluster, "service": u.Live.attrs.Name}, u.Live.attrs.TaskDefinition
	for member := range part { // ECS takes a member that is an object as a whole
		body[member] = whole[member]
	}
	changes := func(path tree.Path) bool { return slices.ContainsFunc(u.Changed, path.Overlaps) }
	if changes("loadBalancers") && len(merged.LoadBalancers) == 0 {
		body["loadBalancers"] = []any{}
	}
	delete(body, "healthCheckGracePeriodSeconds")
	if (changes("healthCheckGracePeriod") || changes("loadBalancers")) && len(merged.LoadBalancers) > 0 {
		body["healthCheckGracePeriodSeconds"] = int64(merged.HealthCheckGracePeriod / time.Second)
	}
	if slices.ContainsFunc(ofTask(), changes) {
		if task, err = registered(ctx, u.Facts, u.Live.attrs.Name, merged, u.Live.task); err != nil {
			return propagating(u.Cloud, err)
		}
		body["taskDefinition"] = task
	}
	if changes(deploymentPath) {
		body["forceNewDeployment"] = true
	}
	out, err := answered(ctx, u.Cloud, "UpdateService", body)
	if err != nil {
		return aws.NotYet(propagating(u.Cloud, err))
	}
	begin(u.Cloud, u.Live.attrs.ARN, out, task, try)
	return nil
}

// deleteService deletes the service with the tasks that run, and then all revisions of its owner, which no service runs then.
func deleteService(ctx context.Context, s serviceSite) error {
	err := call(ctx, s.Cloud, "DeleteService", kind.Document{"cluster": s.Last.Cluster, "service": s.Last.Name, "force": true}, nil)
	if err = aws.OrNone(err); err != nil {
		return err
	}
	own, err := ownRevisions(ctx, s.Cloud, s.Last.Name, s.Owner, 0)
	if err != nil {
		return err
	}
	arns := make([]aws.ARN, 0, len(own))
	for _, r := range own {
		arns = append(arns, r.arn)
	}
	return deregister(ctx, s.Cloud, arns)
}

func listServices(ctx context.Context, scope kind.ListScope) (all []kind.Found, err error) {
	var clusters []aws.ARN
	err = pages(ctx, scope.Cloud, "ListClusters", "clusterArns", kind.Document{}, func(arn aws.ARN) bool {
		clusters = append(clusters, arn)
		return true
	})
	for _, cluster := range clusters {
		more := pages(ctx, scope.Cloud, "ListServices", "serviceArns", kind.Document{"cluster": cluster}, func(arn aws.ARN) bool {
			if name := string(arn[strings.LastIndexByte(string(arn), '/')+1:]); strings.HasPrefix(name, scope.Prefix) {
				all = append(all, kind.Found{Kind: serviceType, Place: scope.Place, Identity: string(arn), Name: name})
			}
			return true
		})
		err = errors.Join(err, aws.OrNone(more)) // a cluster may be deleted meanwhile
	}
	return all, err
}
