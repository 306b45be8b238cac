package adoption_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/adopt/from/gocode"
	"github.com/athanor-dev/athanor/cmd/internal/files"
	"github.com/athanor-dev/athanor/cmd/internal/gomodule"
	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/providers"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/token"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// TestAdoptedPrograms writes the stack of every third kind's example, of each every night, and stacks with everything that a source has, as Go programs, compiles
// them, and compares the graph that each declares with that of the YAML.
func TestAdoptedPrograms(t *testing.T) {
	catalog, err := reconcile.NewCatalog(providers.All()...)
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Glob("../../../examples/kinds/*.yaml")
	if err != nil || len(examples) < 40 {
		t.Fatalf("%d examples, %v", len(examples), err)
	}
	stacks := map[string]from.Stack{}
	for n, file := range examples {
		if !proctest.Played(n, 3) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		kind := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if c := providers.Constructs()[kind]; c.Parts != nil && len(c.Parts(athanor.Own{})) > 0 {
			continue // a source has its parts
		}
		stacks["k"+from.Shape(strings.ReplaceAll(kind, ".", "x"))] = stackOfGraph(t, loadedText(t, catalog, text))
	}
	maps.Copy(stacks, sampleStacks())

	overlay := map[string]string{}
	dir, root := t.TempDir(), files.Absolute("../../..")
	put := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay[filepath.Join(root, "adopted", name)] = file
	}
	want := map[string]string{}
	var imports, calls strings.Builder
	for _, name := range slices.Sorted(maps.Keys(stacks)) {
		s := stacks[name]
		yaml, err := s.YAML("")
		if err != nil {
			t.Fatal(err)
		}
		graph := loadedText(t, catalog, yaml)
		if want[name], err = graph.Digest(); err != nil {
			t.Fatal(err)
		}
		code, err := gocode.Go(s, "", catalog.Find)
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, yaml)
			continue
		}
		if at := strings.Index(string(code), `.Resource("`); at >= 0 && !strings.Contains(string(code)[at:at+40], "::") {
			t.Errorf("%s: a kind with Go types is declared by its name:\n%s", name, code)
		}
		text := strings.Replace(string(code), "package main", "package "+name, 1)
		text = strings.Replace(text, "func main()", "func Main()", 1)
		put(name+"/"+name+".go", text+"\nfunc Declare(s *athanor.Stack) error { return declare(s) }\n")
		fmt.Fprintf(&imports, "%q\n", gomodule.ModulePath()+"/adopted/"+name)
		fmt.Fprintf(&calls, "show(%q, %q, %s.Declare)\n", name, s.Name, name)
	}
	put("main.go", `package main
import (
"encoding/json"
"os"
"`+gomodule.ModulePath()+`"
`+imports.String()+`)
func show(name, stack string, declare athanor.Program) {
	line := map[string]string{"name": name}
	g, err := athanor.Evaluate(declare, athanor.Input{Stack: stack, Stage: "test", Dir: "/stack"})
	if err == nil { line["digest"], err = g.Digest() }
	if err != nil { line["error"] = err.Error() } else { t, _ := json.Marshal(g.Resources); line["graph"] = string(t) }
	json.NewEncoder(os.Stdout).Encode(line)
}
func main() {
`+calls.String()+"}\n")
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), list, 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "go", "run", "-ldflags=-s -w", "-overlay", filepath.Join(dir, "overlay.json"), "./adopted")
	run.Dir = root
	out, err := run.Output()
	if err != nil {
		if failed, ok := err.(*exec.ExitError); ok {
			t.Fatalf("%v\n%s", err, failed.Stderr)
		}
		t.Fatal(err)
	}
	compared := 0
	for line := range strings.Lines(string(out)) {
		var got struct{ Name, Digest, Error, Graph string }
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		compared++
		if got.Error != "" || got.Digest != want[got.Name] {
			yaml, _ := stacks[got.Name].YAML("")
			g, _ := json.Marshal(loadedText(t, catalog, yaml).Resources)
			code, _ := gocode.Go(stacks[got.Name], "", catalog.Find)
			t.Errorf("%s: %s\nthe YAML: %s\ndeclares %s\nthe program declares %s\n%s", got.Name, got.Error, yaml, g, got.Graph, code)
		}
	}
	if compared != len(stacks) {
		t.Errorf("%d of %d programs are compared", compared, len(stacks))
	}
}

// loadedText is the graph of a stack's text.
func loadedText(t *testing.T, catalog *reconcile.Catalog, text []byte) *engine.Graph {
	t.Helper()
	s, err := yamlstack.Load(t.Context(), catalog, yamlstack.Input{Path: "athanor.yaml", Data: text, Dir: "/stack", Stage: "test"})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s.Graph
}

// stackOfGraph is a stack that declares what a graph does, as a source would.
func stackOfGraph(t *testing.T, g *engine.Graph) from.Stack {
	t.Helper()
	s := from.Stack{Name: "sample", Providers: map[string]map[string]any{}}
	for _, r := range g.Resources {
		p, _ := withoutTokens(t, r.Props).(map[string]any)
		s.Resources = append(s.Resources, from.Resource{Address: r.Address, Kind: r.Kind, Props: p, DependsOn: r.Options.DependsOn, Adopt: r.Options.Adopt})
		provider, _, _ := strings.Cut(r.Kind, ".")
		if r.Settings != nil {
			s.Providers[provider] = r.Settings
		}
	}
	for name := range g.Secrets {
		s.Secrets = append(s.Secrets, from.Secret{Name: name})
	}
	return s
}

// withoutTokens is a value with the values of a source in place of tokens.
func withoutTokens(t *testing.T, v any) any {
	t.Helper()
	return tree.Map(v, func(leaf any) any {
		text, ok := leaf.(string)
		if !ok || !token.Has(text) {
			return leaf
		}
		parts, err := token.Scan(text)
		if err != nil {
			t.Fatal(err)
		}
		var all []any
		for _, p := range parts {
			switch {
			case p.Expr == nil:
				all = append(all, p.Text)
			case p.Expr.Op == token.OpRef:
				all = append(all, from.Ref{Address: p.Expr.Ref.Address, Attribute: string(p.Expr.Ref.Path)})
			case p.Expr.Op == token.OpSecret:
				all = append(all, from.SecretRef{Name: p.Expr.Name})
			default:
				t.Fatalf("%s: no source has it", p.Expr.Op)
			}
		}
		if len(all) == 1 {
			return all[0]
		}
		return from.Text{Parts: all}
	})
}

// sampleStacks have what a source may give: configs, secrets, several settings, entries of a for, reads, outputs and text that
// would be code.
func sampleStacks() map[string]from.Stack {
	hostile := "\"); panic(1) //`${x}\n\u202e\x00"
	type props = map[string]any
	return map[string]from.Stack{
		"everything": {
			Name: "every-thing",
			Providers: map[string]map[string]any{
				"aws": {"region": "eu-north-1"}, "eu": {"use": "aws", "region": "eu-west-1"}, "unused": {"use": "aws", "region": "eu-west-2"},
			},
			Config:     props{"domain": "shop.example", "string": "a word of the language", "unused": "x", "sqs": "a package"},
			Configured: map[string]from.Configured{"domain": {Description: "where the shop is", Stages: props{"test": "shop.test", "prod": hostile}}, "string": {Description: hostile + "\r\n*/ x"}},
			Secrets:    []from.Secret{{Name: "apiKey"}},
			Reads:      []from.Resource{{Address: "logs", Kind: "aws.s3.Bucket", Adopt: "the-logs"}, {Address: "vpc", Kind: "AWS::EC2::VPC", Adopt: "vpc-1"}},
			Resources: []from.Resource{
				{Address: "net/subnet", Kind: "AWS::EC2::Subnet", Props: props{
					"VpcId": from.Ref{Address: "vpc", Attribute: "VpcId"}, "CidrBlock": from.Each{Name: "CidrBlock"},
					"Tags": []any{props{"Key": "Name", "Value": from.Text{Parts: []any{"subnet-", from.Each{}}}}},
				}, For: map[string]map[string]any{
					"a": {"adopt": "subnet-1", "CidrBlock": "10.0.0.0/24"}, "b": {"adopt": "subnet-2", "CidrBlock": "10.0.1.0/24"},
				}},
				{Address: "jobs", Kind: "aws.sqs.Queue", Provider: "eu", Props: props{
					"visibilityTimeout": from.Each{Name: "wait"}, "tags": props{"domain": from.Config{Name: "domain"}, "key": from.Each{}},
				}, For: map[string]map[string]any{"x": {"wait": "90s"}, "y": {"wait": "2m"}}},
				{Address: "plain", Kind: "aws.sns.Topic", For: map[string]map[string]any{"1": {}, "2": {}}},
				{Address: "work", Kind: "aws.sqs.Queue", Adopt: hostile, DependsOn: []string{"plain", "jobs[x]", "logs-of-it"}, Props: props{
					"deadLetter": from.Ref{Address: "jobs[y]", Attribute: "arn"}, "delay": "0s", "maximumMessageSize": "256KiB",
					"policy": props{"Version": "2012-10-17", "Statement": []any{props{
						"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*",
						"Condition": props{"ArnEquals": props{"aws:SourceArn": from.Ref{Address: "topic", Attribute: "arn"}}, "NumericLessThan": props{"n": 5}},
					}}},
					"tags": props{hostile: hostile, "secret": from.SecretRef{Name: "apiKey"}, "text": from.Text{Parts: []any{"a", from.Config{Name: "string"}, from.SecretRef{Name: "apiKey"}}}},
				}},
				{Address: "topic", Kind: "aws.sns.Topic", Comment: "Two\nlines.\n" + hostile, Comments: map[string]string{"name": "x"}}, // declared after what refers to it
				{Address: "logs-of-it", Kind: "aws.logs.LogGroup", Props: props{"name": from.Text{Parts: []any{"/x/", from.Ref{Address: "work", Attribute: "name"}}[:1]}}},
			},
			Outputs: props{
				"url": from.Ref{Address: "work", Attribute: "url"}, "all": []any{from.Ref{Address: "net/subnet[a]", Attribute: "SubnetId"}, 1, 2.5, true, nil, hostile},
				"bucket": from.Ref{Address: "logs", Attribute: "arn"}, "key": from.SecretRef{Name: "apiKey"}, "sqs": from.Config{Name: "sqs"},
			},
		},
	}
}
