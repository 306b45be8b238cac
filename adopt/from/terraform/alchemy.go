package terraform

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/reconcile"
)

//go:embed alchemy.txt
var alchemyText string

// Alchemy reads the states of Alchemy 0: a file for each resource, .alchemy/APP/STAGE/ID.json. A folder of them is read as what
// [AlchemyStates] makes of it.
type Alchemy struct {
	// Find gives the kind of a name.
	Find func(kind string) (reconcile.Any, error)
}

// AlchemyFile is a file of a folder that Alchemy keeps.
type AlchemyFile struct {
	// File is its path, as commands name it.
	File string `json:"file"`
	// State is what it holds: JSON, and a state where it has the fields of one.
	State json.RawMessage `json:"state"`
}

// alchemyStart begins a folder in the place of a file's content.
const alchemyStart = `{"alchemyStates":[`

// AlchemyStates are the files of a folder in the place of a file's content. It fails where one of them is no JSON.
func AlchemyStates(files []AlchemyFile) ([]byte, error) {
	for _, f := range files {
		if !json.Valid(f.State) {
			return nil, fmt.Errorf("%s: %w: it is no JSON", f.File, errDamaged)
		}
	}
	return json.Marshal(map[string]any{"alchemyStates": files})
}

// Kind is what users call it.
func (Alchemy) Kind() string { return "alchemy" }

// Largest is the size that the states of a stage may have together.
func (Alchemy) Largest() int64 { return 256 << 20 }

// Recognizes reports a folder of states, or one state, by its content.
func (Alchemy) Recognizes(f from.File) bool {
	return bytes.HasPrefix(f.Content, []byte(alchemyStart)) ||
		bytes.HasPrefix(bytes.TrimLeft(f.Content, " \t\r\n"), []byte("{")) && bytes.Contains(f.Content, []byte(`"Symbol(alchemy::Resource`)) &&
			!isPulumiState(f) && !looksLikeState(f.Content)
}

// Place is the app and the stage of the states.
func (Alchemy) Place(f from.File) (stack, stage string) {
	states, err := alchemyStates(f)
	if err != nil {
		return "", ""
	}
	for _, s := range states {
		if app, at := s.place(); app != "" {
			return from.StackName(app), from.Shape(at)
		}
	}
	return "", ""
}

// Read gives the stack of the states.
func (s Alchemy) Read(f from.File) ([]from.Stack, error) {
	d, err := s.Draft(f, from.Options{})
	if err != nil {
		return nil, err
	}
	return []from.Stack{d.Stack(nil)}, nil
}

// Draft gives what the states hold, before the cloud is read.
func (s Alchemy) Draft(f from.File, o from.Options) (from.Draft, error) {
	lines, err := tableOf("alchemy.txt", alchemyText)
	if err != nil {
		return nil, err
	}
	states, err := alchemyStates(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	r := &alchemyReader{password: o.Passphrase("ALCHEMY_PASSWORD"), lines: lines, opened: map[string]string{}, files: map[string]string{}}
	st := &state{outputs: map[string]output{}, letGo: r.letGo}
	for _, one := range states {
		i, err := r.instance(one)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.file, err)
		}
		st.instances = append(st.instances, i)
	}
	d := draftOf(st, lines, s.Find, f, o)
	return d, nil
}

// alchemyState is the state of a resource.
type alchemyState struct {
	file   string
	Status string         `json:"status"`
	Kind   string         `json:"kind"`
	ID     string         `json:"id"`
	FQN    string         `json:"fqn"`
	Seq    json.Number    `json:"seq"`
	Props  map[string]any `json:"props"`
	Output map[string]any `json:"output"`
}

// place is the app and the stage that a state is of, "" where it does not say.
func (s alchemyState) place() (app, stage string) {
	parts := strings.SplitN(s.FQN, "/", 3)
	if len(parts) < 3 {
		return "", ""
	}
	return parts[0], parts[1]
}

var (
	errNoStates = errors.New("there is no state of Alchemy in it")
	errStages   = errors.New("it has the states of several stages")
)

// alchemyStates are the states in a folder or a file, in the order in which their resources were made. They are of one stage.
func alchemyStates(f from.File) ([]alchemyState, error) {
	if err := checkDepth(f.Content); err != nil {
		return nil, err
	}
	files := []AlchemyFile{{File: f.Name, State: f.Content}}
	if bytes.HasPrefix(f.Content, []byte(alchemyStart)) {
		var folder struct {
			States []AlchemyFile `json:"alchemyStates"`
		}
		if err := unmarshal(f.Content, &folder); err != nil {
			return nil, err
		}
		files = folder.States
	}
	var all []alchemyState
	places := map[string]bool{}
	for _, file := range files {
		s := alchemyState{file: file.File}
		if !bytes.Contains(file.State, []byte(`"fqn"`)) || !bytes.Contains(file.State, []byte(`"kind"`)) {
			continue // what else Alchemy keeps there, such as processes
		}
		if err := unmarshal(file.State, &s); err != nil {
			return nil, fmt.Errorf("%s: %w", file.File, err)
		}
		if app, stage := s.place(); app != "" {
			places[app+"/"+stage] = true
		}
		all = append(all, s)
	}
	switch {
	case len(all) == 0:
		return nil, hinted{errNoStates, "Alchemy keeps them in .alchemy/APP/STAGE; of another tool --from names a file"}
	case len(places) > 1:
		return nil, hinted{
			fmt.Errorf("%w: %s", errStages, strings.Join(slices.Sorted(maps.Keys(places)), ", ")), "--from alchemy:.alchemy/APP/STAGE reads one",
		}
	}
	slices.SortStableFunc(all, func(a, b alchemyState) int { return strings.Compare(a.FQN, b.FQN) })
	return all, nil
}

// alchemyReader makes instances of states.
type alchemyReader struct {
	password string
	lines    map[string]*typeLine
	opened   map[string]string // secrets by what they are sealed as
	files    map[string]string // files by quoted addresses
}

// letGo lists the commands that remove what is adopted from Alchemy's state. A missing state holds no resource that
// Alchemy would delete.
func (r *alchemyReader) letGo(objects []string) []string {
	var all []string
	for _, address := range objects {
		if file := r.files[address]; strings.HasPrefix(file, "s3://") {
			all = append(all, "aws s3 rm '"+strings.ReplaceAll(file, "'", `'\''`)+"'")
		} else if file != "" {
			all = append(all, "rm -- '"+strings.ReplaceAll(file, "'", `'\''`)+"'")
		}
	}
	return all
}

// alchemyOwn are fields that Alchemy keeps for itself at every resource.
var alchemyOwn = []string{
	"dev", "adopt", "delete", "force", "retain", "createdAt", "updatedAt", "modifiedAt", "createdOn", "modifiedOn", "creationDate", "accountId",
	"baseUrl", "profile", "apiKey", "apiToken",
}

// instance is a resource as one of Terraform would be.
func (r *alchemyReader) instance(s alchemyState) (*instance, error) {
	i := &instance{typ: s.Kind, name: s.ID, urn: s.FQN, attrs: map[string]any{}}
	if i.urn == "" { // scopes have none
		i.urn = s.file
	}
	r.files["'"+strings.ReplaceAll(i.urn, "'", `'\''`)+"'"] = s.file
	if parts := strings.Split(s.FQN, "/"); len(parts) > 3 {
		for _, scope := range parts[2 : len(parts)-1] {
			i.module = joinModules(i.module, scope)
		}
	}
	line := r.lines[s.Kind]
	switch {
	case line == nil:
		i.attrs["id"] = textOf(s.Output["id"])
		return i, nil
	case s.Status == "deleting" || s.Status == "deleted":
		i.deposed = "delete"
		return i, nil
	case line.noKind || line.other && line.hook == "":
		i.attrs["id"] = textOf(s.Output["id"])
		return i, nil
	}
	merged := maps.Clone(s.Props) // an output leaves out some of what was given
	if merged == nil {
		merged = map[string]any{}
	}
	maps.Copy(merged, s.Output)
	if i.void = !slices.ContainsFunc(slices.Collect(maps.Keys(s.Output)), isField); i.void {
		return i, nil // its creation was not completed
	}
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		if !isField(name) || slices.Contains(alchemyOwn, name) || line.ignore[name] && line.hook == "" {
			continue
		}
		value, err := r.value(merged[name], name, i)
		if err != nil {
			return nil, err
		}
		i.attrs[name] = value
	}
	i.likeTerraform()
	return i, nil
}

// likeTerraform gives attributes that functions of Terraform's types read the names that they have there.
func (i *instance) likeTerraform() {
	switch i.typ {
	case "cloudflare::CustomDomain":
		i.attrs["hostname"], i.attrs["service"] = i.attrs["name"], i.attrs["workerName"]
		delete(i.attrs, "name")
		delete(i.attrs, "workerName")
	case "iam::PolicyAttachment":
		i.attrs["policy_arn"] = i.attrs["policyArn"]
	case "iam::Role":
		var inline []any
		for _, p := range blocks(i.attrs["policies"]) {
			inline = append(inline, values{"name": p["policyName"], "policy": p["policyDocument"]})
		}
		i.attrs["inline_policy"] = inline
	}
}

// isField reports a name of a field: the others are Alchemy's symbols.
func isField(name string) bool { return !strings.HasPrefix(name, "Symbol(") }

// alchemyKind is the field of a value that says of which kind the resource is that the value was.
const alchemyKind = "Symbol(alchemy::ResourceKind)"

// value is a value without what Alchemy writes around dates and secrets, which are opened, and around other resources, of which the
// secrets are left out: https://github.com/alchemy-run/alchemy/blob/main/alchemy/src/serde.ts.
func (r *alchemyReader) value(v any, at string, i *instance) (any, error) {
	switch v := v.(type) {
	case []any:
		all := make([]any, len(v))
		for n, x := range v {
			value, err := r.value(x, fmt.Sprintf("%s.%d", at, n), i)
			if err != nil {
				return nil, err
			}
			all[n] = value
		}
		return all, nil
	case map[string]any:
		if sealed, ok := v["@secret"]; ok && len(v) == 1 {
			i.sensitive = append(i.sensitive, at)
			return r.open(sealed)
		}
		if kind := textOf(v[alchemyKind]); kind != "" {
			return flatResource(v, kind), nil
		}
		for _, name := range []string{"@date", "@symbol", "@scope", "@schema", "@buffer"} {
			if x, ok := v[name]; ok && len(v) == 1 {
				return textOf(x), nil
			}
		}
		all := map[string]any{}
		for name, x := range v {
			if !isField(name) {
				continue
			}
			value, err := r.value(x, at+"."+pathStep(name), i)
			if err != nil {
				return nil, err
			}
			all[name] = value
		}
		return all, nil
	}
	return v, nil
}

// flatResource are the plain fields of a resource that another one has as a value.
func flatResource(v map[string]any, kind string) map[string]any {
	all := map[string]any{alchemyKind: kind}
	for name, x := range v {
		if text := textOf(x); text != "" && isField(name) {
			all[name] = text
		}
	}
	return all
}
