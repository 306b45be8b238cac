package providers_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryTableHasAGoldenBody finds the attribute tables of services in the source, and for each a body that a person wrote
// down from a page of the service's documentation: what is derived from a table has the same mistakes as the table. Each member
// that a tag names must stand in one.
func TestEveryTableHasAGoldenBody(t *testing.T) {
	member := regexp.MustCompile("(?m)^\\s+[A-Z]\\w* .*`[^`]*wire:\"([^\",]*)")
	table := regexp.MustCompile(`(?m)^(?:var |\t)(\w+) += kind\.TableOf\[`)
	elsewhere := map[string]string{ // tables that no golden test names, with the one that has their bodies
		"aws/apigatewayv2.routeTable": "TestGoldenContents", "aws/apigatewayv2.authorizerTable": "TestGoldenContents",
		"aws/apigatewayv2.stageTable": "TestGoldenContents", "aws/apigatewayv2.settingsTable": "TestGoldenContents",
		"aws/ecs.containerTable": "TestGolden", "cloudflare/containers.containerTable": "TestGolden",
		"aws/ecr.imageTable": "TestGolden", "aws/ecs.clusterTable": "TestGolden", // of which no table writes a member
		"aws/route53.zoneTable": "TestGoldenZone", "aws/s3.bucketTable": "TestGolden", "aws/s3.lifecycleTable": "TestGolden",
		"cloudflare/rulesets.rulesetTable": "TestGolden", "cloudflare/zones.settingTable": "TestGoldenSetting",
		"aws/apigatewayv2.mappingTable": "TestGolden", // a mapping is the path and the query of a call, without a body
	}
	// Members that no golden body has by their names: documents of the API are called otherwise, or their sub-tables have bodies.
	otherwise := []string{"aws/s3 ObjectOwnership", "aws/s3 Versioning", "aws/s3 LifecycleRules"}
	root := os.DirFS(".")
	found, members := 0, 0
	err := fs.WalkDir(root, ".", func(file string, _ fs.DirEntry, err error) error {
		service := strings.HasPrefix(file, "aws/") || strings.HasPrefix(file, "cloudflare/")
		if err != nil || !service || path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return err
		}
		source, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		golden, pages := goldenOf(t, root, path.Dir(file))
		for _, match := range member.FindAllStringSubmatch(string(source), -1) {
			name := match[1][strings.LastIndex(match[1], ".")+1:]
			if name == "" || name == "-" || strings.Contains(name, "*") || slices.Contains(otherwise, path.Dir(file)+" "+name) {
				continue
			}
			members++
			if !strings.Contains(strings.ToLower(golden), strings.ToLower(strings.TrimSuffix(name, "s"))) {
				t.Errorf("%s: no golden body has %s", file, name)
			}
		}
		for _, match := range table.FindAllStringSubmatch(string(source), -1) {
			found++
			name := match[1]
			test := elsewhere[path.Dir(file)+"."+name]
			named := regexp.MustCompile(`\b` + name + `\b`).MatchString(golden)
			if !named && (test == "" || !strings.Contains(golden, "func "+test+"(")) {
				t.Errorf("%s: %s has no golden body", file, name)
			}
			if !pages {
				t.Errorf("%s: the golden bodies of %s name no page of documentation", file, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 30 || members < 300 {
		t.Errorf("found %d tables and %d members only", found, members)
	}
}

// TestEveryKindHasAGoldenBody finds the kinds of services in the source, and for each a golden test that names it, or its table: a kind
// without a table has bodies too.
func TestEveryKindHasAGoldenBody(t *testing.T) {
	declared := regexp.MustCompile(`(?ms)^var (\w+Kind) = &kind\.Kind\[.*?^}`)
	table := regexp.MustCompile(`\n\tProps: +(\w+),`)
	test := regexp.MustCompile(`(?ms)(^// [^\n]*\n)*^func TestGolden.*?^}`)
	elsewhere := map[string]string{ // golden tests that name neither, by the kind
		"aws/s3.bucketKind": "TestGolden", "aws/route53.zoneKind": "TestGoldenZone", "aws/ecr.imageKind": "TestGolden", "aws/ecs.clusterKind": "TestGolden",
		"aws/cloudfront.distributionKind": "TestGolden", "cloudflare/containers.containerKind": "TestGolden", "cloudflare/rulesets.rulesetKind": "TestGolden", "cloudflare/zones.settingKind": "TestGoldenSetting", "aws/apigatewayv2.apiKind": "TestGoldenContents",
	}
	root, found := os.DirFS("."), 0
	err := fs.WalkDir(root, ".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasPrefix(file, "aws/") && !strings.HasPrefix(file, "cloudflare/") || path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return err
		}
		source, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		text, _ := goldenOf(t, root, path.Dir(file))
		golden := strings.Join(test.FindAllString(text, -1), "\n")
		for _, match := range declared.FindAllStringSubmatch(string(source), -1) {
			found++
			names := match[1]
			if of := table.FindStringSubmatch(match[0]); of != nil {
				names += "|" + of[1]
			}
			by := elsewhere[path.Dir(file)+"."+match[1]]
			if !regexp.MustCompile(`\b(`+names+`)\b`).MatchString(golden) && (by == "" || !strings.Contains(golden, "func "+by+"(")) {
				t.Errorf("%s: %s has no golden body", file, match[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 45 {
		t.Errorf("found %d kinds only", found)
	}
}

// goldenOf are the golden tests of a package, and whether they name a page.
func goldenOf(t *testing.T, root fs.FS, dir string) (text string, pages bool) {
	t.Helper()
	files, err := fs.Glob(root, dir+"/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := fs.ReadFile(root, file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(source), "func TestGolden") {
			text += string(source)
		}
	}
	return text, strings.Contains(text, "https://")
}
