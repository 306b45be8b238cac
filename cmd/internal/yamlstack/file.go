package yamlstack

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
	"github.com/athanor-dev/athanor/reconcile/props"
)

// Bounds on what is read.
const (
	maxFile  = 32 << 20
	maxTotal = 64 << 20
	maxFiles = 1000
)

// file is one file of a stack.
type file struct {
	index int
	path  string
	name  string // as seen from the stack's directory
	// from are the files that are being read when this one is included.
	from []string
	// sections by their names.
	sections map[string]pair
}

// readAll reads the main file and, depth first, what it includes.
func (l *loader) readAll() {
	l.read(l.in.Path, l.in.Data, nil, place{})
}

func (l *loader) read(path string, data []byte, from []string, at place) {
	f := &file{index: len(l.files), path: path, name: l.shown(path), from: append(slices.Clone(from), path)}
	if at.file == nil {
		at = place{f, 1, 1}
	}
	if data == nil {
		var err error
		data, err = localfile.ReadAtMost(l.ctx, path, maxFile)
		if outside, ok := errors.AsType[*localfile.OutsideError](err); ok {
			l.Outside = append(l.Outside, Outside{Path: cmp.Or(outside.Real, path), Place: outsidePlace(f)})
			return
		}
		if errors.Is(err, localfile.ErrTooLarge) {
			l.wrong(at, "", errTooLarge)
			return
		}
		if err != nil {
			l.Missing = append(l.Missing, path)
			l.wrongf(at, "%s: %w", l.shown(path), unwrapPath(err))
			return
		}
		if bounds, ok := localfile.BoundsOf(l.ctx); ok {
			if real, err := localfile.Real(path); err == nil && !localfile.Within(bounds.Root, real) {
				l.Outside = append(l.Outside, Outside{Path: real, Place: outsidePlace(f), Read: true})
			}
		}
	}
	l.Files = append(l.Files, path)
	l.files = append(l.files, f)
	if l.size += len(data); len(data) > maxFile || l.size > maxTotal || len(l.files) > maxFiles {
		l.wrong(at, "", errTooLarge)
		return
	}
	root, err := l.parse(f, data)
	if err != nil || root == nil {
		return
	}
	l.split(f, root)
	l.include(f)
}

var errTooLarge = errors.New("too large: a file has 32 MiB at most, all together 64 MiB in 1000 files")

// outsidePlace is the place in the stack that names a file: its includes, or the user's target.
func outsidePlace(f *file) string {
	if len(f.from) == 1 {
		return "target"
	}
	return "include"
}

func unwrapPath(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

func (l *loader) shown(path string) string {
	if rel, err := filepath.Rel(l.in.Dir, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// yamlLine is how the parser says where it stopped: it has no error type for it. Lines count from 1 in what
// its scanner finds, and from 0 in what its grammar misses.
var (
	yamlLine    = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?(.*)$`)
	yamlGrammar = regexp.MustCompile(`^did not find expected (node content|key|'-'|',' or|<)`)
)

// parse reads the one document of a file; nil for an empty one.
func (l *loader) parse(f *file, data []byte) (*yaml.Node, error) {
	if at, bad := notText(data); bad {
		err := errors.New("the text is not UTF-8 from here on: save the file as UTF-8")
		l.wrong(place{f, at.line, at.column}, "", err)
		return nil, err
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		at, text := place{f, 1, 1}, err.Error()
		if m := yamlLine.FindStringSubmatch(text); m != nil {
			text = m[2]
			if n, bad := strconv.Atoi(m[1]); bad == nil {
				at.line = n
				if yamlGrammar.MatchString(text) {
					at.line++
				}
			}
		}
		if lines := bytes.Split(data, []byte("\n")); at.line <= len(lines) && bytes.HasPrefix(bytes.TrimLeft(lines[at.line-1], " "), []byte("\t")) {
			text = "a tab indents the line; YAML takes blanks"
		}
		l.wrongf(at, "not YAML: %s", text)
		return nil, err
	}
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		l.wrongf(place{f, max(second.Line, 1), 1}, "want one document in a file, have another one after ---")
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 || isNull(doc.Content[0]) {
		return nil, nil
	}
	return doc.Content[0], nil
}

// notText finds the first bytes that are no text in UTF-8. What begins as UTF-16 does is read as that.
func notText(data []byte) (at place, bad bool) {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return at, false
	}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			before := data[:i]
			return place{line: 1 + bytes.Count(before, []byte("\n")), column: 1 + utf8.RuneCount(before[1+bytes.LastIndexByte(before, '\n'):])}, true
		}
		i += size
	}
	return at, false
}

// split finds the sections of a file. Keys that begin with x- are the author's own, to hold anchors.
func (l *loader) split(f *file, root *yaml.Node) {
	f.sections = map[string]pair{}
	known := fieldNames[document]()
	for _, p := range l.pairs(f, root, "stack") {
		switch {
		case len(p.name) > 2 && p.name[:2] == "x-":
		case !slices.Contains(known, p.name):
			l.wrong(f.of(p.key), "", near(errors.New(strconv.Quote(p.name)+" is no section"), p.name, known))
		case p.name == "stack" && len(f.from) > 1:
			l.wrongf(f.of(p.key), "only the main file names the stack")
		default:
			f.sections[p.name] = p
		}
	}
}

// include reads the files that f names.
func (l *loader) include(f *file) {
	section, ok := f.sections["include"]
	if !ok {
		return
	}
	for _, n := range l.items(f, section.value, "include") {
		name := real(n)
		if name.Kind != yaml.ScalarNode || name.Tag != "!!str" || name.Value == "" {
			l.wrongf(f.of(n), "include: want the name of a file, have %s", kindOf(name))
			continue
		}
		if filepath.IsAbs(name.Value) {
			l.wrongf(f.of(n), "include: want a path relative to this file")
			continue
		}
		path := filepath.Join(filepath.Dir(f.path), filepath.FromSlash(name.Value))
		switch {
		case slices.Contains(f.from, path):
			l.wrongf(f.of(n), "%s includes itself", l.shown(path))
		case slices.Contains(l.Files, path):
			l.wrongf(f.of(n), "%s is included twice", l.shown(path))
		case len(l.files) >= maxFiles:
			l.wrong(f.of(n), "", errTooLarge)
			return
		default:
			l.read(path, nil, f.from, f.of(n))
		}
	}
}

// section calls do for each entry of a section, file by file.
func (l *loader) section(name string, do func(*file, pair)) {
	for _, f := range l.files {
		if s, ok := f.sections[name]; ok {
			for _, p := range l.pairs(f, s.value, name) {
				do(f, p)
			}
		}
	}
}

// Name finds the name of a stack in its main file, and nothing else: what is wrong elsewhere does not matter.
func Name(data []byte) (string, error) {
	var doc struct {
		Stack string `yaml:"stack"`
	}
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return "", err
	}
	if doc.Stack == "" {
		return "", reconcile.WithHint(errNoName, "stack: shop")
	}
	return doc.Stack, nil
}

var errNoName = errors.New("the stack has no name")

// fieldNames are the names that a struct of the language has in YAML.
func fieldNames[T any]() []string {
	var names []string
	for _, f := range fieldsOf[T]() {
		names = append(names, f.Path.Steps()[0].Key)
	}
	return names
}

func fieldsOf[T any]() []props.Field {
	fields, err := props.Fields(reflect.TypeFor[T](), nil)
	if err != nil {
		return nil // never: the structs are those of this package
	}
	return fields
}

// ReadValues reads a file of config values: NAME: VALUE, where VALUE is a text, a number, true, false, or a list of such. It
// gives them as the command line takes them.
func ReadValues(data []byte) (map[string]string, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	values := map[string]string{}
	if len(doc.Content) == 0 {
		return values, nil
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: %w", root.Line, errNoValues)
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		name, value := root.Content[i], root.Content[i+1]
		text, ok := valueText(value)
		if !ok || name.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("line %d: %s: %w", value.Line, name.Value, errNoValues)
		}
		values[name.Value] = text
	}
	return values, nil
}

// valueText is a value as the command line takes it. An empty value is none.
func valueText(node *yaml.Node) (string, bool) {
	switch {
	case node.Kind == yaml.ScalarNode:
		return node.Value, node.Tag != "!!null"
	case node.Kind != yaml.SequenceNode:
		return "", false
	}
	var words []string
	for _, n := range node.Content {
		if n.Kind != yaml.ScalarNode || strings.Contains(n.Value, ",") {
			return "", false
		}
		words = append(words, n.Value)
	}
	return strings.Join(words, ","), true
}

var errNoValues = errors.New("want NAME: VALUE, where VALUE is a text, a number, true, false, or a list of these without commas")

// Names are the names that a stack's main file declares.
type Names struct {
	Stack                               string
	Resources, Outputs, Config, Secrets []string
}

// NamesIn reads the names of a main file. What is not as it should be has none; files that it includes are not read.
func NamesIn(data []byte) Names {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil || len(doc.Content) == 0 {
		return Names{}
	}
	var names Names
	section := func(of *yaml.Node, each func(name string, value *yaml.Node)) {
		for i := 0; of.Kind == yaml.MappingNode && i+1 < len(of.Content); i += 2 {
			each(of.Content[i].Value, of.Content[i+1])
		}
	}
	section(doc.Content[0], func(name string, value *yaml.Node) {
		list := map[string]*[]string{
			"resources": &names.Resources, "outputs": &names.Outputs, "config": &names.Config, "secrets": &names.Secrets,
		}[name]
		switch {
		case name == "stack" && value.Kind == yaml.ScalarNode:
			names.Stack = value.Value
		case list != nil:
			section(value, func(name string, _ *yaml.Node) { *list = append(*list, name) })
		}
	})
	return names
}
