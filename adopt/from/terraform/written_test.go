package terraform

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/athanor-dev/athanor/adopt/from"
	"github.com/athanor-dev/athanor/adopt/from/terraform/configuration"
)

// filesIn are the files of a configuration, by path.
func filesIn(files map[string]string) configuration.Files {
	return func(dir, suffix string) (map[string][]byte, error) {
		found := map[string][]byte{}
		for name, text := range files {
			if path.Dir(name) == path.Clean(dir) && strings.HasSuffix(name, suffix) {
				found[path.Base(name)] = []byte(text)
			}
		}
		return found, nil
	}
}

// writtenStack is the stack of a state with a configuration, and its YAML.
func writtenStack(t testing.TB, state []byte, files map[string]string) (from.Stack, string) {
	t.Helper()
	f := from.File{Name: "shop.tfstate", Content: state, Sources: filesIn(files)}
	d, err := Source{Find: kindsOf(t)}.Draft(f, from.Options{Name: "shop", Stage: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	s := d.Stack(nil)
	text, err := s.YAML("")
	if err != nil {
		t.Fatal(err)
	}
	return s, string(text)
}

func queueAttrs(name string, more map[string]any) map[string]any {
	all := map[string]any{
		"id": "https://sqs.eu-north-1.amazonaws.com/123456789012/" + name, "url": "https://sqs.eu-north-1.amazonaws.com/123456789012/" + name,
		"arn": "arn:aws:sqs:eu-north-1:123456789012:" + name, "name": name, "region": "eu-north-1", "message_retention_seconds": 345600,
	}
	maps.Copy(all, more)
	return all
}

// in puts a resource into a module.
func in(module string, r map[string]any) map[string]any { r["module"] = module; return r }

// instances are those of a resource with keys.
func instances(typ, name string, all map[any]map[string]any, order ...any) map[string]any {
	var list []any
	for _, key := range order {
		list = append(list, map[string]any{"index_key": key, "attributes": all[key]})
	}
	return map[string]any{"mode": "managed", "type": typ, "name": name, "provider": `provider["registry.terraform.io/hashicorp/aws"]`, "instances": list}
}

func wantAll(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}

// TestVariablesAndComments reads a configuration next to a state: variables become config with their defaults, what a stage has
// otherwise stands there, and comments stay above what they stood above.
func TestVariablesAndComments(t *testing.T) {
	state := stateOf(t,
		res("aws_sqs_queue", "jobs", queueAttrs("prod-jobs", map[string]any{"visibility_timeout_seconds": 90, "tags": map[string]any{"env": "prod", "team": "core"}})),
		res("aws_sqs_queue", "mail", queueAttrs("mail-eu", map[string]any{"visibility_timeout_seconds": 120, "delay_seconds": 5})),
	)
	s, text := writtenStack(t, state, map[string]string{
		"main.tf": `# The work that waits.
# password: hunter2-hunter2
resource "aws_sqs_queue" "jobs" {
  name                       = "${var.env}-jobs"
  # Longer than the longest job.
  visibility_timeout_seconds = var.timeout
  tags                       = local.tags
}

# This comment belongs to nothing.

resource "aws_sqs_queue" "mail" { # letters
  name                       = format("mail-%s", "eu")
  visibility_timeout_seconds = 120
  delay_seconds              = var.wait
}
locals {
  tags = { env = var.env, team = "core" }
}`,
		"variables.tf": `variable "env" {
  description = "Where it runs: ${"a place"}"
  default     = "test"
}
variable "timeout" { default = 30 }
variable "wait" {
  type    = number
}
variable "unused" { default = "x" }`,
		"terraform.tfvars":  `env = "prod"`,
		"other.tfvars":      `env = "other"`,
		"zz.auto.tfvars":    `timeout = 60`, // what is deployed is 90
		"elsewhere/main.tf": `resource "aws_sqs_queue" "far" {}`,
	})
	wantAll(t, text,
		"env:\n    default: test\n    description: 'Where it runs: a place'\n    stages:\n      prod: prod\n", "timeout:\n    default: 90s\n", "wait:\n    default: 5s\n",
		"  # The work that waits.\n  jobs:\n", "      # Longer than the longest job.\n      visibilityTimeout: ${config.timeout}\n", "name: ${config.env}-jobs\n",
		"env: ${config.env}\n", "team: core\n", "  # letters\n  mail:\n", "name: mail-eu\n", "delay: ${config.wait}\n", "visibilityTimeout: 2m\n",
	)
	for _, not := range []string{"hunter2", "belongs to nothing", "unused", "other"} {
		if strings.Contains(text, not) {
			t.Errorf("there is %s in\n%s", not, text)
		}
	}
	if len(s.Program) != 1 || s.Program[0] != "the configuration next to it was read: 4 files, with 2 of the 2 resources" {
		t.Errorf("%q", s.Program)
	}
}

// TestConfigurationInJSON reads a configuration in JSON, as CDK for Terraform writes it, beside one in HCL.
func TestConfigurationInJSON(t *testing.T) {
	const deadARN = "arn:aws:sqs:eu-north-1:123456789012:dead"
	state := stateOf(t,
		res("aws_sqs_queue", "jobs", queueAttrs("prod-jobs", map[string]any{"visibility_timeout_seconds": 90, "redrive_policy": `{"deadLetterTargetArn":"` + deadARN + `","maxReceiveCount":3}`, "tags": map[string]any{"env": "prod"}}), "aws_sqs_queue.dead"),
		res("aws_sqs_queue", "dead", queueAttrs("dead", nil)),
		in("module.net", res("aws_sqs_queue", "far", queueAttrs("prod-far", nil))),
	)
	s, text := writtenStack(t, state, map[string]string{
		"cdk.tf.json": `{"//": {"metadata": {"version": "0.20"}}, "terraform": {"backend": {"local": {}}},
			"variable": {"env": {"description": "Where it runs.", "default": "test"}, "timeout": [{"default": 30}]}, "locals": {"tags": {"env": "${var.env}"}},
			"resource": [{"aws_sqs_queue": {"jobs": {"//": "The work that waits.", "name": "${var.env}-jobs", "visibility_timeout_seconds": "${var.timeout}", "tags": "${local.tags}",
				"redrive_policy": "${jsonencode({deadLetterTargetArn = aws_sqs_queue.dead.arn, maxReceiveCount = 3})}"}}}],
			"module": {"net": {"source": "./net", "env": "${var.env}"}}}`,
		"dead.tf":               "resource \"aws_sqs_queue\" \"dead\" {\n  name = \"dead\"\n}",
		"net/main.tf.json":      `{"variable": {"env": {}}, "resource": {"aws_sqs_queue": {"far": {"name": "${var.env}-far"}}}}`,
		"terraform.tfvars.json": `{"env": "prod"}`,
		"zz.auto.tfvars.json":   `{"timeout": 60}`,
	})
	wantAll(t, text,
		"env:\n    default: test\n    description: Where it runs.\n    stages:\n      prod: prod\n", "name: ${config.env}-jobs", "visibilityTimeout: ${config.timeout}", "env: ${config.env}",
		"deadLetter: ${dead.arn}", "name: ${config.env}-far", "  # The work that waits.\n  jobs:",
	)
	if len(s.Program) != 1 || s.Program[0] != "the configuration next to it was read: 5 files, with 3 of the 3 resources" {
		t.Errorf("%q", s.Program)
	}
}

// TestWrittenReferences takes references from the program: through locals, variables and outputs of modules, and in documents. Equal
// text that the program writes out is no reference.
func TestWrittenReferences(t *testing.T) {
	const bucketARN = "arn:aws:s3:::in-bucket"
	document := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":["%s/*","%s"]}]}`, bucketARN, bucketARN)
	state := stateOf(t,
		res("aws_s3_bucket", "in", map[string]any{"id": "in-bucket", "bucket": "in-bucket", "arn": bucketARN, "region": "eu-north-1"}),
		res("aws_sqs_queue", "dead", queueAttrs("dead", nil)),
		res("aws_sqs_queue", "copy", queueAttrs("copy", map[string]any{"tags": map[string]any{"of": "arn:aws:sqs:eu-north-1:123456789012:dead", "ref": "arn:aws:sqs:eu-north-1:123456789012:dead", "bucket": "in-bucket"}}), "aws_sqs_queue.dead", "aws_s3_bucket.in"),
		res("aws_iam_policy", "read", map[string]any{"id": "arn:aws:iam::123456789012:policy/read", "arn": "arn:aws:iam::123456789012:policy/read", "name": "read", "path": "/", "policy": document}, "aws_s3_bucket.in"),
		in("module.net", res("aws_vpc", "main", vpcAttrs(1))),
		in("module.app", instances("aws_subnet", "a", map[any]map[string]any{"x": subnetAttrs(1, 1), "y": subnetAttrs(2, 1)}, "x", "y")),
		res("aws_security_group", "web", map[string]any{"id": "sg-00000001", "arn": "arn:aws:ec2:eu-north-1:123456789012:security-group/sg-00000001", "name": "web", "description": "from subnet-00000001 in vpc-00000001", "vpc_id": "vpc-00000001"}, "module.net.aws_vpc.main", "module.app.aws_subnet.a"),
	)
	_, text := writtenStack(t, state, map[string]string{
		"main.tf": `
resource "aws_s3_bucket" "in" { bucket = "in-bucket" }
resource "aws_sqs_queue" "dead" { name = "dead" }
resource "aws_sqs_queue" "copy" {
  name = "copy"
  tags = merge({ of = "arn:aws:sqs:eu-north-1:123456789012:dead" }, { bucket = local.names["bucket"] })
}
locals { names = { bucket = aws_s3_bucket.in.id } }
data "aws_iam_policy_document" "read" {
  statement {
    actions   = ["s3:GetObject"]
    resources = ["${aws_s3_bucket.in.arn}/*", aws_s3_bucket.in.arn]
  }
}
resource "aws_iam_policy" "read" {
  name   = "read"
  policy = data.aws_iam_policy_document.read.json
}
module "net" { source = "../shared/net" }
module "app" {
  source = "./app"
  vpc    = module.net.vpc.id
}
resource "aws_security_group" "web" {
  name        = "web"
  vpc_id      = module.net.vpc_id
  description = "from ${module.app.first} in ${module.net.vpc_id}"
}`,
		"../shared/net/main.tf": "resource \"aws_vpc\" \"main\" {}\noutput \"vpc\" { value = aws_vpc.main }\noutput \"vpc_id\" { value = aws_vpc.main.id }",
		"app/main.tf": `
variable "vpc" {}
# One in each zone.
resource "aws_subnet" "a" {
  for_each   = toset(["x", "y"])
  vpc_id     = var.vpc
  cidr_block = "10.0.1.0/24"
}
output "first" { value = aws_subnet.a["x"].id }`,
	})
	wantAll(t, text,
		"of: arn:aws:sqs:eu-north-1:123456789012:dead\n", "bucket: ${in.name}\n", "- ${in.arn}/*\n", "- ${in.arn}\n", "VpcId: ${net/main.VpcId}\n",
		"GroupDescription: from ${app/a[x].SubnetId} in ${net/main.VpcId}\n", "  # One in each zone.\n  app/a:\n",
	)
}

// TestKeysOfInstances writes the key of an instance where the program writes it, and as text where the instances stay apart.
func TestKeysOfInstances(t *testing.T) {
	a, b := queueAttrs("q-a-jobs", nil), queueAttrs("q-b-jobs", nil)
	state := stateOf(t, instances("aws_sqs_queue", "q", map[any]map[string]any{"a": a, "b": b}, "a", "b"))
	files := map[string]string{"main.tf": "resource \"aws_sqs_queue\" \"q\" {\n  for_each = toset([\"a\", \"b\"])\n  name = \"q-${each.key}-jobs\"\n}"}
	_, text := writtenStack(t, state, files)
	wantAll(t, text, "name: q-${each.key}-jobs\n")
	a["visibility_timeout_seconds"], b["fifo_queue"] = 90, false
	a["tags"] = map[string]any{"only": "here"}
	_, text = writtenStack(t, stateOf(t, instances("aws_sqs_queue", "q", map[any]map[string]any{"a": a, "b": b}, "a", "b")), files)
	wantAll(t, text, "q[a]:", "name: q-a-jobs\n", "name: q-b-jobs\n")
}

// TestSensitiveVariables seals the value of a variable that the program calls sensitive, and keeps others that look like a secret out
// of the configs.
func TestSensitiveVariables(t *testing.T) {
	const quiet, key = "an unremarkable word", "sk_live_abcdefghij0123456789"
	state := stateOf(t, res("aws_sqs_queue", "jobs", queueAttrs("jobs", map[string]any{"tags": map[string]any{"quiet": quiet, "other": key, "joined": "x-" + quiet}})))
	s, text := writtenStack(t, state, map[string]string{"main.tf": `
variable "quiet" {
  sensitive = true
  default   = "an unremarkable word"
}
variable "other" { default = "sk_live_abcdefghij0123456789" }
resource "aws_sqs_queue" "jobs" {
  tags = { quiet = var.quiet, other = var.other, joined = "x-${var.quiet}" }
}`})
	if strings.Contains(text, quiet) || strings.Contains(text, key) || len(s.Secrets) != 2 || len(s.Config) != 0 {
		t.Errorf("%d secrets, %v\n%s", len(s.Secrets), s.Config, text)
	}
}

// TestRealConfiguration reads the configuration that the real tofu made testdata/tofu/modules.tfstate by.
func TestRealConfiguration(t *testing.T) {
	files := map[string]string{}
	err := filepath.WalkDir("testdata/tofu/modules", func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		rel, _ := filepath.Rel("testdata/tofu/modules", name)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s, text := writtenStack(t, made(t, "modules.tfstate"), files)
	wantAll(t, text, "greeting:\n    default: hello\n", "${config.greeting} ${config.", "m-1/deep/deep:")
	if len(s.Program) != 1 || !strings.HasPrefix(s.Program[0], "the configuration next to it was read: 3 files, with 16 of the 16 ") {
		t.Errorf("%q\n%s", s.Program, text)
	}
}

// TestHostileConfigurations reads configurations that nobody would write: each is left out with its reason or understood in part, and
// the state is adopted all the same.
func TestHostileConfigurations(t *testing.T) {
	state := stateOf(t, res("aws_sqs_queue", "jobs", queueAttrs("jobs", nil)))
	for name, c := range map[string]struct {
		files map[string]string
		says  string
	}{
		"brackets":     {map[string]string{"a.tf": "x = " + strings.Repeat("[", 90_000)}, "nests deeper than 100"},
		"strings":      {map[string]string{"a.tf": "x = " + strings.Repeat(`"${`, 30_000)}, "nests deeper than 100"},
		"operators":    {map[string]string{"a.tf": "x = " + strings.Repeat("!", 90_000) + "a"}, "operators that nest"},
		"conditions":   {map[string]string{"a.tf": "x = " + strings.Repeat("a?", 40_000)}, "operators that nest"},
		"large":        {map[string]string{"a.tf": strings.Repeat("# x\n", 300_000)}, "too large"},
		"no HCL":       {map[string]string{"a.tf": "resource {{{"}, "line 1"},
		"itself":       {map[string]string{"a.tf": "module \"a\" {\n source = \"./\" \n}\nlocals {\n x = local.y\n y = local.x\n}\nresource \"aws_sqs_queue\" \"jobs\" {\n name = local.x\n tags = local.x.y[local.y]\n}"}, "1 of the 1"},
		"far away":     {map[string]string{"a.tf": "module \"a\" {\n source = \"/etc\" \n}\nmodule \"b\" {\n source = \"git::https://x\"\n}"}, "module a: its files are not here"},
		"number":       {map[string]string{"a.tf": "variable \"n\" {\n default = 1e999999999\n}\nresource \"aws_sqs_queue\" \"jobs\" {\n name = \"${var.n}-${1e999999999}\" \n}"}, "1 of the 1"},
		"functions":    {map[string]string{"a.tf": "resource \"aws_sqs_queue\" \"jobs\" {\n name = file(\"/etc/passwd\")\n tags = templatefile(\"/etc/passwd\", {})\n}"}, "1 of the 1"},
		"JSON":         {map[string]string{"a.tf.json": "{"}, "it is no JSON"},
		"deep JSON":    {map[string]string{"a.tf.json": `{"locals": {"x": ` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}}"}, "nests deeper than 100"},
		"templates":    {map[string]string{"a.tf.json": `{"locals": {"x": "` + strings.Repeat(`${(`, 30_000) + `"}}`}, "nests deeper than 100"},
		"wrong JSON":   {map[string]string{"a.tf.json": `{"resource": {"aws_sqs_queue": {"jobs": [[{}]], "x": 1, "//": {}}}, "variable": [1, null], "locals": {"n": 1e999999999, "f": "${file("}}`, "b.tf": "resource \"aws_sqs_queue\" \"jobs\" {}"}, "1 of the 1"},
		"many modules": {map[string]string{"a.tf": manyModules(600)}, "more than 500 modules"},
		"comment":      {map[string]string{"a.tf": "# a\u202e\x1b[31m\u2028kind: evil: ${x}\r x: y\n# }}\nresource \"aws_sqs_queue\" \"jobs\" {\n}"}, "1 of the 1"},
	} {
		t.Run(name, func(t *testing.T) {
			s, text := writtenStack(t, state, c.files)
			if said := strings.Join(s.Program, "\n"); c.says != "1 of the 1" && name != "no HCL" && len(s.Program) == 0 || !strings.Contains(said, c.says) {
				t.Errorf("%.500q", s.Program)
			}
			for line := range strings.Lines(text) {
				if strings.Contains(line, "evil") && !strings.HasPrefix(strings.TrimSpace(line), "# ") || strings.ContainsAny(line, "\x1b\u202e\u2028\r") || strings.Contains(line, "root:") {
					t.Errorf("%q", line)
				}
			}
			if len(s.Resources) != 1 || s.Resources[0].Props["name"] != "jobs" {
				t.Error(text)
			}
		})
	}
}

func manyModules(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "module \"m%d\" {\n source = \"./m%d\"\n}\n", i, i)
	}
	return b.String()
}
