// Package from reads what other tools have deployed, as resources of a stack, so that a stack can adopt it.
//
// A [Source] knows the files of one tool. It makes neutral [Resource]s and says of every field of its files what became of it:
// nothing is left out in silence. This package writes them as YAML. Names in such files are data: they become neither syntax nor
// paths. It makes no calls, and does not know the kinds that it names.
package from

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Source reads the files of one tool.
type Source interface {
	// Kind is what users call it, such as "wrangler".
	Kind() string
	// Recognizes reports whether a file is one of the tool, by its name and its content.
	Recognizes(f File) bool
	// Largest bounds the bytes of a file.
	Largest() int64
	// Read gives what a file declares: a stack for each of its environments. The file comes from elsewhere.
	Read(f File) ([]Stack, error)
}

// Placer is a source whose files say of which stack and stage they are, "" where they do not.
type Placer interface {
	Place(f File) (stack, stage string)
}

// File is a file of another tool.
type File struct {
	// Name is the last part of its path.
	Name    string
	Content []byte
	// Exists reports whether there is a file or folder at a path relative to this file.
	Exists func(path string) bool
	// Sources gives the files of a folder whose names end in a suffix, by name: those that stand next to this file, or in a folder
	// relative to it, none where there is no such folder. Nil: there are none to be had.
	Sources func(dir, suffix string) (map[string][]byte, error)
}

// Stack is one environment of what was read.
type Stack struct {
	// Name of the stack.
	Name string
	// Environment that it was there, "" where there are none, or for the one without a name.
	Environment string
	// Stage is what the environment becomes: "" leaves it to the user.
	Stage string
	// Providers are settings, by provider. Nil: none.
	Providers map[string]map[string]any
	// Config are defaults, by name.
	Config map[string]any
	// Configured is what more there is to say of a config, by name.
	Configured map[string]Configured
	Secrets    []Secret
	// Reads are objects that are read and not managed: Adopt is the identity of each.
	Reads     []Resource
	Resources []Resource
	Outputs   map[string]any
	Notes     []Note
	// Entries say what became of each object, where the source lists objects.
	Entries []Entry
	// Drifts are what differs from the source.
	Drifts []Drift
	// LetGo are the commands that make the source's tool forget what is adopted, in their order.
	LetGo []string
	// Program says what was read of the program that the source was made by, a line each.
	Program []string
}

// Configured is what a config has besides its default.
type Configured struct {
	Description string
	// Stages are values for single stages.
	Stages map[string]any
}

// Resource is a resource in the form that the graph has, but that values may be a [Ref].
type Resource struct {
	Address string         `json:"address"`
	Kind    string         `json:"kind"`
	Props   map[string]any `json:"-"`
	// Adopt is the identity of the object, where no name leads to it. "": it is found by its name.
	Adopt string `json:"adopt,omitempty"`
	// Provider are the settings that it has, "" for those of its kind's provider.
	Provider  string   `json:"provider,omitempty"`
	DependsOn []string `json:"dependsOn,omitempty"`
	// IgnoreChanges are paths that are neither declared nor compared: sensitive values that cannot be secrets.
	IgnoreChanges []string `json:"ignoreChanges,omitempty"`
	// For are the entries of several resources that differ in nothing else, by key. Their identities are the values "adopt".
	For map[string]map[string]any `json:"-"`
	// Comment stands above it in the source's program, Comments above what became its props, by name.
	Comment  string            `json:"-"`
	Comments map[string]string `json:"-"`
}

// Ref is a value that is an attribute of another resource.
type Ref struct{ Address, Attribute string }

// Path is a value that is a path, relative to the folder of the file that was read.
type Path string

// Outcome is what became of a field.
type Outcome string

// The outcomes of fields.
const (
	// Mapped fields are declared in the stack.
	Mapped Outcome = "mapped"
	// Needless fields say nothing about what is deployed.
	Needless Outcome = "needless"
	// Unsupported fields are not declared: what they say has to be done in another way.
	Unsupported Outcome = "unsupported"
	// Folded objects are parts of a resource.
	Folded Outcome = "folded"
	// Unmapped objects are not declared, and stay as they are.
	Unmapped Outcome = "unmapped"
	// Ambiguous objects are declared, and somebody must look at them.
	Ambiguous Outcome = "ambiguous"
)

// Note says what became of one field.
type Note struct {
	// Field is its path in the file, such as "kv_namespaces[0].id".
	Field   string  `json:"field"`
	Outcome Outcome `json:"outcome"`
	// Text is where it went, or why it did not.
	Text string `json:"text"`
}

// Find gives the source of a file: the one that the user names, "" for the one that recognizes it.
func Find(sources []Source, kind string, f File) (Source, error) {
	var kinds []string
	var fits []Source
	for _, s := range sources {
		kinds = append(kinds, s.Kind())
		if kind == s.Kind() {
			return s, nil
		}
		if kind == "" && s.Recognizes(f) {
			fits = append(fits, s)
		}
	}
	switch {
	case kind != "":
		return nil, fmt.Errorf("%w: %q, but %s", errNoSource, kind, strings.Join(kinds, ", "))
	case len(fits) != 1:
		return nil, fmt.Errorf("%w: it looks like the file of none of %s", errNoSource, strings.Join(kinds, ", "))
	}
	return fits[0], nil
}

var errNoSource = errors.New("nothing reads this file")

// Only keeps the resources that match, and gives their addresses to check: a reference to one that is left out is an error.
func (s Stack) Only(matches func(address string) bool) (Stack, error) {
	kept := s
	kept.Resources = nil
	addresses := map[string]bool{}
	for _, r := range s.Resources {
		if matches(r.Address) {
			kept.Resources = append(kept.Resources, r)
			addresses[r.Address] = true
		}
	}
	for _, r := range kept.Resources {
		for _, to := range Referred(r.Props) {
			if !addresses[to] {
				return Stack{}, fmt.Errorf("%s refers to %s, which is left out", r.Address, to)
			}
		}
	}
	return kept, nil
}

// Referred are the addresses that a value refers to, sorted.
func Referred(v any) []string {
	var all []string
	switch v := v.(type) {
	case Ref:
		return []string{v.Address}
	case Text:
		return Referred(v.Parts)
	case map[string]any:
		for _, x := range v {
			all = append(all, Referred(x)...)
		}
	case []any:
		for _, x := range v {
			all = append(all, Referred(x)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Addresses makes addresses of the names of others, each once.
type Addresses struct{ taken map[string]bool }

// Make is an address like a name: lower-case letters, digits and -, a letter first. fallback begins one where the name does not.
func (a *Addresses) Make(name, fallback string) string {
	base := Shape(name)
	if base == "" || base[0] >= '0' && base[0] <= '9' {
		base = strings.TrimSuffix(fallback+"-"+base, "-")
	}
	if a.taken == nil {
		a.taken = map[string]bool{}
	}
	address := base
	for n := 2; a.taken[address]; n++ {
		address = fmt.Sprintf("%s-%d", base, n)
	}
	a.taken[address] = true
	return address
}

// Shape makes a word of lower-case letters, digits and - of any text, 40 characters at most. It can be empty.
func Shape(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == 40 {
			break
		}
	}
	return strings.Trim(b.String(), "-")
}

// StackName makes the name of a stack of that of a file.
func StackName(file string) string {
	name := Shape(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(file, ".backup"), ".tfstate"), ".json"))
	if name == "" || name[0] < 'a' {
		name = strings.TrimSuffix("stack-"+name, "-")
	}
	return name
}
