// Command generate makes the table of package registry from two packages, as they are published:
//
//   - cfn-lint of PyPI (MIT-0), a wheel: the schemas of the public registry, with their handlers;
//   - @aws-cdk/aws-service-spec of npm (Apache-2.0), a tarball: the shapes of ARNs and what holds data, nothing else.
//
// It prints what it made. With -check it compares the table with facts extracted elsewhere (JSON, gzipped: per type id,
// createOnly, conditionalCreateOnly, readOnly, writeOnly, required, handlers, tagging) and prints what disagrees.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/athanor-dev/athanor/providers/aws/cloudcontrol/registry"
)

func main() {
	packages := flag.String("packages", "", "folder with cfn_lint-*.whl and aws-cdk-aws-service-spec-*.tgz")
	out := flag.String("out", "table.bin", "the table to write")
	structs := flag.String("typed", "", "folder for the packages with Go structs")
	check := flag.String("check", "", "facts to compare with, gzipped JSON")
	flag.Parse()
	if err := run(*packages, *out, *structs, *check); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(packages, out, structs, check string) error {
	wheel, err := one(packages, "cfn_lint-*.whl")
	if err != nil {
		return err
	}
	tarball, err := one(packages, "aws-cdk-aws-service-spec-*.tgz")
	if err != nil {
		return err
	}
	schemas, err := readWheel(wheel)
	if err != nil {
		return err
	}
	spec, err := readSpec(tarball)
	if err != nil {
		return err
	}
	index := registry.Index{ARNs: map[string]string{}, Source: filepath.Base(wheel) + ", " + filepath.Base(tarball)}
	types := map[string]*registry.Type{}
	notes := notes{}
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		t := convert(name, schemas[name], notes)
		if t == nil {
			index.Unserved = append(index.Unserved, name)
			continue
		}
		t.Stateful = spec[name].IsStateful || slices.Contains(stateful, name)
		if shape := shapeOfARN(t, spec[name].ARNTemplate); shape != "" {
			if other, taken := index.ARNs[shape]; taken {
				notes["shapes of ARNs that two types have"]++
				if !namesake(name, shape) {
					name = other
				}
			}
			index.ARNs[shape] = name
		}
		types[t.Name] = t
	}
	table, err := pack(index, types)
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, table, 0o644); err != nil { //nolint:gosec // it is source
		return err
	}
	if structs != "" {
		if err := writeTyped(structs, types); err != nil {
			return err
		}
	}
	report(types, index, len(table), notes)
	if check == "" {
		return nil
	}
	return compare(check, types)
}

// stateful are types that hold data beside those that aws-service-spec names.
var stateful = []string{
	"AWS::Cassandra::Keyspace", "AWS::Cassandra::Table", "AWS::CodeCommit::Repository", "AWS::DSQL::Cluster", "AWS::DocDBElastic::Cluster",
	"AWS::ECR::Repository", "AWS::ElastiCache::ServerlessCache", "AWS::Lightsail::Bucket", "AWS::Lightsail::Database", "AWS::Lightsail::Disk",
	"AWS::MSK::Cluster", "AWS::MSK::ServerlessCluster", "AWS::MemoryDB::Cluster", "AWS::NeptuneGraph::Graph", "AWS::OpenSearchServerless::Collection",
	"AWS::RDS::GlobalCluster", "AWS::RedshiftServerless::Namespace", "AWS::S3Express::DirectoryBucket", "AWS::S3Tables::TableBucket",
	"AWS::SSM::Parameter", "AWS::Timestream::Database", "AWS::Timestream::Table",
}

func one(dir, pattern string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("want one %s in %q, have %d (task registry fetches it)", pattern, dir, len(found))
	}
	return found[0], nil
}

// notes count what was left out, by what it is.
type notes map[string]int

func report(types map[string]*registry.Type, index registry.Index, size int, left notes) {
	fmt.Printf("from %s\n", index.Source)
	fmt.Printf("%d types, %d that Cloud Control cannot serve, %d with the shape of their ARN, %d bytes\n",
		len(types), len(index.Unserved), len(index.ARNs), size)
	by := map[registry.Finding][]string{}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		f := types[name].Finding()
		by[f] = append(by[f], name)
	}
	for _, f := range []registry.Finding{registry.ByName, registry.ByTags, registry.ByParent, registry.Nowhere} {
		fmt.Printf("found without state by %s: %d\n", f, len(by[f]))
	}
	fmt.Printf("found by nothing: %v\n", by[registry.Nowhere])
	for _, what := range slices.Sorted(maps.Keys(left)) {
		fmt.Printf("%s: %d\n", what, left[what])
	}
}
