package terraform

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/props"
)

// nativePrefix begins the tokens of Pulumi's provider aws-native, which calls AWS Cloud Control.
const nativePrefix = "aws-native:"

// extensionToken is the token of a resource that names its type of the registry itself.
const extensionToken = nativePrefix + "index:ExtensionResource"

// nativeKey is what a token of aws-native keeps of a type of the registry: the service and the name, in which the token writes
// acronyms in another case.
func nativeKey(service, name string) string { return strings.ToLower(service + ":" + name) }

// nativeTypes are the types of the registry by what tokens keep of them.
func nativeTypes(names []string) map[string]string {
	all := map[string]string{}
	for _, typ := range names {
		if parts := strings.Split(typ, "::"); len(parts) == 3 && parts[0] == "AWS" {
			all[nativeKey(parts[1], parts[2])] = typ
		}
	}
	return all
}

// nativeType is the type of the registry that a token of aws-native means, "" where the registry has none. The rule is that of the
// provider's generator, functions moduleName and typeToken:
// https://github.com/pulumi/pulumi-aws-native/blob/master/provider/pkg/schema/gen.go
func (p *pulumiReader) nativeType(token string) string {
	module, name, _ := strings.Cut(strings.TrimPrefix(token, nativePrefix), ":")
	if module == "configuration" {
		module = "config"
	}
	if typ := p.native[nativeKey(module, name)]; typ != "" {
		return typ
	}
	return p.native[nativeKey(module, strings.TrimSuffix(name, "Resource"))] // ApplicationOutputResource
}

// cloudControl makes an instance of a resource of aws-native one of the type of the registry: the inputs are what is declared, in the
// names of the registry, and the outputs what is known besides.
func (p *pulumiReader) cloudControl(i *instance, r *pulumiResource) {
	inputs, typ := any(r.Inputs), p.nativeType(r.Type)
	if r.Type == extensionToken {
		typ, _ = r.Inputs["type"].(string)
		inputs = r.Inputs["properties"]
	}
	i.attrs = map[string]any{"id": r.ID}
	if typ == "" || p.fields == nil {
		return // the token is in no line of the table
	}
	settable, readable, err := p.fields(typ)
	if err != nil {
		return
	}
	i.typ = typ
	i.declared, _ = p.registered(inputs, "object", settable, "", i).(map[string]any)
	if i.declared == nil {
		i.declared = map[string]any{}
	}
	shown := maps.Clone(r.Outputs)
	maps.DeleteFunc(shown, func(name string, _ any) bool { return strings.HasPrefix(name, "__") }) // the provider's own
	outputs, _ := p.registered(any(shown), "object", readable, "", i).(map[string]any)
	for _, name := range r.Secret {
		if f, ok := registeredField(readable, name); ok {
			i.sensitive = append(i.sensitive, lastName(f))
		}
	}
	line := p.lines[typ]
	if line == nil {
		line = genericLine(typ)
		p.lines[typ] = line
	}
	for _, all := range []map[string]any{i.declared, outputs} {
		if tags, ok := all["Tags"].([]any); ok && !line.generic {
			all["Tags"] = tagMap(tags)
		}
	}
	maps.Copy(i.attrs, outputs)
	maps.Copy(i.attrs, i.declared)
	maps.Copy(i.attrs, p.nativeFacts(i, r))
	for _, name := range slices.Sorted(maps.Keys(line.given)) {
		if text := filled(line.given[name], i); text != "" && i.attrs[name] == nil {
			i.attrs[name] = text
		}
	}
}

// nativeFacts are what the lines of CloudFormation's table call what is known of a resource and is no property.
func (p *pulumiReader) nativeFacts(i *instance, r *pulumiResource) map[string]any {
	facts := map[string]any{"identity": r.ID, "partition": "aws", "slash": "/"}
	each(i.attrs, "", func(_, text string) {
		if parts := strings.SplitN(text, ":", 6); len(parts) == 6 && parts[0] == "arn" && parts[1] != "" {
			facts["partition"] = parts[1]
			if regionName().MatchString(parts[3]) {
				facts["region"] = parts[3]
			}
			if len(parts[4]) == 12 {
				facts["account"] = parts[4]
			}
		}
	})
	if arn := strings.SplitN(i.text("Arn"), ":", 6); len(arn) == 6 && regionName().MatchString(arn[3]) {
		facts["region"] = arn[3] // what its properties name may be elsewhere
	}
	urn, _, _ := cutLast(r.Provider, "::")
	if of := p.byURN[urn]; of != nil && facts["region"] == nil {
		facts["region"] = of.Inputs["region"]
	}
	ref := r.ID[strings.LastIndexByte(r.ID, '|')+1:]
	switch i.typ {
	case "AWS::EC2::EIP": // Ref gives the address, which is the first part
		ref, _, _ = strings.Cut(r.ID, "|")
	case "AWS::Events::Rule": // Cloud Control knows a rule by its ARN
		ref = ref[strings.LastIndexByte(ref, '/')+1:]
		if bus := i.text("EventBusName"); bus != "" && bus != "default" {
			ref = bus + "|" + ref
		}
	}
	facts["ref"], facts["last"], facts["path"] = ref, ref[strings.LastIndexAny(ref, ":/|")+1:], "/"+strings.TrimPrefix(ref, "/")
	for _, name := range []string{"FunctionName", "TargetFunctionArn"} {
		if text := functionName(i.text(name)); text != "" {
			facts["function"] = text
		}
	}
	return facts
}

// cutLast cuts text around the last separator.
func cutLast(text, sep string) (before, after string, found bool) {
	if at := strings.LastIndex(text, sep); at >= 0 {
		return text[:at], text[at+len(sep):], true
	}
	return text, "", false
}

// registeredField finds a field by its name in camel case, in which Pulumi writes acronyms otherwise.
func registeredField(fields []props.Field, name string) (props.Field, bool) {
	n := slices.IndexFunc(fields, func(f props.Field) bool { return strings.EqualFold(lastName(f), name) })
	if n < 0 {
		return props.Field{}, false
	}
	return fields[n], true
}

// registered is a value of a type of field with the names of the registry. Keys that users gave stay, and what has no field is left out.
func (p *pulumiReader) registered(v any, typ string, fields []props.Field, at string, i *instance) any {
	typ = strings.TrimPrefix(typ, "secret ")
	step := func(name string) string { return strings.TrimPrefix(at+"."+pathStep(name), ".") }
	switch v := v.(type) {
	case map[string]any:
		if value, ok := p.special(v, at, i); ok {
			return p.registered(value, typ, fields, at, i)
		}
		of, isMap := strings.CutPrefix(typ, "map of ")
		if !isMap && len(fields) == 0 {
			return p.plain(v, at, i)
		}
		all := map[string]any{}
		for name, x := range v {
			if isMap {
				all[name] = p.registered(x, of, fields, step(name), i)
			} else if f, ok := registeredField(fields, name); ok {
				all[lastName(f)] = p.registered(x, f.Type, f.Fields, step(lastName(f)), i)
			}
		}
		return all
	case []any:
		all := make([]any, len(v))
		for n, x := range v {
			all[n] = p.registered(x, strings.TrimPrefix(typ, "list of "), fields, step(strconv.Itoa(n)), i)
		}
		return all
	}
	return v
}
