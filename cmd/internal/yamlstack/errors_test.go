package yamlstack_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/cmd/internal/yamlstack"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile"
)

// lines are the problems of an error, each with its hint after an arrow.
func lines(t testing.TB, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	graph, ok := errors.AsType[*engine.GraphError](err)
	if !ok {
		t.Fatalf("%T is no *engine.GraphError: %v", err, err)
	}
	var list []string
	for _, p := range graph.Problems {
		line := p.String()
		for _, h := range reconcile.Hints(p.Err) {
			line += " → " + h
		}
		list = append(list, line)
	}
	return list
}

func TestMistakes(t *testing.T) {
	tests := []struct{ name, yaml, want string }{
		{"not YAML", "stack: shop\nresources: {a: [}\n", `2:1: not YAML: did not find expected node content`},
		{"no name", "resources: {}\n", `1:1: the stack has no name → stack: shop`},
		{"bad name", "stack: 'a b'\n", `1:8: stack "a b": bad name → 1 to 60`},
		{"section", "stack: s\nresorces: {}\n", `2:1: "resorces" is no section → did you mean resources?`},
		{"duplicate key", "stack: s\nresources:\n  a: {kind: test.Queue}\n  a: {kind: test.Queue}\n", `4:3: "a" stands here twice; the first is on line 3`},
		{"two documents", "stack: s\n---\nstack: t\n", `:1: want one document in a file`},
		{"unknown kind", "stack: s\nresources:\n  a: {kind: test.Queu}\n", `3:13: a: unknown kind "test.Queu" → did you mean test.Queue?`},
		{"no kind", "stack: s\nresources:\n  a: {props: {}}\n", `3:3: a: it has no kind`},
		{"option beside the kind", "stack: s\nresources:\n  a: {kind: test.Queue, dependsOn: [b]}\n  b: {kind: test.Queue}\n", `3:25: a: "dependsOn" is not part of a declaration → it is an option: options: {dependsOn: …}`},
		{"prop beside the kind", "stack: s\nresources:\n  a: {visibilityTimeout: 1s, kind: test.Queue}\n", `3:7: a: "visibilityTimeout" is not part of a declaration → it is a prop of test.Queue: props: {visibilityTimeout: …}`},
		{"part", "stack: s\nresources:\n  a: {kind: test.Queue, prop: {}}\n", `3:25: a: "prop" is not part of a declaration → did you mean props?`},
		{"prop", "stack: s\nresources:\n  a:\n    kind: test.Queue\n    props: {visibilityTimeot: 1s}\n", `5:13: a: visibilityTimeot: `},
		{"prop hint", "stack: s\nresources:\n  a:\n    kind: test.Queue\n    props: {visibilityTimeot: 1s}\n", `did you mean visibilityTimeout?`},
		{"type", "stack: s\nresources:\n  a:\n    kind: test.Queue\n    props:\n      name: x\n      visibilityTimeout: [1]\n", `7:7: a: visibilityTimeout: want a duration`},
		{"deep", "stack: s\nresources:\n  a:\n    kind: test.Queue\n    props:\n      rules:\n        - path: /\n        - weight: 2\n", `8:11: a: rules[1].path: `},
		{"enum", "stack: s\nresources:\n  a: {kind: test.Queue, props: {mode: fats}}\n", `3:33: a: mode: `},
		{"required", "stack: s\nresources:\n  a: {kind: test.Table}\n", `3:3: a: key: `},
		{"check", "stack: s\nresources:\n  a: {kind: test.Queue, props: {fifo: true, name: plain}}\n", `3:3: a: a fifo queue is not plain`},
		{"takes no reference", "stack: s\nresources:\n  a: {kind: test.Queue}\n  b: {kind: test.Queue, props: {retries: '${a.port}'}}\n", `4:33: b: retries: `},
		{"reference to nothing", "stack: s\nresources:\n  dead: {kind: test.Queue}\n  b: {kind: test.Queue, props: {name: 'x ${daed.arn}'}}\n", `4:42: b: nothing is declared as "daed" → did you mean dead?`},
		{"attribute", "stack: s\nresources:\n  a: {kind: test.Queue}\n  b: {kind: test.Queue, props: {name: '${a.urn}'}}\n", `4:40: b: test.Queue has no attribute "urn" → did you mean arn?`},
		{"inside an attribute", "stack: s\nresources:\n  a: {kind: test.Queue}\n  b: {kind: test.Queue, props: {name: '${a.arn.x}'}}\n", `a string has nothing inside`},
		{"nested attribute", "stack: s\nresources:\n  a: {kind: test.Queue}\n  b: {kind: test.Queue, props: {name: '${a.endpoint.hots}'}}\n", `has no attribute "hots" → did you mean host?`},
		{"attribute in a list", "stack: s\nresources:\n  a: {kind: test.Queue}\n  b:\n    kind: test.Queue\n    props: {rules: ['${a.urn}']}\n", `6:22: b: test.Queue has no attribute "urn" → did you mean arn?`},
		{"no such part of a prop", "stack: s\nresources:\n  a:\n    kind: test.Queue\n    props: {rules: [{path: /, zzz: 1}]}\n", `rules[0].zzz: is not a prop → there is path, weight`},
		{"open", "stack: s\nresources:\n  a: {kind: test.Queue, props: {name: 'x ${a.arn'}}\n", `3:42: a: ${ without } → a literal ${ is written $${`},
		{"list in text", "stack: s\nconfig: {z: {default: [a]}}\nresources:\n  a: {kind: test.Queue, props: {name: 'x${config.z}'}}\n", `4:41: a: ${config.z} is no text, so it must stand alone`},
		{"empty", "stack: s\nresources:\n  a: {kind: test.Queue, props: {name: '${ }'}}\n", `3:40: a: ${} refers to nothing → ${ADDRESS.ATTRIBUTE}, ${config.NAME}`},
		{"a function", "stack: s\nresources:\n  a: {kind: test.Queue, props: {name: '${file(a.txt)}'}}\n", `3:40: a: ${file(a.txt)}: path "txt)": at 0: want a dot or a bracket after a step → a reference is ${ADDRESS.ATTRIBUTE}`},
		{"no config", "stack: s\noutputs: {x: '${config.zone}'}\n", `2:15: output x: no config "zone" is declared → declare it: config: {zone: {type: string}}`},
		{"no secret", "stack: s\noutputs: {x: '${secret.key}'}\n", `2:15: output x: no secret "key" is declared → declare it: secrets: {key: {sealed: true}}`},
		{"config", "stack: s\nconfig: {domain: {default: a}}\noutputs: {x: '${config.domian}'}\n", `3:15: output x: no config "domian" is declared → did you mean domain?`},
		{"resource below outputs", "stack: s\noutputs:\n  x: a\n  y:\n    kind: test.Queu\n    props: {}\n", `4:3: output y: it is a resource and no output: it has a kind → move it below resources`},
		{"secret", "stack: s\nsecrets: {key: {sealed: true}}\noutputs: {x: '${secret.kee}'}\n", `3:15: output x: no secret "kee" is declared → did you mean key?`},
		{"config without value", "stack: s\nconfig: {domain: {type: string}}\n", `2:10: config domain: it has no value: none is given, and there is no default for the stage → --config domain=…`},
		{"config type", "stack: s\nconfig: {n: {type: int, default: many}}\n", `2:10: config n: default: want a int`},
		{"config word", "stack: s\nconfig: {n: {tipe: int}}\n", `2:14: tipe: `},
		{"secret source", "stack: s\nsecrets: {k: {env: A, file: b}}\n", `2:11: secret k: want one source`},
		{"ref", "stack: s\nrefs: {net: {stack: network}}\noutputs: {x: '${ref.nte.id}'}\n", `3:15: output x: no ref "nte" is declared → did you mean net?`},
		{"ref without an output", "stack: s\nrefs: {net: {stack: network}}\noutputs: {x: '${ref.net}'}\n", `3:15: output x: ${ref.net}: which output of it? → ${ref.net.OUTPUT}`},
		{"ref to a bad output", "stack: s\nrefs: {net: {stack: network}}\noutputs: {x: '${ref.net.[0]}'}\n", `3:15: output x: ${ref.net.[0]}: `},
		{"ref alone", "stack: s\noutputs: {x: '${ref}'}\n", `2:15: output x: ${ref}: it has no name after a dot`},
		{"ref without a stack", "stack: s\nrefs: {net: {stage: prod}}\noutputs: {x: '${ref.net.id}'}\n", `2:13: stack: `},
		{"ref to two stacks", "stack: s\nrefs: {net: {stack: a, terraform: b}}\n", `2:13: want one of stack, terraform and pulumi`},
		{"ref to a stage of a state", "stack: s\nrefs: {net: {pulumi: b, stage: prod}}\n", `2:13: want one of stack, terraform and pulumi`},
		{"ref to a bad stack", "stack: s\nrefs: {net: {stack: 'a b'}}\n", `2:14: ref net: stack "a b": bad name`},
		{"ref word", "stack: s\nrefs: {net: {stakc: network}}\n", `2:14: stakc: `},
		{"ref in a place", "stack: s\nrefs: {net: {stack: network}}\nproviders: {test: {region: '${ref.net.region}'}}\n", `3:29: ${ref.net.region}: places must be known`},
		{"reserved ref", "stack: s\nresources:\n  ref: {kind: test.Queue}\n", `3:3: "ref" is a word of the language`},
		{"bad address", "stack: s\nresources:\n  1a: {kind: test.Queue}\n", `3:3: bad address "1a" → each part begins with a letter`},
		{"reserved address", "stack: s\nresources:\n  config: {kind: test.Queue}\n", `3:3: "config" is a word of the language`},
		{"read and resource", "stack: s\nresources:\n  a: {kind: test.Queue}\nread:\n  a: {kind: test.Queue, id: x}\n", `5:3: a: declared twice: athanor.yaml:3:3 and athanor.yaml:5:3`},
		{"instance twice", "stack: s\nresources:\n  q[a]: {kind: test.Queue}\n  q: {kind: test.Queue, for: [a]}\n", `4:3: q[a]: declared twice: athanor.yaml:3:3 and athanor.yaml:4:3`},
		{"all of a for", "stack: s\nresources:\n  q: {kind: test.Queue, for: [a, b]}\noutputs: {x: '${q.arn}'}\n", `4:15: output x: q is made once for each of a, b → q[a] is one, q[*] is all`},
		{"key of a for", "stack: s\nresources:\n  q: {kind: test.Queue, for: [a, b]}\noutputs: {x: '${q[c].arn}'}\n", `4:15: output x: nothing is declared as "q[c]" → did you mean q[`},
		{"for over the unknown", "stack: s\nresources:\n  a: {kind: test.Queue}\n  q: {kind: test.Queue, for: '${a.zones}'}\n", `4:31: q: ${a.zones}: the keys of a for must be known`},
		{"for key", "stack: s\nresources:\n  q: {kind: test.Queue, for: ['a b']}\n", `3:31: q: for: a key is made of letters`},
		{"each outside", "stack: s\noutputs: {x: '${each.key}'}\n", `2:15: output x: ${each.key}: there is no for here`},
		{"option", "stack: s\nresources:\n  q: {kind: test.Queue, options: {protekt: true}}\n", `3:35: q: protekt: `},
		{"option reference", "stack: s\nresources:\n  q: {kind: test.Queue, options: {dependsOn: ['${q.arn}']}}\n", `3:48: q: ${q.arn}: options hold no references`},
		{"depends on nothing", "stack: s\nresources:\n  q: {kind: test.Queue, options: {dependsOn: [p]}}\n", `3:47: q: dependsOn: nothing is declared as "p"`},
		{"option path", "stack: s\nresources:\n  q: {kind: test.Queue, options: {ignoreChanges: ['a[']}}\n", `3:51: q: ignoreChanges: `},
		{"option prop", "stack: s\nresources:\n  q: {kind: test.Queue, options: {replaceOn: [nmae]}}\n", `3:47: q: replaceOn: test.Queue has no prop "nmae" → did you mean name?`},
		{"provider", "stack: s\nproviders: {eu: {use: tset, region: x}}\n", `2:18: provider eu: there is no provider "tset" → did you mean test?`},
		{"provider setting", "stack: s\nproviders: {test: {regoin: x}}\n", `2:20: regoin: `},
		{"provider cycle", "stack: s\nproviders: {a: {use: b}, b: {use: a}}\n", `uses itself`},
		{"provider of another", "stack: s\nproviders: {eu: {use: test}}\nresources:\n  v: {kind: local.Value, provider: eu}\n", `4:36: v: eu are settings of test, but the kind is one of local`},
		{"provider unknown", "stack: s\nproviders: {eu: {use: test}}\nresources:\n  v: {kind: test.Queue, provider: ue}\n", `4:35: v: no provider "ue" is declared → did you mean eu?`},
		{"place with a reference", "stack: s\nproviders: {test: {region: '${q.arn}'}}\nresources: {q: {kind: test.Queue}}\n", `2:29: ${q.arn}: places must be known`},
		{"read by nothing", "stack: s\nread: {q: {kind: test.Queue}}\n", `2:8: q: want either an id or a query`},
		{"query", "stack: s\nread: {q: {kind: test.Queue, query: {nam: x}}}\n", `2:38: q: nam: `},
		{"forget declared", "stack: s\nforget: [q]\nresources: {q: {kind: test.Queue}}\n", `2:10: forget: q is declared: athanor.yaml:3:13`},
		{"bind to nothing", "stack: s\nbind: {q: {a: {}}}\n", `2:8: bind: nothing is declared as "q"`},
		{"bind takes none", "stack: s\nbind: {q: {a: {}}}\nresources: {q: {kind: local.Value}}\n", `2:12: q: bind "a": a local.Value takes no bindings`},
		{"bind row", "stack: s\nbind:\n  q:\n    a: {alow: x}\nresources: {q: {kind: test.Queue}}\n", `4:5: q: bindings[0].alow: `},
		{"octal", "stack: s\nresources:\n  f: {kind: local.File, props: {path: x, mode: 0644}}\n", `3:48: f: 0644 is not a plain whole number → as text it is written "0644"`},
		{"hexadecimal", "stack: s\noutputs: {x: 0x1F}\n", `2:14: output x: 0x1F is not a plain whole number → as text it is written "0x1F"`},
		{"large hexadecimal", "stack: s\noutputs: {x: 0x1FFFFFFFFFFFFFFFF}\n", `2:14: output x: 0x1FFFFFFFFFFFFFFFF is not a plain whole number`},
		{"large octal", "stack: s\noutputs: {x: -0o7777777777777777777777}\n", `2:14: output x: -0o7777777777777777777777 is not a plain whole number`},
		{"large binary", "stack: s\noutputs: {x: 0b1_0000000000000000000000000000000000000000000000000000000000000000}\n", `is not a plain whole number`},
		{"decimal", "stack: s\noutputs: {x: 9007199254740993.0}\n", `2:14: output x: 9007199254740993.0 has more digits than a number keeps: 9007199254740992 → as text it is written "9007199254740993.0"`},
		{"small decimal", "stack: s\noutputs: {x: 1e-400}\n", `2:14: output x: 1e-400 has more digits than a number keeps: 0`},
		{"large decimal", "stack: s\noutputs: {x: 1e400}\n", `2:14: output x: 1e400 is no number that can be used → as text it is written "1e400"`},
		{"infinity", "stack: s\noutputs: {x: .inf}\n", `2:14: output x: .inf is no number`},
		{"tag", "stack: s\noutputs: {x: !!binary aGk=}\n", `2:14: output x: the tag !!binary is not part`},
		{"brackets", "stack: s\noutputs: {x: ⟦q.arn⟧}\n", `2:14: output x: text that looks like an encoded reference`},
		{"json beside", "stack: s\noutputs: {x: {$json: {}, a: 1}}\n", `2:14: output x: $json stands with other keys`},
		{"url", "stack: s\noutputs: {x: {$url: 'no url'}}\n", `2:15: output x: $url: `},
		{"key of a mapping", "stack: s\noutputs: {x: {[a]: 1}}\n", `2:15: a key must be text, have a list`},
		{"no role", "stack: s\nresources:\n  q: {kind: aws.sqs.Queue}\n  f: {kind: aws.lambda.Function, props: {code: {go: ./f}}, options: {}}\n", `4:34: f: role: is required → beside the props, role: own declares one`},
		{"grant of what is not there", "stack: s\nresources:\n  q: {kind: aws.sqs.Queue}\n  f: {kind: aws.lambda.Function, props: {code: {go: ./f}}, grants: {w: [send]}}\n", `4:69: f: grants: nothing is declared as "w"`},
		{"way of access", "stack: s\nresources:\n  q: {kind: aws.sqs.Queue}\n  f: {kind: aws.lambda.Function, props: {code: {go: ./f}}, grants: {q: [sned]}}\n", `4:73: f: grants: "sned" is no way to use a aws.sqs.Queue → did you mean send?`},
		{"grant of nothing", "stack: s\nresources:\n  q: {kind: aws.sqs.Queue}\n  f: {kind: aws.lambda.Function, props: {code: {go: ./f}}, grants: {q: []}}\n", `4:69: a grant of nothing`},
		{"no list of access", "stack: s\nresources:\n  q: {kind: aws.sqs.Queue}\n  f: {kind: aws.lambda.Function, props: {code: {go: ./f}}, grants: {q: send}}\n", `4:72: grants: want a list, have text`},
		{"role twice", "stack: s\nresources:\n  q: {kind: aws.sqs.Queue}\n  f: {kind: aws.lambda.Function, props: {code: {go: ./f}}, grants: {f: [send]}}\n", `4:69: f: grants: the use of a aws.lambda.Function cannot be granted by a word`},
		{"role that is none", "stack: s\nresources:\n  q: {kind: aws.sqs.Queue}\n  f: {kind: aws.lambda.Function, props: {code: {go: ./f}}, role: q}\n", `4:66: f: role: q is a aws.sqs.Queue → want own, or the address of a role`},
		{"log group", "stack: s\nresources:\n  q: {kind: aws.sqs.Queue}\n  f: {kind: aws.lambda.Function, props: {code: {go: ./f}}, logGroup: mine, role: own}\n", `4:70: f: logGroup: want own or none`},
		{"prop of consume", "stack: s\nresources:\n  q: {kind: aws.sqs.Queue}\n  f: {kind: aws.lambda.Function, props: {code: {go: ./f}}, consume: {q: {batchSise: 3}}}\n", `4:74: f: batchSise: `},
		{"function of consume", "stack: s\nresources:\n  q: {kind: aws.sqs.Queue}\n  f: {kind: aws.lambda.Function, props: {code: {go: ./f}}, consume: {q: {function: x}}}\n", `4:74: f: consume: function is said by where this stands`},
		{"consume of no source", "stack: s\nresources:\n  q: {kind: aws.sqs.Queue}\n  f: {kind: aws.lambda.Function, props: {code: {go: ./f}}, consume: {f: {}}}\n", `4:70: lambda.Function is nothing that a function is called with`},
		{"grants to what has no role", "stack: s\nresources:\n  a: {kind: test.Queue, grants: {q: [send]}}\n  q: {kind: aws.sqs.Queue}\n", `3:25: a: grants: a test.Queue is granted nothing`},
		{"consume with what is no function", "stack: s\nresources:\n  a: {kind: test.Queue, consume: {q: {}}}\n  q: {kind: aws.sqs.Queue}\n", `3:25: a: consume: a test.Queue is called with nothing`},
		{"a role in both", "stack: s\nresources:\n  f: {kind: aws.lambda.Function, role: f, props: {code: {go: ./f}, role: x}}\n", `3:34: f: role: the props have a role already`},
		{"a grant to a role elsewhere", "stack: s\nresources:\n  f: {kind: aws.lambda.Function, grants: {q: [send]}, props: {code: {go: ./f}, role: 'arn:aws:iam::111122223333:role/x'}}\n  q: {kind: aws.sqs.Queue}\n", `3:43: a grant to arn:aws:iam::111122223333:role/x, which this stack does not declare → declare the role here`},
		{"an own role that is declared", "stack: s\nresources:\n  f: {kind: aws.lambda.Function, role: own, props: {code: {go: ./f}}}\n  f/role: {kind: aws.sqs.Queue}\n", `f/role: declared twice`},
		{"include missing", "stack: s\ninclude: [missing.yaml]\n", `2:11: missing.yaml: no such file`},
		{"include absolute", "stack: s\ninclude: [/etc/x.yaml]\n", `2:11: include: want a path relative to this file`},
		{"scalar resource", "stack: s\nresources:\n  a: 3\n", `3:6: a: want a mapping, have a number`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := loadConfig(t, tt.yaml, "dev", nil)
			got := strings.Join(lines(t, err), "\n")
			if !strings.Contains(got, tt.want) || !strings.Contains(got, "athanor.yaml:") {
				t.Errorf("got\n%s\nwant one that says\n%s", got, tt.want)
			}
			for line := range strings.SplitSeq(got, "\n") {
				if strings.Count(line, tt.want) > 1 {
					t.Errorf("said twice: %s", line)
				}
			}
		})
	}
}

// All that is wrong comes at once, in the order of the file.
func TestAllAtOnce(t *testing.T) {
	_, err := loadConfig(t, `stack: shop
secrets: {k: {}}
resources:
  a: {kind: test.Queu}
  b: {kind: test.Queue, props: {nmae: x, retries: many}}
  c: {kind: test.Queue, props: {name: "${a.arn} ${z.arn}"}}
outputs: {o: "${b.urk}"}
`, "dev", map[string]string{"nothing": "1"})
	want := []string{
		"athanor.yaml:1:1: config nothing: a value is given", "athanor.yaml:2:11: secret k:", "athanor.yaml:4:13: a: unknown kind",
		"athanor.yaml:5:33: b: nmae", "athanor.yaml:5:42: b: retries", "athanor.yaml:6:49: c: nothing is declared", "athanor.yaml:7:15: output o:",
	}
	got := lines(t, err)
	if len(got) != len(want) {
		t.Fatalf("got %d problems:\n%s", len(got), strings.Join(got, "\n"))
	}
	for i, w := range want {
		if !strings.HasPrefix(got[i], w) {
			t.Errorf("problem %d is %q, want %q", i, got[i], w)
		}
	}
}

func TestInclude(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func() (*yamlstack.Stack, []string) {
		s, err := yamlstack.Load(t.Context(), catalog(t), yamlstack.Input{Path: filepath.Join(dir, "athanor.yaml"), Stage: "dev"})
		return s, lines(t, err)
	}
	write("athanor.yaml", "stack: shop\ninclude: [parts/a.yaml]\nresources: {q: {kind: test.Queue, props: {deadLetter: '${dead.arn}'}}}\n")
	write("parts/a.yaml", "include: [../b.yaml]\nresources: {dead: {kind: test.Queue}}\n")
	write("b.yaml", "outputs: {o: '${q.arn}'}\nsecrets: {k: {sealed: true}}\n")
	s, problems := read()
	if problems != nil {
		t.Fatal(problems)
	}
	if len(s.Files) != 3 || len(s.Graph.Resources) != 2 || s.Graph.Resources[0].Source != "parts/a.yaml:2:13" || s.Graph.Outputs["o"] == nil {
		t.Errorf("files %v, graph %s", s.Files, show(t, s.Graph))
	}

	write("b.yaml", "stack: other\nresources:\n  q: {kind: test.Queue}\ninclude: [athanor.yaml]\n")
	s, problems = read()
	want := []string{
		"athanor.yaml:3:13: q: declared twice", "b.yaml:1:1: only the main file names the stack",
		"b.yaml:3:3: q: declared twice: athanor.yaml:3:13 and b.yaml:3:3", "b.yaml:4:11: athanor.yaml includes itself",
	}
	if got := strings.Join(problems, "\n"); !strings.Contains(got, want[1]) || !strings.Contains(got, want[2]) || !strings.Contains(got, want[3]) || len(problems) != 3 {
		t.Errorf("got\n%s", got)
	}
	if s.Graph != nil || len(s.Files) != 3 {
		t.Errorf("graph %v, files %v: want none, and all", s.Graph, s.Files)
	}
}

// Documents that make much of little are refused, soon.
func TestBombs(t *testing.T) {
	var laughs strings.Builder
	laughs.WriteString("stack: s\nx-0: &a0 [1,1,1,1,1,1,1,1,1,1]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&laughs, "x-%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	tests := []struct{ name, yaml, want string }{
		{"aliases", laughs.String() + "outputs: {x: *a11}\n", "athanor.yaml:2:23: output x: the value has more than 1 MiB"},
		{"alias of itself", "stack: s\noutputs: {x: &a [*a]}\n", "expands to more than can be meant"},
		{"merge of itself", "stack: s\noutputs: {x: &a {<<: *a}}\n", "expands to more than can be meant"},
		{"depth", "stack: s\noutputs: {x: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}\n", "expands to more than can be meant"},
		{"size", "stack: s\n#" + strings.Repeat("x", 33<<20), "too large"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := loadConfig(t, tt.yaml, "dev", nil)
			if got := strings.Join(lines(t, err), "\n"); !strings.Contains(got, tt.want) {
				t.Errorf("got %.300q, want %q", got, tt.want)
			}
		})
	}
}

// A name is found in a file that is wrong in every other way, as long as it is YAML.
func TestName(t *testing.T) {
	for text, want := range map[string]string{
		"stack: shop\nresources: 3\nnonsense: {a: 1, a: 2}\n": "shop", "resources: {}": "", "stack: [": "", "stack: 7": "7",
	} {
		got, err := yamlstack.Name([]byte(text))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
}

// TestOneMistakeIsToldOnce: a reference to nothing leaves no value, and what is wrong with no value is not said too.
func TestOneMistakeIsToldOnce(t *testing.T) {
	text := "stack: s\nresources:\n  a: {kind: test.Queue}\n  b:\n    kind: test.Queue\n    props: {rules: ['${a.urn}', {weight: 1}]}\n"
	_, err := loadConfig(t, text, "dev", nil)
	if got := lines(t, err); len(got) != 2 || !strings.Contains(got[0], `no attribute "urn"`) || !strings.Contains(got[1], "rules[1].path") {
		t.Errorf("%q", got)
	}
}
