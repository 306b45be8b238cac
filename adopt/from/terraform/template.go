package terraform

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// parseTemplate reads a template of CloudFormation, in JSON or YAML with the short forms of its functions.
func parseTemplate(text []byte) (map[string]any, error) {
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		if err := checkDepth(text); err != nil {
			return nil, err
		}
		var doc map[string]any
		return doc, unmarshal(text, &doc)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("%w: it is no YAML", errDamaged)
	}
	if len(root.Content) != 1 {
		return nil, fmt.Errorf("%w: it is empty", errDamaged)
	}
	v, err := templateValue(root.Content[0], 0)
	doc, ok := v.(map[string]any)
	if err == nil && !ok {
		err = fmt.Errorf("%w: it is no object", errDamaged)
	}
	return doc, err
}

// templateValue is a node of YAML as JSON has it.
func templateValue(n *yaml.Node, depth int) (any, error) {
	if depth > deepest {
		return nil, fmt.Errorf("%w: values are nested more than %d deep", errDamaged, deepest)
	}
	var v any
	switch n.Kind {
	case yaml.MappingNode:
		all := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			x, err := templateValue(n.Content[i+1], depth+1)
			if err != nil {
				return nil, err
			}
			all[n.Content[i].Value] = x
		}
		v = all
	case yaml.SequenceNode:
		all := []any{}
		for _, c := range n.Content {
			x, err := templateValue(c, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, x)
		}
		v = all
	case yaml.ScalarNode:
		v = templateScalar(n)
	default:
		return nil, fmt.Errorf("%w: line %d: aliases are not read", errDamaged, n.Line)
	}
	name, short := strings.CutPrefix(n.Tag, "!")
	switch {
	case !short || strings.HasPrefix(name, "!") || name == "":
		return v, nil
	case name == "Ref", name == "Condition":
		return map[string]any{name: v}, nil
	}
	return map[string]any{"Fn::" + name: v}, nil
}

// templateScalar is a scalar of YAML: a number, true or false, nothing, or text.
func templateScalar(n *yaml.Node) any {
	switch n.Tag {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value)
		}
	}
	return n.Value
}

// unresolved begins the text that stands for a value which a template does not tell. It looks like an ARN, so that it is found inside
// other text as identities are.
const unresolved = "arn:unresolved:"

// noValue is what AWS::NoValue is: the property is not there.
type noValue struct{}

// stackEvaluator evaluates the functions in the template of one stack.
type stackEvaluator struct {
	reader     *templateReader
	stack      *DeployedStack
	prefix     string // of nested stacks, such as "Net/"
	resources  map[string]map[string]any
	physical   map[string]string
	types      map[string]string
	parameters map[string]any
	mappings   map[string]any
	conditions map[string]any
	// decided are the conditions that were evaluated, false while they are.
	decided map[string]bool
	// uses are the logical ids that were referred to since it was emptied.
	uses  map[string]bool
	depth int
}

// call evaluates a function of a template. False: it is none.
func (e *stackEvaluator) call(name string, arg any) (any, bool) {
	switch name {
	case "Ref":
		return e.ref(textOf(arg)), true
	case "Fn::GetAtt":
		return e.getAtt(arg), true
	case "Fn::Sub":
		return e.sub(arg), true
	case "Fn::Join":
		return e.join(arg), true
	case "Fn::Select":
		return e.choose(arg), true
	case "Fn::Split":
		return e.split(arg), true
	case "Fn::If":
		return e.branch(arg), true
	case "Fn::FindInMap":
		return e.findInMap(arg), true
	case "Fn::ImportValue":
		return e.imported(arg), true
	case "Fn::Base64":
		if text, ok := e.text(arg); ok {
			return e.made(base64.StdEncoding.EncodeToString([]byte(text))), true
		}
	case "Fn::Length":
		if list, ok := e.resolve(arg).([]any); ok {
			return json.Number(strconv.Itoa(len(list))), true
		}
	case "Fn::ToJsonString":
		if text, err := json.Marshal(e.resolve(arg)); err == nil {
			return e.made(string(text)), true
		}
	}
	return e.unknown(name), strings.HasPrefix(name, "Fn::")
}

// mostEvaluated bounds the values and the bytes of text that the evaluation of all templates makes: values that are made of each other
// would otherwise grow without end.
const mostEvaluated = 32 << 20

// made is text that a function made, as far as the bound allows it.
func (e *stackEvaluator) made(text string) string {
	if e.reader.evaluated += len(text); e.reader.evaluated > mostEvaluated {
		return e.unknown("too much")
	}
	return text
}

// resolve is a value with its functions evaluated.
func (e *stackEvaluator) resolve(v any) any {
	e.reader.evaluated += 16
	if e.depth++; e.depth > 4*deepest || e.reader.evaluated > mostEvaluated {
		e.depth--
		return e.unknown("a value that refers to itself")
	}
	defer func() { e.depth-- }()
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 1 {
			for name, arg := range v {
				if made, ok := e.call(name, arg); ok {
					return made
				}
			}
		}
		all := map[string]any{}
		for name, x := range v {
			if made := e.resolve(x); made != (noValue{}) {
				all[name] = made
			}
		}
		return all
	case []any:
		all := []any{}
		for _, x := range v {
			if made := e.resolve(x); made != (noValue{}) {
				all = append(all, made)
			}
		}
		return all
	}
	return v
}

// text is a value that is text when it is evaluated.
func (e *stackEvaluator) text(v any) (string, bool) {
	switch v := e.resolve(v).(type) {
	case string, json.Number, bool:
		return textOf(v), true
	}
	return "", false
}

// unknown stands for a value that cannot be told from the template.
func (e *stackEvaluator) unknown(what string) string {
	e.reader.unknowns++
	return fmt.Sprintf("%s%d:%s:", unresolved, e.reader.unknowns, strings.NewReplacer("::", "-", " ", "-").Replace(what))
}

// awaited stands for an attribute of a resource, which is known when that one is read.
func (e *stackEvaluator) awaited(logical, attr string) string {
	text := unresolved + "." + e.prefix + logical + "." + attr + ":"
	e.reader.awaited[text] = awaitedValue{resource: e.prefix + logical, attr: attr}
	return text
}

// ref is what Ref gives.
func (e *stackEvaluator) ref(name string) any {
	switch name {
	case "AWS::NoValue":
		return noValue{}
	case "AWS::Region":
		return cmpOr(e.stack.Region, e.unknown(name))
	case "AWS::AccountId":
		return cmpOr(e.stack.Account, e.unknown(name))
	case "AWS::Partition":
		return cmpOr(e.stack.Partition, "aws")
	case "AWS::URLSuffix":
		if e.stack.Partition == "aws-cn" {
			return "amazonaws.com.cn"
		}
		return "amazonaws.com"
	case "AWS::StackName":
		return e.stack.Name
	case "AWS::StackId":
		return cmpOr(e.stack.ID, e.unknown(name))
	case "AWS::NotificationARNs":
		return []any{}
	}
	if v, ok := e.parameters[name]; ok {
		return v
	}
	if e.types[name] == "" {
		return e.unknown(name)
	}
	e.uses[name] = true
	if id := e.physical[name]; id != "" {
		return id
	}
	return e.awaited(name, "Ref")
}

func cmpOr(text, otherwise string) string {
	if text != "" {
		return text
	}
	return otherwise
}

func (e *stackEvaluator) getAtt(arg any) any {
	var logical, attr string
	switch arg := arg.(type) {
	case string:
		logical, attr, _ = strings.Cut(arg, ".")
	case []any:
		if len(arg) == 2 {
			logical = textOf(arg[0])
			attr, _ = e.text(arg[1])
		}
	}
	return e.attribute(logical, attr)
}

// attribute is an attribute of a resource: of its type's line, of what it was given, or its identity.
func (e *stackEvaluator) attribute(logical, attr string) any {
	typ := e.types[logical]
	if typ == "" || attr == "" {
		return e.unknown("Fn::GetAtt")
	}
	e.uses[logical] = true
	if nested := e.stack.Nested[logical]; nested != nil {
		if value, ok := nested.Outputs[strings.TrimPrefix(attr, "Outputs.")]; ok {
			return value
		}
	}
	id := e.physical[logical]
	switch line := e.reader.lines[typ]; {
	case id == "":
	case line != nil && line.given[attr] != "":
		if text := e.filled(line.given[attr], logical); text != "" {
			return text
		}
	case strings.HasSuffix(attr, "Arn") && strings.HasPrefix(id, "arn:"), slices.Equal(e.reader.identifier(typ), []string{attr}):
		return id
	}
	if text, ok := e.text(e.resources[logical][attr]); ok && text != "" {
		return text
	}
	return e.awaited(logical, attr)
}

// filled fills a template of the table with what is known of a resource.
func (e *stackEvaluator) filled(template, logical string) string {
	known := &instance{attrs: e.facts(logical)}
	for _, hole := range templateHole.FindAllStringSubmatch(template, -1) {
		for name := range strings.SplitSeq(hole[1], "?") {
			if _, ok := known.attrs[name]; ok {
				continue
			}
			if text, ok := e.text(e.resources[logical][name]); ok {
				known.attrs[name] = text
			}
		}
	}
	return filled(template, known)
}

var templateHole = regexp.MustCompile(`\{([^}]*)\}`)

// facts are what is known of a resource beside its properties, in names that no property has.
func (e *stackEvaluator) facts(logical string) map[string]any {
	id := e.physical[logical]
	facts := map[string]any{
		"ref": id, "last": id[strings.LastIndexAny(id, ":/|")+1:], "region": e.stack.Region, "account": e.stack.Account,
		"partition": cmpOr(e.stack.Partition, "aws"), "slash": "/",
		"path": "/" + strings.TrimPrefix(id, "/"),
	}
	for _, name := range []string{"FunctionName", "TargetFunctionArn"} { // a name or an ARN
		if text, ok := e.text(e.resources[logical][name]); ok && !strings.HasPrefix(text, unresolved) {
			facts["function"] = functionName(text)
		}
	}
	return facts
}

// functionName is the name of a function by its name or its ARN.
func functionName(text string) string {
	if parts := strings.Split(text, ":"); len(parts) > 6 {
		return parts[6]
	}
	return text
}

var subHole = regexp.MustCompile(`\$\{([^}]*)\}`)

func (e *stackEvaluator) sub(arg any) any {
	text, vars := textOf(arg), map[string]any{}
	if list, ok := arg.([]any); ok && len(list) == 2 {
		text = textOf(list[0])
		vars, _ = list[1].(map[string]any)
	}
	return e.made(subHole.ReplaceAllStringFunc(text, func(hole string) string {
		name := strings.TrimSpace(hole[2 : len(hole)-1])
		if literal, ok := strings.CutPrefix(name, "!"); ok {
			return "${" + literal + "}"
		}
		var v any
		if given, ok := vars[name]; ok {
			v = e.resolve(given)
		} else if logical, attr, dotted := strings.Cut(name, "."); dotted {
			v = e.attribute(logical, attr)
		} else {
			v = e.ref(name)
		}
		if list, ok := v.([]any); ok {
			return e.made(strings.Join(textsOf(list), ","))
		}
		return e.made(textOf(v))
	}))
}

func textsOf(list []any) []string {
	all := make([]string, len(list))
	for i, v := range list {
		all[i] = textOf(v)
	}
	return all
}

func (e *stackEvaluator) join(arg any) any {
	list, ok := arg.([]any)
	if !ok || len(list) != 2 {
		return e.unknown("Fn::Join")
	}
	parts, ok := e.resolve(list[1]).([]any)
	if !ok {
		return e.unknown("Fn::Join")
	}
	return e.made(strings.Join(textsOf(parts), textOf(list[0])))
}

func (e *stackEvaluator) choose(arg any) any {
	list, ok := arg.([]any)
	if !ok || len(list) != 2 {
		return e.unknown("Fn::Select")
	}
	index, _ := e.text(list[0])
	n, err := strconv.Atoi(index)
	values, ok := e.resolve(list[1]).([]any)
	if err != nil || !ok || n < 0 || n >= len(values) {
		return e.unknown("Fn::Select")
	}
	return values[n]
}

func (e *stackEvaluator) split(arg any) any {
	list, ok := arg.([]any)
	if !ok || len(list) != 2 {
		return e.unknown("Fn::Split")
	}
	text, ok := e.text(list[1])
	by := textOf(list[0])
	if !ok || by == "" || strings.Contains(text, unresolved) {
		return e.unknown("Fn::Split")
	}
	all := []any{}
	for part := range strings.SplitSeq(text, by) {
		all = append(all, part)
	}
	return all
}

func (e *stackEvaluator) branch(arg any) any {
	list, ok := arg.([]any)
	if !ok || len(list) != 3 {
		return e.unknown("Fn::If")
	}
	if e.holds(textOf(list[0])) {
		return e.resolve(list[1])
	}
	return e.resolve(list[2])
}

// holds reports whether a condition of the template holds.
func (e *stackEvaluator) holds(name string) bool {
	if held, ok := e.decided[name]; ok {
		return held
	}
	e.decided[name] = false // what refers to itself does not hold
	held := e.decides(e.conditions[name])
	e.decided[name] = held
	return held
}

func (e *stackEvaluator) decides(v any) bool {
	m, _ := v.(map[string]any)
	for name, arg := range m {
		list, _ := arg.([]any)
		switch name {
		case "Condition":
			return e.holds(textOf(arg))
		case "Fn::Equals":
			return len(list) == 2 && tree.Equal(e.resolve(list[0]), e.resolve(list[1]))
		case "Fn::Not":
			return len(list) == 1 && !e.decides(list[0])
		case "Fn::And":
			return !slices.ContainsFunc(list, func(x any) bool { return !e.decides(x) })
		case "Fn::Or":
			return slices.ContainsFunc(list, e.decides)
		}
	}
	return false
}

func (e *stackEvaluator) findInMap(arg any) any {
	list, _ := arg.([]any)
	if len(list) < 3 {
		return e.unknown("Fn::FindInMap")
	}
	var at any = e.mappings
	for _, key := range list[:3] {
		name, _ := e.text(key)
		m, _ := at.(map[string]any)
		at = m[name]
	}
	if options, ok := list[len(list)-1].(map[string]any); ok && at == nil && len(list) == 4 {
		at = options["DefaultValue"]
	}
	if at == nil {
		return e.unknown("Fn::FindInMap")
	}
	return e.resolve(at)
}

func (e *stackEvaluator) imported(arg any) any {
	name, _ := e.text(arg)
	if v, ok := e.stack.Imports[name]; ok {
		return v
	}
	return e.unknown("Fn::ImportValue")
}

var errNoTemplate = errors.New("this is no template of CloudFormation: it has no Resources")

// section is an object at the top of a template.
func section(doc map[string]any, name string) map[string]any {
	m, _ := doc[name].(map[string]any)
	return m
}

// newEvaluator reads the template of a stack.
func (r *templateReader) newEvaluator(stack *DeployedStack, prefix string) (*stackEvaluator, map[string]any, error) {
	doc, err := parseTemplate([]byte(stack.Template))
	if err != nil {
		return nil, nil, err
	}
	if _, ok := doc["Resources"].(map[string]any); !ok {
		return nil, nil, errNoTemplate
	}
	e := &stackEvaluator{
		reader: r, stack: stack, prefix: prefix, resources: map[string]map[string]any{}, physical: map[string]string{}, types: map[string]string{},
		parameters: map[string]any{}, mappings: section(doc, "Mappings"), conditions: section(doc, "Conditions"), decided: map[string]bool{},
		uses: map[string]bool{},
	}
	for logical, v := range section(doc, "Resources") {
		m, _ := v.(map[string]any)
		e.types[logical] = textOf(m["Type"])
		e.resources[logical] = section(m, "Properties")
	}
	for _, resource := range stack.Resources {
		e.physical[resource.Logical] = resource.Physical
	}
	for name, v := range section(doc, "Parameters") {
		m, _ := v.(map[string]any)
		e.parameter(name, m)
	}
	return e, doc, nil
}

// parameter takes the value that the stack was given, else the default.
func (e *stackEvaluator) parameter(name string, of map[string]any) {
	text, given := e.stack.Parameters[name]
	if !given {
		if of["Default"] == nil {
			e.parameters[name] = e.unknown(name)
			return
		}
		text = textOf(of["Default"])
	}
	typ := textOf(of["Type"])
	switch {
	case textOf(of["NoEcho"]) == "true" && strings.Trim(text, "*") == "":
		hidden := e.unknown(name)
		e.reader.awaited[hidden] = awaitedValue{secret: name}
		e.parameters[name] = hidden
	case textOf(of["NoEcho"]) == "true":
		e.reader.secrets[name] = text
		e.parameters[name] = text
	case typ == "CommaDelimitedList", strings.Contains(typ, "List<"):
		all := []any{}
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				all = append(all, part)
			}
		}
		e.parameters[name] = all
	default:
		e.parameters[name] = text
	}
}

// logicalIDs are the resources of a template, by name.
func logicalIDs(e *stackEvaluator) []string { return slices.Sorted(maps.Keys(e.types)) }
