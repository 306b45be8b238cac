package props

import (
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"path"
	"reflect"
	"regexp"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

// Field describes one prop or attribute.
type Field struct {
	// Path from the struct; * stands for the elements of lists and maps.
	Path tree.Path `json:"path"`
	// Go is the name of the struct field.
	Go string `json:"go"`
	// Type is "string", "secret string", "int", "number", "bool", "duration", "size", "object" or "any", or
	// "list of" or "map of" a type.
	Type string `json:"type"`
	// Required props must be given.
	Required bool `json:"required,omitempty"`
	// Secret values are masked.
	Secret bool `json:"secret,omitempty"`
	// TakesRef says that references may stand here, or in the elements.
	TakesRef bool `json:"takesRef,omitempty"`
	// Enum are the words allowed; none is any.
	Enum []string `json:"enum,omitempty"`
	// Min and Max bound the value, as the tag writes them; "" is no bound.
	Min string `json:"min,omitempty"`
	Max string `json:"max,omitempty"`
	// MaxItems bounds the entries of a list or map, MaxLen the characters of a text; 0 is no bound.
	MaxItems int `json:"maxItems,omitempty"`
	MaxLen   int `json:"maxLen,omitempty"`
	// Doc is the comment of the Go field.
	Doc string `json:"doc,omitempty"`
	// Default is what the tag says, else the comment in "Default: ….".
	Default string `json:"default,omitempty"`
	// Replaces says that the tag says immutable, or the comment "Replaces." or "Changing it replaces …".
	Replaces bool `json:"replaces,omitempty"`
	// Fields are those of the object, or of the objects in the list or map.
	Fields []Field `json:"fields,omitempty"`
	// Shape names what the object is in the schema that the kind is made of. Objects of one shape have the same fields. Default: "",
	// the schema has no name for it.
	Shape string `json:"-"`
}

var (
	defaultSentence  = regexp.MustCompile(`\bDefault: (.+?)\.(?:\s|$)`)
	replacesSentence = regexp.MustCompile(`(?:^|[.)] )Replaces\.|\bChanging it replaces\b`)
)

// Fields describes the props of a struct type in the order of its fields. Documentation is read from src, the
// embedded Go source of the type's package, and for types of another package from the folder in it that is named after
// that; without src there is none.
func Fields(t reflect.Type, src fs.FS) ([]Field, error) {
	s, err := shapeOf(t)
	if err != nil {
		return nil, err
	}
	for s.form == formPointer {
		s = s.elem
	}
	docs := map[docKey]string{}
	for pkg := range packagesOf(s, map[string]bool{}) {
		pattern := "*.go"
		if pkg != s.typ.PkgPath() {
			pattern = path.Base(pkg) + "/*.go"
		}
		if err := readDocs(src, pattern, pkg, docs); err != nil {
			return nil, fmt.Errorf("documentation of %s: %w", t, err)
		}
	}
	return describe(s, "", docs)
}

// packagesOf adds the packages of all structs in a shape.
func packagesOf(s *shape, found map[string]bool) map[string]bool {
	for _, f := range s.fields {
		found[f.owner.PkgPath()] = true
		packagesOf(f.shape.leaf(), found)
	}
	return found
}

func describe(s *shape, at tree.Path, docs map[docKey]string) (all []Field, err error) {
	for _, sf := range s.fields {
		leaf := sf.shape.leaf()
		f := Field{
			Path: at.Key(sf.name), Go: sf.goName, Type: sf.shape.name(), Required: sf.required,
			Secret: leaf.form == formSecret, TakesRef: sf.shape.takesRef(), Enum: sf.enum, MaxItems: sf.maxItems, MaxLen: sf.maxLen,
		}
		if sf.min != nil {
			f.Min = sf.min.text
		}
		if sf.max != nil {
			f.Max = sf.max.text
		}
		typeName, _, _ := strings.Cut(sf.owner.Name(), "[")
		f.Doc = docs[docKey{sf.owner.PkgPath(), typeName, sf.goName}]
		line := strings.Join(strings.Fields(f.Doc), " ")
		said := defaultSentence.FindStringSubmatch(line)
		switch {
		case said != nil && sf.hasDefault:
			return nil, fmt.Errorf("%s of %s: the tag and the comment both say its default", sf.goName, sf.owner)
		case said != nil:
			f.Default = said[1]
		default:
			f.Default = sf.standard
		}
		f.Replaces = sf.immutable || replacesSentence.MatchString(line)
		below := f.Path
		for e := sf.shape; e.elem != nil; e = e.elem {
			if e.form != formPointer {
				below = below.Any()
			}
		}
		if f.Fields, err = describe(leaf, below, docs); err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// name is the shape in documentation.
func (s *shape) name() string {
	switch s.form {
	case formText:
		return "string"
	case formSecret:
		return "secret string"
	case formBool, formTokenBool:
		return "bool"
	case formInt, formUint, formTokenInt:
		return "int"
	case formFloat:
		return "number"
	case formDuration, formTokenDuration:
		return "duration"
	case formSize:
		return "size"
	case formPointer:
		return s.elem.name()
	case formList:
		return "list of " + s.elem.name()
	case formMap:
		return "map of " + s.elem.name()
	case formObject:
		return "object"
	}
	return "any"
}

// docKey names a field of a struct.
type docKey struct{ pkg, typeName, field string }

// readDocs collects the comments of all struct fields in the Go files of a package, tests left out.
func readDocs(src fs.FS, pattern, pkg string, docs map[docKey]string) error {
	if src == nil {
		return nil
	}
	names, err := fs.Glob(src, pattern)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, err := fs.ReadFile(src, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(gotoken.NewFileSet(), name, data, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				collect(docs, pkg, spec)
			}
			return true
		})
	}
	return nil
}

func collect(docs map[docKey]string, pkg string, spec *ast.TypeSpec) {
	st, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range st.Fields.List {
		text := f.Doc.Text()
		if text == "" {
			text = f.Comment.Text()
		}
		for _, name := range f.Names {
			docs[docKey{pkg, spec.Name.Name, name.Name}] = strings.TrimSpace(text)
		}
	}
}
