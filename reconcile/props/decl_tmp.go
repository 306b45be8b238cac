package props

import (
	"errors"
	"io/fs"
	"reflect"

	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

var errLater = errors.New("not built yet")

// Field describes one prop or attribute.
type Field struct {
	// Path from the struct; * stands for list elements and map keys.
	Path tree.Path `json:"path"`
	// Go is the name of the struct field.
	Go string `json:"go"`
	// Type is "string", "int", "number", "bool", "duration", "size", "secret string", "object", "any", or "list of" or "map of" one of them.
	Type     string   `json:"type"`
	Required bool     `json:"required,omitempty"`
	Secret   bool     `json:"secret,omitempty"`
	TakesRef bool     `json:"takesRef,omitempty"`
	Enum     []string `json:"enum,omitempty"`
	// Min and Max are the bounds as the tag writes them; "" is none.
	Min string `json:"min,omitempty"`
	Max string `json:"max,omitempty"`
	// Doc is the documentation of the Go field.
	Doc string `json:"doc,omitempty"`
	// Default is what the documentation says of an unset field.
	Default  string `json:"default,omitempty"`
	Replaces bool   `json:"replaces,omitempty"`
	// Fields are those of the object, or of the objects in the list or map.
	Fields []Field `json:"fields,omitempty"`
}

func Encode(v any) (map[string]any, error)                    { return nil, errLater }
func EncodeValue(v any) (any, error)                          { return nil, errLater }
func Dump(v any) map[string]any                               { return nil }
func Decode(t map[string]any, into any) error                 { return errLater }
func Load(t map[string]any, into any) error                   { return errLater }
func Check(t reflect.Type) error                              { return nil }
func Tokens(into any, s token.Spelling, address string) error { return errLater }
func Fields(t reflect.Type, src fs.FS) ([]Field, error)       { return nil, errLater }
func Schema(fields []Field) map[string]any                    { return nil }
func SecretPaths(t reflect.Type) []tree.Path                  { return nil }
