// Package configuration reads the configuration of Terraform or OpenTofu (`*.tf` and `*.tf.json`) that stands next to a state: the
// modules that it calls by a path, their resources, variables, locals and outputs, and the comments above them.
//
// Nothing of it is executed: there are no functions here, and no file is read but those that the caller gives. Sizes,
// numbers and depths are bounded before anything is parsed. The package knows neither states nor kinds.
package configuration

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// The bounds of a configuration: far more than people write. The parser is recursive, so that what nests is bounded too.
const (
	mostBytes   = 16 << 20
	mostOfFile  = 1 << 20
	mostModules = 500
	deepest     = 100  // brackets
	mostUnary   = 1000 // operators, in a file, that nest without brackets
)

// Configuration is what stands next to a state.
type Configuration struct {
	Root *Module
	// Values are those that terraform.tfvars and *.auto.tfvars give to variables of the root module.
	Values map[string]any
	// Files counts what was read.
	Files int
	// Unread says which files and modules were not read, and why.
	Unread []string
}

// Module is a folder of files.
type Module struct {
	Variables map[string]*Variable
	Locals    map[string]hclsyntax.Expression
	// Resources are by address: aws_sqs_queue.jobs, data.aws_vpc.main.
	Resources map[string]*Resource
	Calls     map[string]*Call
	Outputs   map[string]hclsyntax.Expression
}

// Variable is a variable of a module.
type Variable struct {
	// Default is its value where none is given, of text, json.Number, bool, list and map. Nil: it has none, or it is no literal.
	Default     any
	Sensitive   bool
	Description string
}

// Resource is a resource or data source.
type Resource struct {
	Body *hclsyntax.Body
	// Comment stands above it; Comments are those above its attributes.
	Comment  string
	Comments map[string]string
}

// Call is a call of a module.
type Call struct {
	Arguments map[string]hclsyntax.Expression
	// Module is nil where its files were not read.
	Module *Module
}

// Files gives the content of the files of a folder whose names end in a suffix, by name. The folder is relative to that of the state.
type Files func(dir, suffix string) (map[string][]byte, error)

// reader reads one configuration.
type reader struct {
	*Configuration
	files   Files
	left    int
	modules map[string]*Module // by folder
	calls   int
	// installed are the folders of modules by their keys, such as net.subnets, as `terraform init` notes them.
	installed map[string]string
}

// Read reads the configuration in the folder of a state. It is nil where there is none.
func Read(files Files) *Configuration {
	r := &reader{Configuration: &Configuration{Values: map[string]any{}}, files: files, left: mostBytes, modules: map[string]*Module{}, installed: map[string]string{}}
	r.readInstalled()
	r.Root = r.module(".", "")
	if r.Root == nil {
		return nil
	}
	r.readValues()
	slices.Sort(r.Unread)
	r.Unread = slices.Compact(r.Unread)
	return r.Configuration
}

func (r *reader) unread(what, why string) { r.Unread = append(r.Unread, what+": "+why) }

// readInstalled reads where the files of modules are: https://github.com/opentofu/opentofu/tree/main/internal/modsdir.
func (r *reader) readInstalled() {
	const dir = ".terraform/modules"
	found, err := r.files(dir, "modules.json")
	if err != nil || found["modules.json"] == nil {
		return
	}
	var doc struct {
		Modules []struct{ Key, Dir string }
	}
	if err := json.Unmarshal(found["modules.json"], &doc); err != nil {
		r.unread(dir+"/modules.json", "it is no JSON")
		return
	}
	for _, m := range doc.Modules {
		r.installed[m.Key] = m.Dir
	}
}

// module reads the module in a folder, which has a key.
func (r *reader) module(dir, key string) *Module {
	dir = path.Clean(dir)
	if m, ok := r.modules[dir]; ok {
		return m
	}
	found, err := r.both(dir, ".tf")
	if err != nil {
		r.unread(dir, err.Error())
	}
	if len(found) == 0 {
		return nil
	}
	m := &Module{
		Variables: map[string]*Variable{}, Locals: map[string]hclsyntax.Expression{}, Resources: map[string]*Resource{},
		Calls: map[string]*Call{}, Outputs: map[string]hclsyntax.Expression{},
	}
	r.modules[dir] = m
	sources := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if f := r.parse(path.Join(dir, name), found[name]); f != nil {
			r.Files++
			m.take(f, sources)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		if r.calls++; r.calls > mostModules {
			r.unread(path.Join(dir, name), fmt.Sprintf("there are more than %d modules", mostModules))
			break
		}
		inner := strings.TrimPrefix(key+"."+name, ".")
		folder, ok := r.installed[inner]
		if source := sources[name]; strings.HasPrefix(source, "./") || strings.HasPrefix(source, "../") {
			folder, ok = path.Join(dir, source), true
		}
		if !ok || path.IsAbs(folder) {
			r.unread("module "+inner, "its files are not here")
			continue
		}
		m.Calls[name].Module = r.module(folder, inner)
	}
	return m
}

// both are the files of a folder whose names end in a suffix, in HCL and in JSON.
func (r *reader) both(dir, suffix string) (map[string][]byte, error) {
	found, err := r.files(dir, suffix)
	inJSON, err2 := r.files(dir, suffix+".json")
	if found == nil {
		return inJSON, errors.Join(err, err2)
	}
	maps.Copy(found, inJSON)
	return found, errors.Join(err, err2)
}

// parse reads one file, nil where it is none.
func (r *reader) parse(name string, content []byte) *file {
	if strings.HasSuffix(name, ".json") {
		return r.parseJSON(name, content)
	}
	if r.left -= len(content); len(content) > mostOfFile || r.left < 0 {
		r.unread(name, "it is too large")
		return nil
	}
	tokens, diagnostics := hclsyntax.LexConfig(content, name, hcl.InitialPos)
	if diagnostics.HasErrors() {
		r.unread(name, problem(diagnostics))
		return nil
	}
	if why := excessive(tokens); why != "" {
		r.unread(name, why)
		return nil
	}
	parsed, diagnostics := hclsyntax.ParseConfig(content, name, hcl.InitialPos)
	body, ok := parsed.Body.(*hclsyntax.Body)
	if diagnostics.HasErrors() || !ok {
		r.unread(name, problem(diagnostics))
		return nil
	}
	return &file{body, commentsOf(tokens)}
}

// problem is the first error, without what the file says.
func problem(all hcl.Diagnostics) string {
	for _, d := range all {
		if d.Severity == hcl.DiagError && d.Subject != nil {
			return fmt.Sprintf("line %d: %s", d.Subject.Start.Line, d.Summary)
		}
	}
	return "it is not valid"
}

// excessive says what makes a file nest deeper than the parser may go, "" where nothing does.
func excessive(tokens hclsyntax.Tokens) string {
	depth, unary := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl, hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
			depth++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd, hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
			depth--
		case hclsyntax.TokenQuestion, hclsyntax.TokenBang, hclsyntax.TokenMinus:
			unary++
		}
		if t.Type == hclsyntax.TokenTemplateControl {
			unary++
		}
		if depth > deepest {
			return fmt.Sprintf("it nests deeper than %d", deepest)
		}
	}
	if unary > mostUnary {
		return fmt.Sprintf("it has more than %d operators that nest", mostUnary)
	}
	return ""
}

// readValues reads the files that Terraform reads by itself, in its order.
func (r *reader) readValues() {
	found, err := r.both(".", ".tfvars")
	if err != nil {
		return
	}
	var names []string
	for _, name := range []string{"terraform.tfvars", "terraform.tfvars.json"} {
		if found[name] != nil {
			names = append(names, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if strings.HasSuffix(strings.TrimSuffix(name, ".json"), ".auto.tfvars") {
			names = append(names, name)
		}
	}
	for _, name := range names {
		f := r.parse(name, found[name])
		if f == nil {
			continue
		}
		r.Files++
		for name, attribute := range f.body.Attributes {
			if v, ok := Literal(attribute.Expr); ok {
				r.Values[name] = v
			}
		}
	}
}

// file is one that was parsed.
type file struct {
	body     *hclsyntax.Body
	comments map[int]string // by the line under them
}

// take takes what a file declares. sources are those of the modules that it calls.
func (m *Module) take(f *file, sources map[string]string) {
	for _, b := range f.body.Blocks {
		comment := f.comments[b.TypeRange.Start.Line]
		switch {
		case (b.Type == "resource" || b.Type == "data") && len(b.Labels) == 2:
			address := strings.Join(b.Labels, ".")
			if b.Type == "data" {
				address = "data." + address
			}
			r := &Resource{Body: b.Body, Comment: comment, Comments: map[string]string{}}
			for name, attribute := range b.Body.Attributes {
				r.Comments[name] = f.comments[attribute.NameRange.Start.Line]
			}
			for _, inner := range b.Body.Blocks {
				r.Comments[inner.Type] = f.comments[inner.TypeRange.Start.Line]
			}
			m.Resources[address] = r
		case b.Type == "variable" && len(b.Labels) == 1:
			m.Variables[b.Labels[0]] = variable(b.Body, comment)
		case b.Type == "output" && len(b.Labels) == 1 && b.Body.Attributes["value"] != nil:
			m.Outputs[b.Labels[0]] = b.Body.Attributes["value"].Expr
		case b.Type == "locals":
			for name, attribute := range b.Body.Attributes {
				m.Locals[name] = attribute.Expr
			}
		case b.Type == "module" && len(b.Labels) == 1:
			call := &Call{Arguments: map[string]hclsyntax.Expression{}}
			for name, attribute := range b.Body.Attributes {
				call.Arguments[name] = attribute.Expr
			}
			m.Calls[b.Labels[0]] = call
			sources[b.Labels[0]] = ""
			if source := b.Body.Attributes["source"]; source != nil {
				text, _ := Literal(source.Expr)
				sources[b.Labels[0]], _ = text.(string)
			}
		}
	}
}

// variable is a variable. What describes it is its description, else the comment above it.
func variable(body *hclsyntax.Body, comment string) *Variable {
	v := &Variable{Description: comment}
	for name, attribute := range body.Attributes {
		value, ok := Literal(attribute.Expr)
		if !ok {
			continue
		}
		switch name {
		case "default":
			v.Default = value
		case "sensitive":
			v.Sensitive = value == true
		case "description":
			if text, ok := value.(string); ok && text != "" {
				v.Description = text
			}
		}
	}
	return v
}
