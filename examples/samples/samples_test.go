package samples_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/examples/internal/programtest"
	"github.com/athanor-dev/athanor/examples/samples"
)

// machine is the cloud of samples that are loaded and not deployed.
type machine struct{}

func (machine) Env() map[string]string   { return nil }
func (machine) Names() map[string]string { return nil }

// sample is a fenced block of a page.
type sample struct {
	page, language, text string
	title                string // the file that it is
	line                 int    // of its first line, from 1
}

func (s sample) String() string { return fmt.Sprintf("%s:%d", s.page, s.line) }

var fence = regexp.MustCompile("^```([^ ]*)( title=\"([^\"]*)\")?(.*)$")

// pages are the pages of the documentation with their samples. Tutorials and instructions are typed by examples/pages.
func pages(t *testing.T) map[string][]sample {
	t.Helper()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]sample{}
	for _, file := range files {
		page := "docs/" + filepath.Base(file)
		if strings.HasPrefix(page, "docs/tutorial") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[page] = samplesOf(page, string(text))
	}
	return all
}

// samplesOf reads the fenced blocks of a page.
func samplesOf(page, text string) []sample {
	var all []sample
	var open *sample
	for i, line := range strings.Split(text, "\n") {
		info := fence.FindStringSubmatch(line)
		switch {
		case info != nil && open != nil:
			all, open = append(all, *open), nil
		case info != nil:
			open = &sample{page: page, language: info[1] + info[4], title: info[3], line: i + 2}
		case open != nil:
			open.text += line + "\n"
		}
	}
	return all
}

// of are the samples of a language, by page and line.
func of(all map[string][]sample, language string) []sample {
	var found []sample
	for _, page := range slices.Sorted(maps.Keys(all)) {
		for _, s := range all[page] {
			if s.language == language {
				found = append(found, s)
			}
		}
	}
	return found
}

// TestLanguages holds each block to a language that a test here reads, unless it says that it is not run. A block
// without a language is what a command prints; the one in SQL is what an administrator types.
func TestLanguages(t *testing.T) {
	for _, blocks := range pages(t) {
		for _, b := range blocks {
			switch b.language {
			case "", "yaml", "go", "sh", "json", "sql":
			default:
				t.Errorf("%s: nothing reads a sample in %q", b, b.language)
			}
		}
	}
}

// beside is what a page's samples name and do not declare, by address.
var beside = map[string]map[string]string{
	"docs/aws.md": {
		"assets":      `{kind: aws.s3.Bucket}`,
		"caller":      `{kind: aws.iam.Role, props: {trustPolicy: {}}}`,
		"certificate": `{kind: "AWS::CertificateManager::Certificate", props: {DomainName: api.example.com}}`,
		"charge":      `{kind: aws.lambda.Function, props: {code: {go: ./charge}, role: "arn:aws:iam::123456789012:role/charge"}}`,
		"done":        `{kind: aws.sqs.Queue}`,
		"events":      `{kind: aws.sns.Topic}`,
		"failed":      `{kind: aws.sqs.Queue}`,
		"logs":        `{kind: aws.logs.LogGroup}`,
		"net/vpc":     `{kind: "AWS::EC2::VPC", props: {CidrBlock: 10.0.0.0/16}}`,
		"orders":      `{kind: aws.sqs.Queue}`,
		"role":        `{kind: aws.iam.Role, props: {trustPolicy: {}}}`,
		"runner":      `{kind: aws.iam.Role, props: {trustPolicy: {}}}`,
		"web":         `{kind: aws.lambda.Function, props: {code: {go: ./web}, role: "arn:aws:iam::123456789012:role/web"}}`,
		"worker":      `{kind: aws.lambda.Function, props: {code: {go: ./worker}, role: "arn:aws:iam::123456789012:role/worker"}}`,
		"zone":        `{kind: aws.route53.HostedZone, props: {name: shop.example}}`,
	},
	"docs/authoring.md": {
		"role":   `{kind: aws.iam.Role, props: {trustPolicy: {}}}`,
		"orders": `{kind: aws.sqs.Queue}`,
	},
	"docs/cloudflare.md": {"guests": `{kind: cloudflare.KVNamespace}`},
	"docs/processes.md": {
		"admin":    `{kind: random.Password}`,
		"greeting": `{kind: local.Value, props: {input: hello}}`,
	},
}

// providers are the settings of a page's samples that declare none.
var providers = map[string]string{
	"docs/terraform-providers.md": "providers: {db: {terraform: cyrilgdn/postgresql, version: ~> 1.26}}\n",
}

var (
	named  = regexp.MustCompile(`\$\{([\w/-]+)\.`)
	secret = regexp.MustCompile(`\$\{secret\.(\w+)\}`)
)

// stack makes a whole file of a sample: one without a stack gets one, what stands in it without a section is resources, and what it
// names and does not declare is added.
func stack(s sample) (string, error) {
	var top map[string]yaml.Node
	if err := yaml.Unmarshal([]byte(s.text), &top); err != nil {
		return "", err
	}
	text := s.text
	if _, sections := top["resources"]; !sections && !slices.ContainsFunc([]string{"stack", "providers", "read"}, func(name string) bool {
		_, ok := top[name]
		return ok
	}) {
		text = "resources:\n  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
	}
	if _, ok := top["providers"]; !ok {
		text = providers[s.page] + text
	}
	if _, ok := top["stack"]; !ok {
		text = "stack: sample\n" + text
	}
	var have struct {
		Resources map[string]struct {
			Grants, Consume map[string]yaml.Node
		}
		Read    map[string]yaml.Node
		Secrets map[string]yaml.Node
		Bind    map[string]yaml.Node
	}
	if err := yaml.Unmarshal([]byte(text), &have); err != nil {
		return "", err
	}
	var missing []string
	for address, declaration := range beside[s.page] {
		_, declared := have.Resources[address]
		_, read := have.Read[address]
		_, used := have.Bind[address]
		for _, r := range have.Resources {
			_, granted := r.Grants[address]
			_, consumed := r.Consume[address]
			used = used || granted || consumed
		}
		used = used || slices.ContainsFunc(named.FindAllStringSubmatch(text, -1), func(m []string) bool { return m[1] == address })
		if used && !declared && !read {
			missing = append(missing, "  "+address+": "+declaration+"\n")
		}
	}
	if slices.Sort(missing); len(missing) > 0 {
		if !strings.Contains("\n"+text, "\nresources:\n") {
			text += "resources:\n"
		}
		text = strings.Replace("\n"+text, "\nresources:\n", "\nresources:\n"+strings.Join(missing, ""), 1)[1:]
	}
	secrets := map[string]bool{}
	for _, m := range secret.FindAllStringSubmatch(text, -1) {
		secrets[m[1]] = true
	}
	if len(have.Secrets) == 0 && len(secrets) > 0 {
		text += "secrets:\n"
		for _, name := range slices.Sorted(maps.Keys(secrets)) {
			text += "  " + name + ": {sealed: true}\n"
		}
	}
	return text, nil
}

// TestYAML loads every sample in YAML with the kinds of the command: an unknown key, a prop that the kind does not have, a required one
// that is missing, a reference to nothing and a text that is no value of its prop are errors.
func TestYAML(t *testing.T) {
	p := programtest.Build(t, machine{}, "../../cmd/athanor")
	all := of(pages(t), "yaml")
	if len(all) < 40 {
		t.Fatalf("%d samples", len(all))
	}
	program := p.Command()
	for _, s := range all {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			built(t, dir)
			file := filepath.Join(dir, "athanor.yaml")
			loadText := func(text string, env ...string) {
				t.Helper()
				write(t, file, text)
				load(t, program, file, env...)
			}
			switch s.title {
			case "":
				text, err := stack(s)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(text, "terraform: cyrilgdn/postgresql") {
					loadText(text, "ATHANOR_PROVIDER_MIRROR="+mirror(t, "cyrilgdn/postgresql", "1.26.0"), "XDG_CACHE_HOME="+t.TempDir())
					return
				}
				loadText(text)
			case "~/.config/athanor/config.yaml":
				home := t.TempDir()
				write(t, filepath.Join(home, "athanor", "config.yaml"), s.text)
				loadText("stack: sample\nresources: {id: {kind: random.ID}}\n", "XDG_CONFIG_HOME="+home)
			case "serve.yaml": // TestServeConfigOfThePage reads it, beside the command
			case ".gitlab-ci.yml":
				var pipeline struct{ Include struct{ Local string } }
				if err := yaml.Unmarshal([]byte(s.text), &pipeline); err != nil {
					t.Fatal(err)
				}
				if _, err := os.Stat(filepath.Join("../../ci/gitlab", pipeline.Include.Local)); pipeline.Include.Local == "" || err != nil {
					t.Errorf("it includes nothing that is there: %v", err)
				}
			default:
				t.Errorf("nothing reads a file %s", s.title)
			}
		})
	}
}

// TestGo holds each sample in Go to the body of its function, which compiles, and evaluates that twice, as the command does. What it
// declares is read by the command as a graph: a prop that the kind refuses is an error.
func TestGo(t *testing.T) {
	p := programtest.Build(t, machine{}, "../../cmd/athanor")
	program, all, have := p.Command(), of(pages(t), "go"), samples.All()
	if len(all) != len(have) || len(all) < 20 {
		t.Fatalf("%d samples on the pages, and %d functions", len(all), len(have))
	}
	code := map[string]string{}
	for i, s := range all {
		t.Run(s.String(), func(t *testing.T) {
			if want := "docs/" + have[i].Page; s.page != want {
				t.Fatalf("its function is one of %s", want)
			}
			name := strings.ReplaceAll(strings.TrimSuffix(have[i].Page, ".md"), "-", "_") + ".go"
			if code[name] == "" {
				text, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				code[name] = spaced(string(text))
			}
			_, rest, found := strings.Cut(code[name], spaced(s.text))
			if !found {
				t.Fatalf("%s does not have it, in the order of the page:\n%s", name, s.text)
			}
			code[name] = rest
			in := athanor.Input{Stack: "sample", Stage: "prod", Dir: t.TempDir()}
			built(t, in.Dir)
			first, err := athanor.Evaluate(have[i].Declare, in)
			if err != nil {
				t.Fatal(err)
			}
			in.Spelling = athanor.Shifted
			second, err := athanor.Evaluate(have[i].Declare, in)
			if err != nil {
				t.Fatal(err)
			}
			if err := athanor.Check(first, second); err != nil {
				t.Fatal(err)
			}
			if len(first.Funcs.Then) > 0 {
				return // such a graph needs its program, as the page says
			}
			graph, err := json.Marshal(first)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(in.Dir, "graph.json")
			write(t, file, string(graph))
			load(t, program, file)
		})
	}
}

// built writes what a build has written before a stack is read: a website lists its files then.
func built(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, "dist"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "dist", "index.html"), "<h1>hello</h1>")
}

// spaced is a text as it is compared: without indentation, and with one space where gofmt aligns.
func spaced(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
	}
	return out.String()
}

// TestJSON reads each sample in JSON, of one value or several.
func TestJSON(t *testing.T) {
	all := of(pages(t), "json")
	if len(all) < 10 {
		t.Fatalf("%d samples", len(all))
	}
	for _, s := range all {
		for values := json.NewDecoder(strings.NewReader(s.text)); ; {
			var value any
			if err := values.Decode(&value); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s: %v", s, err)
				break
			}
		}
	}
}

var (
	// entry is a command in the golden file of all helps; flag is a flag, there and in a sample.
	entry = regexp.MustCompile(`(?m)^\$ athanor ?(.*) ?--help\n`)
	flag  = regexp.MustCompile(`(?:^|[\s\[(,|])(--?[a-z][a-z-]*)`)
	// typed is a command of a sample, up to what a shell makes of it.
	typed = regexp.MustCompile(`(?:^|[|(&] ?|-- )athanor ([^|<>)#&]*)`)
	// quoted is a command in the text of a page.
	quoted = regexp.MustCompile("`athanor ([^`<>|]*)`")
)

// TestCommands holds the commands in all pages, typed in blocks or named in the text, to the helps of the command: there is such a command,
// and it has each of the flags.
func TestCommands(t *testing.T) {
	helps, err := os.ReadFile("../../cmd/athanor/testdata/surface/help.txt")
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string]map[string]bool{}
	starts := entry.FindAllStringSubmatchIndex(string(helps), -1)
	for i, at := range starts {
		end := len(helps)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		of := map[string]bool{}
		for _, m := range flag.FindAllStringSubmatch(string(helps[at[1]:end]), -1) {
			of[m[1]] = true
		}
		flags[strings.TrimSpace(string(helps[at[2]:at[3]]))] = of
	}
	count := 0
	check := func(where, line string) {
		words := strings.Fields(line)
		name := ""
		for n := min(2, len(words)); n > 0 && name == ""; n-- {
			if long := strings.Join(words[:n], " "); flags[long] != nil {
				name = long
			}
		}
		if name == "" && len(words) > 0 && !strings.HasPrefix(words[0], "-") && words[0] != "COMMAND" && words[0] != "help" {
			t.Errorf("%s: there is no command athanor %s", where, line)
			return
		}
		count++
		line, _, _ = strings.Cut(line, " -- ") // another command
		for _, m := range flag.FindAllStringSubmatch(line, -1) {
			if !flags[name][m[1]] {
				t.Errorf("%s: athanor %s has no flag %s", where, name, m[1])
			}
		}
	}
	for page, blocks := range pages(t) {
		for _, b := range blocks {
			if b.language != "sh" {
				continue
			}
			for line := range strings.Lines(b.text) {
				for _, m := range typed.FindAllStringSubmatch(strings.TrimSpace(line), -1) {
					check(b.String(), m[1])
				}
			}
		}
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, m := range quoted.FindAllStringSubmatch(line, -1) {
				check(fmt.Sprintf("%s:%d", page, i+1), m[1])
			}
		}
	}
	if count < 200 {
		t.Errorf("%d commands: the pages have changed their form", count)
	}
}

// load lets the command read a stack, with all that it asks for allowed.
func load(t *testing.T, program *exec.Cmd, file string, env ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program.Path, "allow", "--stage", "prod", file, "--once", "--yes", "--", program.Path, "graph", "--stage", "prod", file)
	cmd.Env = append(slices.Clone(program.Env), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		text, _ := os.ReadFile(file) // it was written above
		t.Errorf("%v\n%s\nof\n%s", err, out, text)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// mirror is a folder of Terraform providers with a real one.
func mirror(t *testing.T, source, version string) string {
	t.Helper()
	peers := os.Getenv("ATHANOR_PEERS")
	if peers == "" {
		t.Skip("$ATHANOR_PEERS names no folder with the programs of Terraform providers")
	}
	dir := t.TempDir()
	folder := filepath.Join(dir, "registry.opentofu.org", filepath.FromSlash(source), version, runtime.GOOS+"_"+runtime.GOARCH)
	name := "terraform-provider-" + filepath.Base(source)
	data, err := os.ReadFile(filepath.Join(peers, name))
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name), data, 0o700) //nolint:gosec // it is a program
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
