package providers_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestEveryTableHasAGoldenBody finds the attribute tables of services in the source, and for each a body that a person wrote
// down from a page of the service's documentation: what is derived from a table has the same mistakes as the table.
func TestEveryTableHasAGoldenBody(t *testing.T) {
	table := regexp.MustCompile(`(?m)^(?:var |\t)(\w+) += kind\.TableOf\[`)
	elsewhere := map[string]string{ // tables that no golden test names, with the one that has their bodies
		"aws/apigatewayv2.routeTable": "TestGoldenContents", "aws/apigatewayv2.authorizerTable": "TestGoldenContents",
		"aws/apigatewayv2.stageTable": "TestGoldenContents", "aws/apigatewayv2.settingsTable": "TestGoldenContents",
		"aws/route53.zoneTable": "TestGoldenZone", "aws/s3.bucketTable": "TestGolden", "aws/s3.lifecycleTable": "TestGolden",
		"cloudflare/rulesets.rulesetTable": "TestGolden", "cloudflare/zones.settingTable": "TestGoldenSetting",
		"aws/apigatewayv2.mappingTable": "TestGolden", // a mapping is the path and the query of a call, without a body
	}
	root := os.DirFS(".")
	found := 0
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
	if found < 30 {
		t.Errorf("found %d tables only", found)
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
