package terraform

import (
	"bytes"
	"crypto/pbkdf2"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/props"
)

//go:embed pulumi.txt
var pulumiText string

// Pulumi reads what `pulumi stack export` prints, and the files of its own backends: the providers for AWS and Cloudflare are made of
// Terraform's, and so their objects are read by the same table.
type Pulumi struct {
	// Find gives the kind of a name.
	Find func(kind string) (reconcile.Any, error)
	// Types are the names of the types of the registry, which the provider aws-native has, and Fields what of one can be set and what can be
	// read. Nil: none are known.
	Types  func() ([]string, error)
	Fields func(typ string) (settable, readable []props.Field, err error)
}

// Kind is what users call it.
func (Pulumi) Kind() string { return "pulumi" }

// Largest is the size that a state may have.
func (Pulumi) Largest() int64 { return 256 << 20 }

var stackURN = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"urn:pulumi:([^:"\\]+)::([^:"\\]+)::`) })

// Recognizes reports a state by its content. One of SST is a source of its own.
func (Pulumi) Recognizes(f from.File) bool { return isPulumiState(f) && !hasSSTTypes(f) }

// isPulumiState reports a state by its content.
func isPulumiState(f from.File) bool {
	start := f.Content[:min(len(f.Content), 1<<14)]
	has := func(text string) bool { return bytes.Contains(start, []byte(text)) }
	return bytes.HasPrefix(bytes.TrimLeft(start, " \t\r\n"), []byte("{")) &&
		(has(`"deployment"`) || has(`"checkpoint"`) || has(`"stack"`) && has(`"latest"`)) && (stackURN().Match(start) || has(`"manifest"`))
}

// Place is the project and the stack of a state, by its first object.
func (Pulumi) Place(f from.File) (stack, stage string) {
	if at := stackURN().FindSubmatch(f.Content); at != nil {
		return from.StackName(string(at[2])), from.Shape(string(at[1]))
	}
	return "", ""
}

// Read gives the stack of a state.
func (s Pulumi) Read(f from.File) ([]from.Stack, error) {
	d, err := s.Draft(f, from.Options{})
	if err != nil {
		return nil, err
	}
	return []from.Stack{d.Stack(nil)}, nil
}

// Draft gives what a state holds, before the cloud is read.
func (s Pulumi) Draft(f from.File, o from.Options) (from.Draft, error) {
	lines, err := table()
	if err != nil {
		return nil, err
	}
	stackLines, err := tableOf("cloudformation.txt", cloudFormationText)
	if err != nil {
		return nil, err
	}
	maps.Copy(lines, stackLines)
	p := &pulumiReader{fields: s.Fields, lines: lines}
	if s.Types != nil {
		names, err := s.Types()
		if err != nil {
			return nil, err
		}
		p.native = nativeTypes(names)
	}
	st, err := p.read(f.Content, o.Passphrase("PULUMI_CONFIG_PASSPHRASE"), true)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return draftOf(st, lines, s.Find, f, o), nil
}

// pulumiType is a type of Terraform that a token of Pulumi means.
type pulumiType struct {
	typ string
	// renamed are attributes of Terraform by their paths at Pulumi.
	renamed map[string]string
}

// pulumiTypes are types of Terraform by tokens of Pulumi.
func pulumiTypes() map[string]pulumiType {
	all := map[string]pulumiType{}
	for text := range strings.SplitSeq(pulumiText, "\n") {
		words := strings.Fields(text)
		if len(words) < 2 || words[0] == "#" {
			continue
		}
		t := pulumiType{words[1], map[string]string{}}
		for _, rule := range words[2:] {
			attr, name, _ := strings.Cut(rule, "<")
			t.renamed[name] = attr
		}
		all[words[0]] = t
	}
	return all
}

// ruledType is the type of Terraform that a token of Pulumi's provider of Cloudflare means, which are named by a rule: SingleModule and MakeStandard of
// https://github.com/pulumi/pulumi-terraform-bridge/blob/main/pkg/tfbridge/tokens, as provider/resources.go of pulumi-cloudflare calls them. Others
// stay as they are.
func ruledType(token string) string {
	name, ok := strings.CutPrefix(token, "cloudflare:index/")
	if name, _, _ = strings.Cut(name, ":"); ok && name != "" {
		return "cloudflare_" + snake(name)
	}
	return token
}

// pulumiState is a deployment: https://github.com/pulumi/pulumi/blob/master/sdk/go/common/apitype/deployments.json.
type pulumiState struct {
	Secrets struct {
		Type  string `json:"type"`
		State struct {
			Salt string `json:"salt"`
		} `json:"state"`
	} `json:"secrets_providers"`
	Manifest struct {
		Version string `json:"version"`
	} `json:"manifest"`
	Resources []pulumiResource `json:"resources"`
}

type pulumiResource struct {
	URN          string              `json:"urn"`
	ID           string              `json:"id"`
	Type         string              `json:"type"`
	Custom       bool                `json:"custom"`
	External     bool                `json:"external"`
	Delete       bool                `json:"delete"`
	Parent       string              `json:"parent"`
	Provider     string              `json:"provider"`
	Inputs       map[string]any      `json:"inputs"`
	Outputs      map[string]any      `json:"outputs"`
	Secret       []string            `json:"additionalSecretOutputs"`
	Dependencies []string            `json:"dependencies"`
	ByProperty   map[string][]string `json:"propertyDependencies"`
	Views        string              `json:"viewOf"`
}

var errNoObjects = errors.New("this is no state of Pulumi: it has no deployment")

// read reads a state, or its outputs alone. The passphrase opens its secrets.
func (p *pulumiReader) read(content []byte, passphrase string, objects bool) (*state, error) {
	if err := checkDepth(content); err != nil {
		return nil, err
	}
	var doc struct {
		Version    json.Number  `json:"version"`
		Deployment *pulumiState `json:"deployment"`
		Checkpoint *struct {
			Latest *pulumiState `json:"latest"`
		} `json:"checkpoint"`
		// Latest is that of a checkpoint without its version, as `sst state export` prints it:
		// https://github.com/sst/sst/blob/dev/cmd/sst/state.go
		Latest *pulumiState `json:"latest"`
	}
	if err := unmarshal(content, &doc); err != nil {
		return nil, err
	}
	dep := doc.Deployment
	if dep == nil && doc.Checkpoint != nil {
		dep = doc.Checkpoint.Latest
	}
	isBare := dep == nil && doc.Latest != nil
	if isBare {
		dep = doc.Latest
	}
	if dep == nil {
		return nil, hinted{errNoObjects, "`pulumi stack export --file state.json` writes it"}
	}
	if v := doc.Version.String(); !isBare && v != "3" && v != "4" {
		return nil, hinted{fmt.Errorf("%w: version %q, and 3 and 4 are read", errOld, v), "`pulumi stack export` of a newer Pulumi writes it"}
	}
	p.types, p.byURN, p.secrets = pulumiTypes(), map[string]*pulumiResource{}, dep.Secrets.Type
	for i := range dep.Resources {
		p.byURN[dep.Resources[i].URN] = &dep.Resources[i]
	}
	if passphrase != "" && dep.Secrets.Type == "passphrase" {
		if p.key = pulumiKey(dep.Secrets.State.Salt, passphrase); p.key == nil {
			return nil, hinted{errors.New("the passphrase is not that of the stack"), clearExport}
		}
	}
	s := &state{version: dep.Manifest.Version, outputs: map[string]output{}, letGo: pulumiLetGo}
	if hasSSTTypes(from.File{Content: content}) {
		s.letGo = sstLetGo
	}
	for i := range dep.Resources {
		r := &dep.Resources[i]
		switch {
		case r.Type == "pulumi:pulumi:Stack":
			p.outputs(s, r)
		case objects && r.Custom && !strings.HasPrefix(r.Type, "pulumi:providers:") && r.Views == "":
			s.instances = append(s.instances, p.instance(r))
		}
	}
	return s, p.err
}

const clearExport = "$PULUMI_CONFIG_PASSPHRASE has it; or `pulumi stack export --show-secrets --file state.json` writes them in clear: read that file, and delete it afterwards"

// pulumiLetGo are the commands that make Pulumi forget what is adopted: what needs others comes before them.
func pulumiLetGo(objects []string) []string {
	var all []string
	for _, urn := range slices.Backward(objects) {
		all = append(all, "pulumi state delete "+urn)
	}
	return all
}

// sstLetGo says how SST forgets what is adopted: it removes components by their names.
func sstLetGo([]string) []string {
	return []string{
		"set removal: \"retain\" in sst.config.ts and deploy it, so that SST deletes nothing that leaves the program",
		"sst state remove NAME, for each component whose resources are all adopted, or take it out of the program and deploy that",
	}
}

// pulumiReader reads the values of a state.
type pulumiReader struct {
	types   map[string]pulumiType
	byURN   map[string]*pulumiResource
	secrets string // who keeps the secrets
	key     []byte
	err     error
	fields  func(typ string) (settable, readable []props.Field, err error)
	lines   map[string]*typeLine
	native  map[string]string // types of the registry, by what tokens of aws-native keep of them
}

// pulumiKey is the key that a passphrase gives with the salt of a stack, nil where it is not the stack's. The salt is
// v1:SALT:WORD, and the word is encrypted to tell.
func pulumiKey(salt, passphrase string) []byte {
	version, rest, _ := strings.Cut(salt, ":")
	encoded, word, ok := strings.Cut(rest, ":")
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || !ok || version != "v1" || len(raw) == 0 {
		return nil
	}
	key, err := pbkdf2.Key(sha256.New, passphrase, raw, 1_000_000, 32)
	if err != nil {
		return nil
	}
	if _, ok := openPulumi(key, word); !ok {
		return nil
	}
	return key
}

// openPulumi opens v1:NONCE:DATA.
func openPulumi(key []byte, text string) ([]byte, bool) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 || parts[0] != "v1" {
		return nil, false
	}
	nonce, err := base64.StdEncoding.DecodeString(parts[1])
	if err != nil || len(nonce) != 12 {
		return nil, false
	}
	data, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil {
		return nil, false
	}
	return opened(key, append(nonce, data...))
}

// instance is an object as Terraform's provider would have it.
func (p *pulumiReader) instance(r *pulumiResource) *instance {
	t, known := p.types[r.Type]
	if !known {
		t.typ = ruledType(r.Type)
	}
	i := &instance{
		urn: r.URN, module: p.module(r), data: r.External, typ: t.typ, name: urnName(r.URN), provider: r.Provider, void: r.Outputs == nil,
		depends: slices.Clone(r.Dependencies),
	}
	for _, on := range r.ByProperty {
		i.depends = append(i.depends, on...)
	}
	slices.Sort(i.depends)
	i.depends = slices.Compact(i.depends)
	if r.Delete {
		i.deposed = "delete"
	}
	if strings.HasPrefix(r.Type, nativePrefix) {
		p.cloudControl(i, r)
		return i
	}
	attrs, _ := p.value(r.Outputs, "", i, false).(map[string]any)
	i.attrs = attrs
	if i.attrs == nil {
		i.attrs = map[string]any{}
	}
	if i.attrs["id"] == nil && r.ID != "" {
		i.attrs["id"] = r.ID
	}
	for _, name := range r.Secret {
		i.sensitive = append(i.sensitive, snake(name))
	}
	for name, attr := range t.renamed {
		if v := valueAt(i.attrs, name); v != nil && i.attrs[attr] == nil {
			first, _, _ := strings.Cut(name, ".")
			delete(i.attrs, first)
			i.attrs[attr] = v
		}
	}
	return i
}

// urnName is the last part of a URN.
func urnName(urn string) string {
	parts := strings.SplitN(urn, "::", 4)
	return parts[len(parts)-1]
}

// module is the way through the components that an object is in, as Terraform writes modules.
func (p *pulumiReader) module(r *pulumiResource) string {
	var steps []string
	for range deepest {
		r = p.byURN[r.Parent]
		if r == nil {
			break
		}
		if !r.Custom && r.Type != "pulumi:pulumi:Stack" {
			steps = append(steps, "module."+strconv.Quote(urnName(r.URN)))
		}
	}
	slices.Reverse(steps)
	return strings.Join(steps, ".")
}

func (p *pulumiReader) outputs(s *state, r *pulumiResource) {
	for name, v := range r.Outputs {
		i := &instance{}
		value := p.plain(v, "", i)
		s.outputs[name] = output{value, len(i.sensitive) > 0}
	}
}

// The signatures of values that are no plain ones: https://github.com/pulumi/pulumi/blob/master/sdk/go/common/resource/sig/sig.go.
const (
	pulumiSig       = "4dabf18193072939515e22adb298388d"
	pulumiSecret    = "1b47061264138c4ac30d75fd1eb44270"
	pulumiReference = "5cf8f73096256a8f31e491e813e4eb8e"
)

// special is the value behind a signature.
func (p *pulumiReader) special(m map[string]any, at string, i *instance) (any, bool) {
	switch m[pulumiSig] {
	case nil:
		return nil, false
	case pulumiSecret:
		i.sensitive = append(i.sensitive, at)
		return p.secret(m), true
	case pulumiReference:
		return m["id"], true
	}
	return map[string]any{"path": m["path"], "text": m["text"]}, true // an asset or an archive
}

// secret is the value of a secret.
func (p *pulumiReader) secret(m map[string]any) any {
	text, ok := m["plaintext"].(string)
	if !ok {
		sealed, _ := m["ciphertext"].(string)
		if p.key == nil {
			who := p.secrets
			if who == "" {
				who = "a provider that it does not name"
			}
			p.err = hinted{fmt.Errorf("%w: its secrets, by %s", errEncrypted, who), clearExport}
			return nil
		}
		clear, ok := openPulumi(p.key, sealed)
		if !ok {
			p.err = fmt.Errorf("%w: a secret is not of the stack's key", errDamaged)
			return nil
		}
		text = string(clear)
	}
	if err := checkDepth([]byte(text)); err != nil {
		p.err = err
		return nil
	}
	var v any
	if err := unmarshal([]byte(text), &v); err != nil {
		p.err = fmt.Errorf("%w: a secret holds no JSON", errDamaged)
		return nil
	}
	return v
}

// plain is a value with its keys as they are.
func (p *pulumiReader) plain(v any, at string, i *instance) any {
	switch v := v.(type) {
	case map[string]any:
		if value, ok := p.special(v, at, i); ok {
			return p.plain(value, at, i)
		}
		all := map[string]any{}
		for name, x := range v {
			all[name] = p.plain(x, strings.TrimPrefix(at+"."+pathStep(name), "."), i)
		}
		return all
	case []any:
		all := make([]any, len(v))
		for n, x := range v {
			all[n] = p.plain(x, at+"."+strconv.Itoa(n), i)
		}
		return all
	}
	return v
}

// value is a value with the names of Terraform: in snake_case, and blocks in the singular. What users name stays.
func (p *pulumiReader) value(v any, at string, i *instance, named bool) any {
	if named {
		return p.plain(v, at, i)
	}
	switch v := v.(type) {
	case map[string]any:
		if value, ok := p.special(v, at, i); ok {
			return p.value(value, at, i, false)
		}
		all := map[string]any{}
		for name, x := range v {
			if strings.HasPrefix(name, "__") {
				continue
			}
			key := snake(name)
			if isBlocks(x) {
				key = singular(key)
			}
			all[key] = p.value(x, strings.TrimPrefix(at+"."+pathStep(key), "."), i, userNamed(key))
		}
		return all
	case []any:
		all := make([]any, len(v))
		for n, x := range v {
			all[n] = p.value(x, at+"."+strconv.Itoa(n), i, false)
		}
		return all
	}
	return v
}

// userNamed reports an attribute whose keys are names that users gave.
func userNamed(attr string) bool {
	switch attr {
	case "tags", "tags_all", "variables", "parameters", "request_parameters", "response_parameters", "request_templates",
		"response_templates", "request_models", "response_models", "stage_variables", "dimensions", "triggers", "keepers", "input_paths",
		"options", "labels", "docker_labels", "default_arguments", "arguments", "metadata", "environment_variables", "plain_text_bindings":
		return true
	}
	return false
}

// isBlocks reports a list of objects.
func isBlocks(v any) bool {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return false
	}
	m, ok := list[0].(map[string]any)
	return ok && m[pulumiSig] == nil
}

// singular is the name of a block of which Pulumi has several.
func singular(name string) string {
	switch {
	case strings.HasSuffix(name, "ss"), strings.HasSuffix(name, "_options"):
		return name
	case strings.HasSuffix(name, "ies"):
		return strings.TrimSuffix(name, "ies") + "y"
	case strings.HasSuffix(name, "xes"), strings.HasSuffix(name, "sses"), name == "aliases":
		return strings.TrimSuffix(name, "es")
	}
	return strings.TrimSuffix(name, "s")
}

// snake is a name in camelCase as Terraform writes it.
func snake(name string) string {
	var b strings.Builder
	for n, r := range name {
		if r >= 'A' && r <= 'Z' {
			if n > 0 {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
