package controltest

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"sync"
	"testing"

	"github.com/athanor-dev/athanor/statestore/proctest"
)

// Schemas are all resource types.
type Schemas struct {
	types       map[string]*schema
	definitions map[string]*schema // by reference
}

// schema is one type, or one definition.
type schema struct {
	ID                 string `json:"$id"`
	CloudFormationType string
	PrimaryIdentifier  []string
	Properties         map[string]*property
	Attributes         map[string]*property
	TagInformation     *struct{ TagPropertyName, Variant string }
	ARNTemplate        string
}

type property struct {
	Type              shape
	Required          bool
	CausesReplacement string
	RelationshipRefs  []struct{ CloudFormationType, PropertyName string }
}

type shape struct {
	Type      string
	Element   *shape
	Reference struct {
		Ref string `json:"$ref"`
	}
	AllowedValues []any
}

var errNoSchemas = errors.New("schemas of AWS not found: run `task registry` (needs Python 3)")

// Load reads the schemas from .cache/registry beside go.mod, or from where $ATHANOR_REGISTRY says. Without them the test
// is skipped, or fails when $ATHANOR_NO_SKIP is set.
func Load(t testing.TB) *Schemas {
	t.Helper()
	found := loaded()
	switch {
	case errors.Is(found.err, errNoSchemas):
		proctest.Missing(t, "%v", found.err)
	case found.err != nil:
		t.Fatal(found.err)
	}
	return found.schemas
}

// loaded are the schemas, read once for each test binary.
var loaded = sync.OnceValue(func() loading {
	s, err := load()
	return loading{s, err}
})

type loading struct {
	schemas *Schemas
	err     error
}

func load() (*Schemas, error) {
	file, err := find()
	if err != nil {
		return nil, err
	}
	r, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	packed, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for files := tar.NewReader(packed); ; {
		header, err := files.Next()
		if err != nil {
			return nil, fmt.Errorf("%s: db.json.gz: %w", file, err)
		}
		if path.Base(header.Name) == "db.json.gz" {
			return decode(files)
		}
	}
}

func find() (string, error) {
	dir := os.Getenv("ATHANOR_REGISTRY")
	if dir == "" {
		root, ok := proctest.ModuleRoot()
		if !ok {
			return "", errNoSchemas
		}
		dir = filepath.Join(root, ".cache", "registry")
	}
	found, err := filepath.Glob(filepath.Join(dir, "aws-cdk-aws-service-spec-*.tgz"))
	if err != nil || len(found) == 0 {
		return "", errNoSchemas
	}
	return found[len(found)-1], nil
}

func decode(r io.Reader) (*Schemas, error) {
	unpacked, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	var db struct {
		Schema struct {
			Resource, TypeDefinition struct{ Entities []*schema }
		}
	}
	if err := json.NewDecoder(unpacked).Decode(&db); err != nil {
		return nil, err
	}
	s := &Schemas{types: map[string]*schema{}, definitions: map[string]*schema{}}
	for _, e := range db.Schema.Resource.Entities {
		s.types[e.CloudFormationType] = e
	}
	for _, e := range db.Schema.TypeDefinition.Entities {
		s.definitions[e.ID] = e
	}
	return s, nil
}

// readOnly reports whether a property is the service's to give.
func (s *schema) readOnly(name string) bool {
	_, settable := s.Properties[name]
	_, shown := s.Attributes[name]
	return shown && !settable
}
