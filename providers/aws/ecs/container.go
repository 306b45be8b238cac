package ecs

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
	"github.com/athanor-dev/athanor/reconcile/props"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Container is one container of each task. Defaults and limits are those of
// https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html
type Container struct {
	// Image that it is made of: REPOSITORY:TAG, or REPOSITORY@DIGEST, which stays the same whatever is pushed.
	Image string `prop:"required,maxlen=255" wire:"image"`
	// EntryPoint replaces that of the image. Default: none, that of the image.
	EntryPoint []string `wire:"entryPoint"`
	// Command replaces that of the image. Default: none, that of the image.
	Command []string `wire:"command"`
	// CPU units that are its own of those of the task, 1024 for one processor. 0 is none.
	CPU int `prop:"min=0,default=0" wire:"cpu"`
	// Memory in MiB that it is ended for exceeding. 0 is none, that of the task.
	Memory int `prop:"min=0,default=0" wire:"memory,omitzero"`
	// MemoryReservation in MiB that is its own of that of the task. 0 is none.
	MemoryReservation int `prop:"min=0,default=0" wire:"memoryReservation,omitzero"`
	// Essential: the task ends when this container does.
	Essential *bool `prop:"default=true" wire:"essential"`
	// Env are variables of the environment. They can be read by all who may describe task definitions: what is secret belongs into secrets.
	// Values that the program does not name are masked. Default: none.
	Env map[string]string `prop:"masklive" wire:"-"`
	// Secrets are variables of the environment whose values are read when a task starts: each is the ARN of a secret of Secrets
	// Manager, with :KEY:: after it for one key of a document, or the ARN or the name of a parameter of SSM. Default: none.
	Secrets map[string]string `wire:"-"`
	// Ports are those that it listens on by TCP. Default: none.
	Ports []int `prop:"set,maxitems=100" wire:"-"`
	// UDPPorts are those that it listens on by UDP. Default: none.
	UDPPorts []int `prop:"set,maxitems=100" wire:"-"`
	// HealthCheck is a command that says whether it is well. Default: none.
	HealthCheck *HealthCheck `wire:"healthCheck"`
	// DependsOn says which containers come before: each with START, COMPLETE, SUCCESS or HEALTHY. Default: none.
	DependsOn map[string]string `wire:"-"`
	// User that it runs as: a name or a number, with :GROUP after it. Default: none, that of the image.
	User string `wire:"user"`
	// WorkingDirectory of its commands. Default: none, that of the image.
	WorkingDirectory string `wire:"workingDirectory"`
	// ReadonlyRoot lets it write no files but in volumes.
	ReadonlyRoot bool `prop:"default=false" wire:"readonlyRootFilesystem"`
	// StopTimeout is how long it may take to stop before it is ended, in whole seconds.
	StopTimeout *time.Duration `prop:"min=0s,max=120s,default=30s" wire:"stopTimeout"`
}

// HealthCheck is a command that says whether a container is well.
// https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_HealthCheck.html
type HealthCheck struct {
	// Command that ends with 0 when the container is well: CMD and its words, or CMD-SHELL and one text for the shell.
	Command []string `prop:"required" wire:"command"`
	// Interval between two checks, in whole seconds.
	Interval *time.Duration `prop:"min=5s,max=300s,default=30s" wire:"interval"`
	// Timeout of one check, in whole seconds.
	Timeout *time.Duration `prop:"min=2s,max=120s,default=5s" wire:"timeout"`
	// Retries is after how many failures the container is not well.
	Retries *int `prop:"min=1,max=10,default=3" wire:"retries"`
	// StartPeriod is how long failures do not count at first, in whole seconds.
	StartPeriod *time.Duration `prop:"min=0s,max=300s,default=0s" wire:"startPeriod"`
}

var containerTable = kind.TableOf[Container]()

// containersPath is where containers are declared.
const containersPath tree.Path = "containers"

// managed are the members of a container that are set as declared, and cleared where nothing is. All others stay as they are.
func managed() []string {
	return []string{
		"image", "entryPoint", "command", "cpu", "memory", "memoryReservation", "essential", "environment", "secrets", "healthCheck", "dependsOn", "user",
		"workingDirectory", "readonlyRootFilesystem", "stopTimeout",
	}
}

// readContainer is a container as ECS shows it.
func readContainer(shown kind.Document) (c Container, err error) {
	if c, err = containerTable.Read(shown); err != nil {
		return c, err
	}
	c.Env = pairs(shown["environment"], "name", "value")
	c.Secrets = pairs(shown["secrets"], "name", "valueFrom")
	c.DependsOn = pairs(shown["dependsOn"], "containerName", "condition")
	for _, m := range documents(shown["portMappings"]) {
		switch port := int(number(m, "containerPort")); {
		case port == 0: // a range, which is not managed
		case text(m, "protocol") == "udp":
			c.UDPPorts = append(c.UDPPorts, port)
		default:
			c.Ports = append(c.Ports, port)
		}
	}
	return c, nil
}

// pairs reads a list of named values as a map.
func pairs(list any, name, value string) map[string]string {
	var all map[string]string
	for _, d := range documents(list) {
		if all == nil {
			all = map[string]string{}
		}
		all[text(d, name)] = text(d, value)
	}
	return all
}

// listed writes a map as a list of named values, in order.
func listed(m map[string]string, name, value string) []any {
	all := []any{}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		all = append(all, map[string]any{name: key, value: m[key]})
	}
	return all
}

// write makes a container as ECS has it that of the props.
func (c Container) write(name string, into kind.Document) error {
	for _, member := range managed() {
		delete(into, member)
	}
	into["name"] = name
	if err := containerTable.Created(c, into); err != nil {
		return err
	}
	for member, list := range map[string][]any{
		"environment": listed(c.Env, "name", "value"), "secrets": listed(c.Secrets, "name", "valueFrom"),
		"dependsOn": listed(c.DependsOn, "containerName", "condition"),
	} {
		if len(list) > 0 {
			into[member] = list
		}
	}
	c.writePorts(into)
	return nil
}

// writePorts keeps what is not managed of the ports that stay: their names and protocols for Service Connect, and ranges.
func (c Container) writePorts(into kind.Document) {
	had := documents(into["portMappings"])
	mappings := []any{}
	for _, m := range had {
		if m["containerPortRange"] != nil {
			mappings = append(mappings, map[string]any(m))
		}
	}
	for protocol, ports := range map[string][]int{"tcp": c.Ports, "udp": c.UDPPorts} {
		for _, port := range ports {
			mapping := kind.Document{"containerPort": int64(port), "protocol": protocol}
			i := slices.IndexFunc(had, func(m kind.Document) bool {
				return number(m, "containerPort") == int64(port) && (text(m, "protocol") == "udp") == (protocol == "udp")
			})
			if i >= 0 {
				mapping = had[i]
			}
			mappings = append(mappings, map[string]any(mapping))
		}
	}
	slices.SortStableFunc(mappings, func(a, b any) int {
		return strings.Compare(string(tree.Canonical(a)), string(tree.Canonical(b)))
	})
	if delete(into, "portMappings"); len(mappings) > 0 {
		into["portMappings"] = mappings
	}
}

// compareContainers states what differs leaf by leaf, and what is on one side alone as a whole.
func compareContainers[L any](d *kind.Diff[L], want, have map[string]Container, call *kind.Operation[L]) {
	for _, name := range names(want, have) {
		at := containersPath.Key(name)
		w, wanted := want[name]
		h, exists := have[name]
		switch {
		case wanted && exists:
			kind.CompareAt(d, at, containerTable, w, h, call)
		case wanted:
			reconcile.Value(d, at, any(containerTable.Tree(w)), nil, call)
		default:
			reconcile.Value(d, at, nil, any(containerTable.Tree(h)), call)
		}
	}
}

// names are those of all containers of both sides, in order.
func names(want, have map[string]Container) []string {
	all := maps.Clone(have)
	if all == nil {
		all = map[string]Container{}
	}
	maps.Copy(all, want)
	return slices.Sorted(maps.Keys(all))
}

// mergedContainers are the containers as they are to be: what is to change as wanted, all else as it is.
func mergedContainers(want, have map[string]Container, changed []tree.Path) map[string]Container {
	merged := map[string]Container{}
	for _, name := range names(want, have) {
		at := containersPath.Key(name)
		w, wanted := want[name]
		h, exists := have[name]
		changes := slices.ContainsFunc(changed, at.Overlaps)
		switch {
		case wanted && exists:
			var below []tree.Path
			for _, p := range changed {
				if inner, ok := strings.CutPrefix(string(p), string(at)+"."); ok {
					below = append(below, tree.Path(inner))
				}
			}
			if slices.ContainsFunc(changed, at.Within) {
				merged[name] = w
			} else {
				merged[name] = containerTable.Merged(w, h, below)
			}
		case wanted && changes:
			merged[name] = w
		case exists && !changes:
			merged[name] = h
		}
	}
	return merged
}

func sameContainers(want, have map[string]Container) bool {
	return len(want) == len(have) && !slices.ContainsFunc(names(want, have), func(name string) bool {
		w, wanted := want[name]
		h, exists := have[name]
		return !wanted || !exists || !containerTable.Equal(w, h)
	})
}

// checkContainers finds what ECS would refuse, beyond what the table says.
func checkContainers(containers map[string]Container, problems *props.Errors) {
	isEssential := len(containers) == 0
	for _, name := range names(containers, nil) {
		c, at := containers[name], containersPath.Key(name)
		isEssential = isEssential || c.Essential == nil || *c.Essential
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" || len(name) > 255 {
			problems.Wrong(at, "want a name of up to 255 letters, digits, - and _")
		}
		for which, ports := range map[string][]int{"ports": c.Ports, "udpPorts": c.UDPPorts} {
			for i, port := range ports {
				if port < 1 || port > 65535 {
					problems.Wrong(at.Key(which).Index(i), "want a port from 1 to 65535")
				}
			}
		}
		for _, other := range slices.Sorted(maps.Keys(c.DependsOn)) {
			condition := c.DependsOn[other]
			of, declared := containers[other]
			switch p := at.Key("dependsOn").Key(other); {
			case !declared || other == name:
				problems.Wrong(p, "want another container of the service")
			case !token.Has(condition) && !slices.Contains([]string{"START", "COMPLETE", "SUCCESS", "HEALTHY"}, condition):
				problems.Wrong(p, "want one of START, COMPLETE, SUCCESS, HEALTHY")
			case condition == "HEALTHY" && of.HealthCheck == nil:
				problems.Wrong(p, "HEALTHY needs a healthCheck of "+other)
			}
		}
		for _, variable := range slices.Sorted(maps.Keys(c.Secrets)) {
			from := c.Secrets[variable]
			p, isARN := aws.ARN(from).Parse()
			switch at := at.Key("secrets").Key(variable); {
			case token.Has(from):
			case from == "" || strings.HasPrefix(from, "arn:") && (!isARN || p.Service != "secretsmanager" && p.Service != "ssm"):
				problems.Wrong(at, "want the ARN of a secret of Secrets Manager, or the ARN or name of a parameter of SSM")
			}
			if _, twice := c.Env[variable]; twice {
				problems.Wrong(at.Key("secrets").Key(variable), "env has it too")
			}
		}
	}
	if !isEssential {
		problems.Wrong(containersPath, "want one container at least that is essential")
	}
}

// listens reports whether a container of a service listens on a port.
func listens(c Container, port int) bool {
	return slices.Contains(c.Ports, port) || slices.Contains(c.UDPPorts, port)
}

// megabytes writes an amount of memory as ECS takes it.
func megabytes(size props.Size) string { return strconv.FormatInt(int64(size)>>20, 10) }
