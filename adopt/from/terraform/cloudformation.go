package terraform

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

//go:embed cloudformation.txt
var cloudFormationText string

// CloudFormation reads stacks of CloudFormation: one that is deployed, as a [DeployedStack], or the template of one.
type CloudFormation struct {
	// Name is what users call it: "cloudformation", or a tool whose stacks are of CloudFormation.
	Name string
	// Find gives the kind of a name.
	Find func(kind string) (reconcile.Any, error)
	// Identifier gives the properties that identify a resource of a type of the registry, nil for a type that it does not have.
	Identifier func(typ string) []string
}

// DeployedStack is a stack as the API of CloudFormation tells of it.
type DeployedStack struct {
	Name string `json:"name"`
	// ID is the stack's ARN.
	ID        string `json:"id"`
	Region    string `json:"region"`
	Account   string `json:"account"`
	Partition string `json:"partition"`
	// Template is the processed one: transforms, such as that of SAM, are applied.
	Template   string            `json:"template"`
	Parameters map[string]string `json:"parameters"`
	Outputs    map[string]string `json:"outputs"`
	// Imports are the exports of the region, by name.
	Imports   map[string]string  `json:"imports"`
	Resources []DeployedResource `json:"resources"`
	// Nested are the nested stacks by their logical ids.
	Nested map[string]*DeployedStack `json:"nested,omitempty"`
}

// DeployedResource is a resource of a stack.
type DeployedResource struct {
	Logical  string `json:"logical"`
	Physical string `json:"physical"`
	Type     string `json:"type"`
	Status   string `json:"status"`
}

// deployedFile is a stack in the place of a file's content.
type deployedFile struct {
	Stack *DeployedStack `json:"cloudFormationStack"`
}

// File is the stack as a source reads it.
func (s *DeployedStack) File() ([]byte, error) { return json.Marshal(deployedFile{s}) }

// Kind is what users call it.
func (s CloudFormation) Kind() string { return s.Name }

// Largest is the size that a template, or the answer about a stack, may have: a template has 1 MB at most.
func (CloudFormation) Largest() int64 { return 64 << 20 }

var typeOfAWS = regexp.MustCompile(`["']?Type["']?\s*:\s*["']?AWS::`)

// Recognizes reports a template by its content. One of CDK, or of SST 2, has the paths of its constructs.
func (s CloudFormation) Recognizes(f from.File) bool {
	if looksLikeState(f.Content) || isPulumiState(f) || !bytes.Contains(f.Content, []byte("Resources")) || !typeOfAWS.Match(f.Content) {
		return false
	}
	isSST := bytes.Contains(f.Content, []byte("sst:app"))
	isCDK := !isSST && bytes.Contains(f.Content, []byte("aws:cdk:path"))
	switch s.Name {
	case "sst":
		return isSST
	case "cdk":
		return isCDK
	}
	return !isSST && !isCDK
}

// Place is the name of a deployed stack.
func (CloudFormation) Place(f from.File) (stack, stage string) {
	var file deployedFile
	if json.Unmarshal(f.Content, &file) != nil || file.Stack == nil {
		return "", ""
	}
	return from.StackName(file.Stack.Name), ""
}

// Read gives the stack of a template.
func (s CloudFormation) Read(f from.File) ([]from.Stack, error) {
	d, err := s.Draft(f, from.Options{})
	if err != nil {
		return nil, err
	}
	return []from.Stack{d.Stack(nil)}, nil
}

// Draft gives what a stack has, before the cloud is read.
func (s CloudFormation) Draft(f from.File, o from.Options) (from.Draft, error) {
	var file deployedFile
	if bytes.HasPrefix(f.Content, []byte(`{"cloudFormationStack"`)) {
		if err := unmarshal(f.Content, &file); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	deployed := file.Stack != nil
	if !deployed {
		file.Stack = &DeployedStack{Name: strings.TrimSuffix(from.StackName(f.Name), "-template"), Template: string(f.Content)}
	}
	lines, err := tableOf("cloudformation.txt", cloudFormationText)
	if err != nil {
		return nil, err
	}
	r := &templateReader{
		lines: lines, identifier: s.Identifier, find: s.Find, deployed: deployed, awaited: map[string]awaitedValue{}, secrets: map[string]string{},
		state: &state{outputs: map[string]output{}, awaited: map[string]awaitedValue{}, given: map[string]bool{}},
	}
	if r.identifier == nil {
		r.identifier = func(string) []string { return nil }
	}
	if err := r.stack(file.Stack, "", "", 0); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	if r.evaluated > mostEvaluated {
		return nil, fmt.Errorf("%s: %w: its values are made of each other without end", f.Name, errDamaged)
	}
	r.state.undeployed = !deployed
	r.state.awaited, r.state.letGo = r.awaited, r.letGo(s.Name, file.Stack.Name)
	d := draftOf(r.state, lines, s.Find, f, o)
	r.expect(d)
	return d, nil
}

// awaitedValue is a value that a template does not tell: an attribute of a resource, or a parameter that is shown to nobody.
type awaitedValue struct {
	resource, attr string
	secret         string // the name of the parameter
}

// templateReader makes instances of the resources of stacks.
type templateReader struct {
	lines      map[string]*typeLine
	identifier func(typ string) []string
	find       func(kind string) (reconcile.Any, error)
	deployed   bool
	state      *state
	awaited    map[string]awaitedValue
	secrets    map[string]string // parameters, by name
	unknowns   int
	evaluated  int      // values and bytes of text that were made
	unretained []string // resources that CloudFormation would delete with the stack
}

// deepestNesting bounds how many stacks are nested.
const deepestNesting = 10

// stack reads one stack and those that are nested in it.
func (r *templateReader) stack(s *DeployedStack, prefix, module string, depth int) error {
	e, doc, err := r.newEvaluator(s, prefix)
	if err != nil {
		return err
	}
	e.attachPolicies()
	names := constructNames(section(doc, "Resources"))
	for logical, id := range e.physical {
		r.state.given[id], r.state.given[textOf(e.facts(logical)["last"])] = true, true
	}
	for _, logical := range logicalIDs(e) {
		raw := section(section(doc, "Resources"), logical)
		if nested := s.Nested[logical]; nested != nil && depth < deepestNesting {
			if err := r.stack(nested, prefix+logical+"/", joinModules(module, logical), depth+1); err != nil {
				return fmt.Errorf("%s: %w", logical, err)
			}
			continue
		}
		if name := textOf(raw["Condition"]); name != "" && (!r.deployed && !e.holds(name) || r.deployed && e.physical[logical] == "") {
			continue // it is not made
		}
		r.state.instances = append(r.state.instances, e.instance(logical, raw, module, names[logical]))
	}
	for name, v := range section(doc, "Outputs") {
		m, _ := v.(map[string]any)
		if condition := textOf(m["Condition"]); prefix != "" || condition != "" && !e.holds(condition) {
			continue
		}
		value := e.resolve(m["Value"])
		if text, ok := value.(string); ok && strings.Contains(text, unresolved) && s.Outputs[name] != "" {
			value = s.Outputs[name]
		}
		if text, ok := value.(string); !ok || !strings.Contains(text, unresolved) {
			r.state.outputs[name] = output{value: value}
		}
	}
	for name, value := range r.secrets {
		r.state.secretValues = append(r.state.secretValues, generated{&instance{typ: "parameter", name: name}, name, value, true})
	}
	clear(r.secrets)
	return nil
}

func joinModules(module, step string) string {
	return strings.TrimPrefix(module+".module."+strconv.Quote(step), ".")
}

// constructName is the name of a resource by the path of its construct, and the scopes that it is in.
type constructName struct {
	scopes []string
	name   string
}

// constructNames are the names that resources have by their paths at CDK, without what all have in common and without the names that
// CDK gives to the one resource of a construct.
func constructNames(resources map[string]any) map[string]constructName {
	paths := map[string][]string{}
	var common []string
	for logical, v := range resources {
		m, _ := v.(map[string]any)
		text := textOf(section(m, "Metadata")["aws:cdk:path"])
		if text == "" {
			continue
		}
		p := strings.Split(text, "/")
		paths[logical] = p
		if common == nil {
			common = slices.Clone(p[:len(p)-1])
		}
		n := 0
		for n < len(common) && n < len(p)-1 && common[n] == p[n] {
			n++
		}
		common = common[:n]
	}
	if len(paths) == 1 && len(common) > 1 {
		common = common[:1]
	}
	all := map[string]constructName{}
	for logical, p := range paths {
		p = p[len(common):]
		for len(p) > 1 && (p[len(p)-1] == "Resource" || p[len(p)-1] == "Default") {
			p = p[:len(p)-1]
		}
		all[logical] = constructName{p[:len(p)-1], p[len(p)-1]}
	}
	return all
}

// attachPolicies gives roles the managed policies that name them.
func (e *stackEvaluator) attachPolicies() {
	for _, logical := range logicalIDs(e) {
		if e.types[logical] != "AWS::IAM::ManagedPolicy" {
			continue
		}
		roles, _ := e.resources[logical]["Roles"].([]any)
		for _, role := range roles {
			name, _ := e.text(role)
			for other, id := range e.physical {
				if e.types[other] == "AWS::IAM::Role" && id == name && id != "" {
					list, _ := e.resources[other]["ManagedPolicyArns"].([]any)
					e.resources[other]["ManagedPolicyArns"] = append(slices.Clone(list), map[string]any{"Ref": logical})
				}
			}
		}
	}
}

// instance is a resource with the values that its properties have.
func (e *stackEvaluator) instance(logical string, raw map[string]any, module string, construct constructName) *instance {
	r, typ := e.reader, e.types[logical]
	i := &instance{urn: e.prefix + logical, module: module, typ: typ, name: logical, provider: "aws"}
	if construct.name != "" {
		i.name = construct.name
		for _, scope := range construct.scopes {
			i.module = joinModules(i.module, scope)
		}
	}
	e.uses = map[string]bool{}
	i.attrs, _ = e.resolve(e.resources[logical]).(map[string]any)
	if i.attrs == nil {
		i.attrs = map[string]any{}
	}
	for _, on := range append(slices.Collect(maps.Keys(e.uses)), namesOf(raw["DependsOn"])...) {
		if on != logical {
			i.depends = append(i.depends, e.prefix+on)
		}
	}
	slices.Sort(i.depends)
	i.depends = slices.Compact(i.depends)
	if r.lines[typ] == nil {
		r.lines[typ] = genericLine(typ)
	}
	line := r.lines[typ]
	maps.Copy(i.attrs, e.facts(logical))
	for _, name := range slices.Sorted(maps.Keys(line.given)) {
		if text := e.filled(line.given[name], logical); text != "" && e.physical[logical] != "" && i.attrs[name] == nil {
			i.attrs[name] = text
		}
	}
	if line.generic {
		e.identify(i, typ, logical)
	}
	if tags, ok := i.attrs["Tags"].([]any); ok && !line.generic {
		i.attrs["Tags"] = tagMap(tags)
	}
	for name := range i.attrs {
		if text, ok := i.attrs[name].(string); ok && strings.HasPrefix(text, "{{resolve:") {
			i.attrs[name] = e.unknown(name) // a dynamic reference, which CloudFormation alone follows
		}
	}
	if policy := textOf(raw["DeletionPolicy"]); policy != "Retain" && e.physical[logical] != "" {
		r.unretained = append(r.unretained, e.prefix+logical)
	}
	return i
}

func namesOf(v any) []string {
	if list, ok := v.([]any); ok {
		return textsOf(list)
	}
	if text := textOf(v); text != "" {
		return []string{text}
	}
	return nil
}

func tagMap(tags []any) map[string]any {
	all := map[string]any{}
	for _, t := range tags {
		m, _ := t.(map[string]any)
		if key := textOf(m["Key"]); key != "" && !strings.HasPrefix(key, "aws:") {
			all[key] = textOf(m["Value"])
		}
	}
	return all
}

// genericLine is the line of a type that the table does not have: the registry's name and the names of its properties.
func genericLine(typ string) *typeLine {
	l := &typeLine{
		typ: typ, kind: typ, identity: "{identity}", generic: true, plain: true, rename: map[string]string{}, units: map[string]string{},
		ignore: map[string]bool{}, known: map[string]string{}, given: map[string]string{},
	}
	switch {
	case strings.HasPrefix(typ, "Custom::"), typ == "AWS::CloudFormation::CustomResource":
		l.noKind, l.reason = true, "a custom resource: what its function made, CloudFormation alone knows"
	case !strings.HasPrefix(typ, "AWS::"):
		l.noKind, l.reason = true, "the type is of no registry that athanor knows"
	}
	l.reserve()
	return l
}

// reserved are the names of what is known of a resource and is no property.
var reserved = []string{"ref", "last", "region", "account", "partition", "slash", "path", "function", "identity"}

// reserve makes the converter leave out what is no property.
func (l *typeLine) reserve() {
	for _, name := range reserved {
		l.ignore[name] = true
	}
	taken := map[string]bool{}
	for attr := range l.rename {
		taken[attr] = true
	}
	for name := range l.given {
		if !taken[name] {
			l.ignore[name] = true
		}
	}
}

// identify finds the identity of a resource by what identifies its type: properties, and for the one that is none what Ref gives.
func (e *stackEvaluator) identify(i *instance, typ, logical string) {
	id := e.physical[logical]
	names := e.reader.identifier(typ)
	if len(names) == 1 && id != "" {
		i.attrs["identity"] = id
		if i.attrs[names[0]] == nil {
			i.attrs[names[0]] = id
		}
		return
	}
	var parts []string
	open := 0
	for _, name := range names {
		text := textOf(i.attrs[name])
		if text == "" && open == 0 && id != "" {
			text, open = id, 1
			i.attrs[name] = id
		}
		if text == "" || strings.Contains(text, unresolved) {
			return
		}
		parts = append(parts, text)
	}
	i.attrs["identity"] = strings.Join(parts, "|")
}

// expect gives the objects of a draft the values that they are to have when they are read.
func (r *templateReader) expect(d *draft) {
	for text, value := range r.awaited {
		for _, o := range d.byResource[value.resource] {
			if o.suffix != "" || o.inst.resource() != value.resource {
				continue
			}
			first, rest, nested := strings.Cut(value.attr, ".")
			for _, attr := range d.factsOf(o.kind).attrs {
				if norm(attr) != norm(first) {
					continue
				}
				if nested {
					attr += "." + rest
				}
				if o.known[attr] == "" {
					o.known[attr] = text
				}
			}
		}
	}
}

// letGo are the steps that make CloudFormation forget what is adopted: objects are retained before anything is taken out.
func (r *templateReader) letGo(tool, name string) func([]string) []string {
	return func(adopted []string) []string {
		var all, commands []string
		for _, address := range adopted {
			if slices.Contains(r.unretained, strings.Trim(address, "'")) {
				all = append(all, strings.Trim(address, "'"))
			}
		}
		stack := "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
		deploy := "aws cloudformation deploy --stack-name " + stack + " --template-file TEMPLATE"
		where := "set DeletionPolicy: Retain and UpdateReplacePolicy: Retain in the template on: "
		if tool == "cdk" || tool == "sst" {
			deploy = "npx cdk deploy " + stack
			where = "call applyRemovalPolicy(RemovalPolicy.RETAIN) on: "
		}
		if tool == "sst" {
			deploy = "npx sst deploy"
		}
		for some := range slices.Chunk(all, mostInCommand) {
			commands = append(commands, where+strings.Join(some, " "))
		}
		if len(all) > 0 {
			commands = append(commands, deploy)
		}
		return append(commands, "check that each has it: aws cloudformation get-template --stack-name "+stack,
			"take them out of the template and deploy it, or, when it has nothing else: aws cloudformation delete-stack --stack-name "+stack)
	}
}

// learn matches what a template says with what there is, and notes the values that it awaits. False: they differ elsewhere.
func (s *state) learn(declared, live any) bool {
	switch declared := declared.(type) {
	case string:
		if !strings.Contains(declared, unresolved) {
			return tree.Equal(declared, live)
		}
		return s.learnText(declared, textOf(live))
	case map[string]any:
		m, ok := live.(map[string]any)
		if !ok || len(m) != len(declared) {
			return false
		}
		same := true
		for name, v := range declared {
			same = s.learn(v, m[name]) && same
		}
		return same
	case []any:
		list, ok := live.([]any)
		if !ok || len(list) != len(declared) {
			return false
		}
		same := true
		for n, v := range declared {
			same = s.learn(v, list[n]) && same
		}
		return same
	}
	return tree.Equal(declared, live)
}

var awaitedText = regexp.MustCompile(`arn:unresolved:[^:]*:(?:[^:]*:)?`)

func (s *state) learnText(declared, live string) bool {
	var pattern strings.Builder
	pattern.WriteString("^")
	var names []string
	rest := declared
	for rest != "" {
		start, end := s.nextAwaited(rest)
		pattern.WriteString(regexp.QuoteMeta(rest[:start]))
		if start == len(rest) {
			break
		}
		pattern.WriteString("(.+?)")
		names = append(names, rest[start:end])
		rest = rest[end:]
	}
	pattern.WriteString("$")
	matcher, err := regexp.Compile(pattern.String())
	if err != nil || live == "" {
		return false
	}
	found := matcher.FindStringSubmatch(live)
	if found == nil {
		return false
	}
	if s.learned == nil {
		s.learned = map[string]string{}
	}
	for n, name := range names {
		s.learned[name] = found[n+1]
	}
	return true
}

// nextAwaited is where the next awaited value stands in text.
func (s *state) nextAwaited(text string) (start, end int) {
	at := strings.Index(text, unresolved)
	if at < 0 {
		return len(text), len(text)
	}
	for name := range s.awaited {
		if strings.HasPrefix(text[at:], name) {
			return at, at + len(name)
		}
	}
	if found := awaitedText.FindStringIndex(text[at:]); found != nil {
		return at, at + found[1]
	}
	return at, len(text)
}

// settle puts what was learned in the place of what was awaited.
func (d *draft) settle() {
	if len(d.state.learned) == 0 {
		return
	}
	replace := func(text string) string {
		if !strings.Contains(text, unresolved) {
			return text
		}
		for name, value := range d.state.learned {
			text = strings.ReplaceAll(text, name, value)
		}
		return text
	}
	for _, o := range d.objects {
		for attr, value := range o.known {
			o.known[attr] = replace(value)
		}
		o.props, _ = tree.MapText(o.props, replace).(map[string]any)
	}
	for name, value := range d.state.learned {
		if secret := d.state.awaited[name].secret; secret != "" {
			d.values = append(d.values, generated{&instance{typ: "parameter", name: secret}, secret, value, true})
		}
	}
}

// isAwaited reports whether something in a value is not known.
func isAwaited(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, unresolved)
	case from.Text:
		return isAwaited(v.Parts)
	case map[string]any:
		for _, x := range v {
			if isAwaited(x) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, isAwaited)
	}
	return false
}

// withoutAwaited leaves out of a resource what is not known.
func (o *object) withoutAwaited(declared map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		if isAwaited(declared[name]) {
			delete(declared, name)
			o.look = "the template does not tell " + name + ": set it as it is in the cloud"
		}
	}
}
