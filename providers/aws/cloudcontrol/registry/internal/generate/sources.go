package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/athanor-dev/athanor/reconcile/tree"
)

type obj = map[string]any

// readWheel is every schema of a wheel of cfn-lint, by the type's name.
func readWheel(file string) (map[string]obj, error) {
	wheel, err := zip.OpenReader(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = wheel.Close() }()
	schemas := map[string]obj{}
	for _, f := range wheel.File {
		if path.Dir(f.Name) != "cfnlint/data/schemas/resources" || path.Ext(f.Name) != ".json" {
			continue
		}
		schema, err := readSchema(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		name, _ := schema["typeName"].(string)
		if strings.HasPrefix(name, "AWS::") && !strings.HasPrefix(name, "AWS::Serverless::") {
			schemas[name] = schema // the others are macros, and types of third parties
		}
	}
	if len(schemas) < 1000 {
		return nil, fmt.Errorf("%s: %d schemas", file, len(schemas))
	}
	return schemas, nil
}

func readSchema(f *zip.File) (obj, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	v, err := tree.Decode(text)
	if err != nil {
		return nil, err
	}
	schema, ok := v.(obj)
	if !ok {
		return nil, errors.New("no object")
	}
	return schema, nil
}

// entity is what aws-service-spec says of a type beside its schema.
type entity struct {
	CloudFormationType, ARNTemplate string
	IsStateful                      bool
}

// readSpec is what a tarball of aws-service-spec says of each type.
func readSpec(file string) (map[string]entity, error) {
	r, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	packed, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	files := tar.NewReader(packed)
	for {
		header, err := files.Next()
		if err != nil {
			return nil, fmt.Errorf("%s: db.json.gz: %w", file, err)
		}
		if path.Base(header.Name) == "db.json.gz" {
			return entitiesIn(files)
		}
	}
}

func entitiesIn(r io.Reader) (map[string]entity, error) {
	unpacked, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	var db struct {
		Schema struct {
			Resource struct {
				Entities []entity
			}
		}
	}
	if err := json.NewDecoder(unpacked).Decode(&db); err != nil {
		return nil, err
	}
	entities := map[string]entity{}
	for _, e := range db.Schema.Resource.Entities {
		entities[e.CloudFormationType] = e
	}
	return entities, nil
}
