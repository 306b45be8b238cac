package terraform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// deepest bounds how far values may be nested: far more than any provider nests them.
const deepest = 100

// state is a state in the one form that both formats are read into.
type state struct {
	version   string
	instances []*instance
	outputs   map[string]output
	// letGo are the commands that make the tool forget objects, whose addresses are quoted. Nil: those of Terraform.
	letGo func(addresses []string) []string
	// awaited are values that the source does not tell, by the text that stands for each; learned are those that the cloud told.
	awaited map[string]awaitedValue
	learned map[string]string
	// undeployed: nothing says which objects there are.
	undeployed bool
	// given are names that the tool gave to objects: chance made a part of them, and they are no secrets.
	given map[string]bool
	// secretValues are secrets that the source was given.
	secretValues []generated
}

type output struct {
	value     any
	sensitive bool
}

// partsUnread begins what is said of an object that has parts which only reading it tells.
const partsUnread = "not read from the cloud, and the template"

// instance is one object of a state.
type instance struct {
	// module is the path of the module, such as module.a["x"].module.b, "" for the root.
	module string
	// data: it is a data source.
	data       bool
	typ, name  string
	urn        string // its address at Pulumi
	key        any    // json.Number, string or nil
	provider   string
	attrs      map[string]any
	declared   map[string]any // what its program gave, a zero too; nil: attrs are
	sensitive  []string       // paths of attributes, without keys of lists
	depends    []string       // addresses of resources, without keys
	tainted    bool
	deposed    string
	flat, void bool // attributes of Terraform 0.11; no attributes
}

// resource is the address of the resource whose instance it is.
func (i *instance) resource() string {
	if i.urn != "" {
		return i.urn
	}
	address := i.typ + "." + i.name
	if i.data {
		address = "data." + address
	}
	if i.module != "" {
		address = i.module + "." + address
	}
	return address
}

// address is that of the instance.
func (i *instance) address() string {
	address := i.resource()
	switch key := i.key.(type) {
	case json.Number:
		address += "[" + key.String() + "]"
	case string:
		address += "[" + strconv.Quote(key) + "]"
	}
	return address
}

// text is an attribute that is text, "" where it is none. The path may lead through blocks.
func (i *instance) text(path string) string { return textOf(valueAt(i.attrs, path)) }

// dot stands in a path for a dot that is a part of a name, as in data["tls.crt"].
const dot = "\x01"

// pathStep is a name as a step of a path.
func pathStep(name string) string { return strings.ReplaceAll(name, ".", dot) }

// shownPath is a path for people.
func shownPath(path string) string { return strings.ReplaceAll(path, dot, ".") }

// valueAt is the value at a path of names and places, such as endpoint.0.address. A place may be left out of a list
// of one.
func valueAt(v any, path string) any {
	for path != "" {
		step, rest, _ := strings.Cut(path, ".")
		step = shownPath(step)
		switch at := v.(type) {
		case map[string]any:
			v, path = at[step], rest
		case []any:
			n, err := strconv.Atoi(step)
			switch {
			case err != nil && len(at) == 1:
				v = at[0]
			case err != nil || n < 0 || n >= len(at):
				return nil
			default:
				v, path = at[n], rest
			}
		default:
			return nil
		}
	}
	return v
}

func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

var (
	errEncrypted = errors.New("the state is encrypted")
	errOld       = errors.New("the state has a format that is not read")
	errPlan      = errors.New("this is a plan, and no state")
	errDamaged   = errors.New("the state is damaged")
)

// hinted is an error with what to do.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// Hint is what to do.
func (h hinted) Hint() string { return h.hint }

// head is what tells one format from another.
type head struct {
	Version       *json.Number    `json:"version"`
	FormatVersion string          `json:"format_version"`
	Terraform     string          `json:"terraform_version"`
	Lineage       string          `json:"lineage"`
	Encrypted     json.RawMessage `json:"encrypted_data"`
	Planned       json.RawMessage `json:"planned_values"`
}

// looksLikeState reports whether text begins like a state, without reading it whole.
func looksLikeState(content []byte) bool {
	start := content[:min(len(content), 1<<12)]
	if !bytes.HasPrefix(bytes.TrimLeft(start, " \t\r\n"), []byte("{")) {
		return false
	}
	for _, name := range []string{`"terraform_version"`, `"encrypted_data"`, `"lineage"`} {
		if bytes.Contains(start, []byte(name)) {
			return true
		}
	}
	return false
}

// parse reads a state file of version 4, or what `terraform show -json` prints. The passphrase opens an encrypted one.
func parse(content []byte, passphrase string) (*state, error) {
	if err := checkDepth(content); err != nil {
		return nil, err
	}
	var h head
	if err := unmarshal(content, &h); err != nil {
		return nil, err
	}
	switch {
	case h.Encrypted != nil:
		clear, err := decrypt(content, passphrase)
		if err != nil {
			return nil, err
		}
		return parse(clear, "")
	case h.Planned != nil:
		return nil, hinted{errPlan, "`terraform show -json > state.json` without a plan's name shows the state"}
	case h.FormatVersion != "":
		return parseShown(content)
	case h.Version != nil && h.Version.String() == "4":
		return parseFile(content)
	case h.Version != nil:
		return nil, hinted{fmt.Errorf("%w: version %s, and 4 is read", errOld, h.Version), "`terraform state pull` of Terraform 0.12 or later, or of OpenTofu, writes version 4"}
	}
	return nil, hinted{fmt.Errorf("%w: it says no version", errDamaged), "a state file of version 4, or what `terraform show -json` prints"}
}

// checkDepth refuses values that are nested too deep, before anything is built of them.
func checkDepth(content []byte) error {
	depth, text := 0, false
	for i := 0; i < len(content); i++ {
		switch c := content[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			if depth++; depth > deepest {
				return fmt.Errorf("%w: values are nested more than %d deep", errDamaged, deepest)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// unmarshal reads JSON with numbers as they are written. Its errors hold nothing of the text.
func unmarshal(content []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber()
	err := d.Decode(into)
	if err == nil && d.More() {
		return fmt.Errorf("%w: more follows the object", errDamaged)
	}
	if err == nil {
		return nil
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%w: %s: want %s, have %s", errDamaged, wrong.Field, wrong.Type.Kind(), wrong.Value)
	}
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%w: at byte %d it is no JSON", errDamaged, wrong.Offset)
	}
	return fmt.Errorf("%w: it ends in the middle", errDamaged)
}

func parseFile(content []byte) (*state, error) {
	var doc struct {
		Terraform string `json:"terraform_version"`
		Outputs   map[string]struct {
			Value     any  `json:"value"`
			Sensitive bool `json:"sensitive"`
		} `json:"outputs"`
		Resources []struct {
			Module, Mode, Type, Name, Provider string

			Instances []struct {
				Key       any               `json:"index_key"`
				Status    string            `json:"status"`
				Deposed   string            `json:"deposed"`
				Attrs     map[string]any    `json:"attributes"`
				Flat      map[string]string `json:"attributes_flat"`
				Sensitive []json.RawMessage `json:"sensitive_attributes"`
				Depends   []string          `json:"dependencies"`
				OldDeps   []string          `json:"depends_on"`
			}
		} `json:"resources"`
	}
	if err := unmarshal(content, &doc); err != nil {
		return nil, err
	}
	s := &state{version: doc.Terraform, outputs: map[string]output{}}
	for name, o := range doc.Outputs {
		s.outputs[name] = output{o.Value, o.Sensitive}
	}
	for _, r := range doc.Resources {
		for _, i := range r.Instances {
			in := &instance{
				module: r.Module, data: r.Mode == "data", typ: r.Type, name: r.Name, provider: r.Provider, key: i.Key,
				attrs: i.Attrs, depends: append(i.Depends, i.OldDeps...), tainted: i.Status == "tainted", deposed: i.Deposed,
				flat: i.Attrs == nil && i.Flat != nil, void: i.Attrs == nil,
			}
			for _, raw := range i.Sensitive {
				path, ok := sensitivePath(raw)
				if !ok { // what cannot be told apart is all taken for secret
					path = ""
				}
				in.sensitive = append(in.sensitive, path)
			}
			s.instances = append(s.instances, in)
		}
	}
	return s, nil
}

// sensitivePath reads one entry of sensitive_attributes: a list of steps, each an attribute or an index. Terraform
// 0.15 to 1.x write it so: https://github.com/hashicorp/terraform/blob/main/internal/states/statefile/version4.go
func sensitivePath(raw json.RawMessage) (string, bool) {
	var steps []struct {
		Type  string `json:"type"`
		Value any    `json:"value"`
	}
	if err := unmarshal(raw, &steps); err != nil {
		return "", false
	}
	var names []string
	for _, s := range steps {
		name := textOf(s.Value)
		if m, ok := s.Value.(map[string]any); ok {
			name = textOf(m["value"])
		}
		if name == "" {
			return "", false
		}
		names = append(names, pathStep(name))
	}
	return strings.Join(names, "."), true
}

// shownModule is a module as `terraform show -json` prints it.
// https://developer.hashicorp.com/terraform/internals/json-format#values-representation
type shownModule struct {
	Address   string `json:"address"`
	Resources []struct {
		Mode, Type, Name string

		Index     any            `json:"index"`
		Provider  string         `json:"provider_name"`
		Values    map[string]any `json:"values"`
		Sensitive any            `json:"sensitive_values"`
		Depends   []string       `json:"depends_on"`
		Tainted   bool           `json:"tainted"`
		Deposed   string         `json:"deposed_key"`
	} `json:"resources"`
	Children []shownModule `json:"child_modules"`
}

func parseShown(content []byte) (*state, error) {
	var doc struct {
		Terraform string `json:"terraform_version"`
		Values    *struct {
			Outputs map[string]struct {
				Value     any  `json:"value"`
				Sensitive bool `json:"sensitive"`
			} `json:"outputs"`
			Root shownModule `json:"root_module"`
		} `json:"values"`
	}
	if err := unmarshal(content, &doc); err != nil {
		return nil, err
	}
	s := &state{version: doc.Terraform, outputs: map[string]output{}}
	if doc.Values == nil {
		return s, nil // a state that holds nothing is shown so
	}
	for name, o := range doc.Values.Outputs {
		s.outputs[name] = output{o.Value, o.Sensitive}
	}
	s.shown(doc.Values.Root)
	return s, nil
}

func (s *state) shown(m shownModule) {
	for _, r := range m.Resources {
		in := &instance{
			module: m.Address, data: r.Mode == "data", typ: r.Type, name: r.Name, provider: r.Provider, key: r.Index, attrs: r.Values,
			depends: r.Depends, tainted: r.Tainted, deposed: r.Deposed, void: r.Values == nil,
		}
		in.sensitive = truePaths(r.Sensitive, "")
		s.instances = append(s.instances, in)
	}
	for _, child := range m.Children {
		s.shown(child)
	}
}

// truePaths are where sensitive_values say true.
func truePaths(v any, at string) []string {
	var all []string
	switch v := v.(type) {
	case bool:
		if v {
			return []string{at}
		}
	case map[string]any:
		for name, inner := range v {
			all = append(all, truePaths(inner, strings.TrimPrefix(at+"."+pathStep(name), "."))...)
		}
	case []any:
		for i, inner := range v {
			all = append(all, truePaths(inner, strings.TrimPrefix(at+"."+strconv.Itoa(i), "."))...)
		}
	}
	slices.Sort(all)
	return all
}
