package bench_test

import (
	"bufio"
	"debug/elf"
	"debug/gosym"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestClientsAreLinkedByTheCall proves that the operations of AWS clients that nothing calls are not in the binary: a
// client that becomes an interface is linked with all of them. S3's does, in the SDK itself and as a part of its store.
func TestClientsAreLinkedByTheCall(t *testing.T) {
	functions := functionsOf(t, built(t))
	for client, unused := range map[string]string{
		"sqs": "PurgeQueue", "sns": "Publish", "dynamodb": "PutItem", "iam": "CreateUser", "lambda": "CreateCodeSigningConfig",
		"route53": "CreateHealthCheck", "eventbridge": "CreateArchive", "apigatewayv2": "CreateVpcLink", "resourcegroupstaggingapi": "UntagResources",
		"cloudwatchlogs": "CreateDelivery", "secretsmanager": "BatchGetSecretValue",
	} {
		of := "github.com/aws/aws-sdk-go-v2/service/" + client + ".(*Client)."
		if !slices.ContainsFunc(functions, func(name string) bool { return strings.HasPrefix(name, of) }) {
			t.Errorf("no operation of %s is linked", client)
		}
		if slices.Contains(functions, of+unused) {
			t.Errorf("%s is linked with %s, which nothing calls", client, unused)
		}
	}
}

// functionsOf lists the functions of a binary, which are in it without tables for debuggers too.
func functionsOf(t *testing.T, path string) (names []string) {
	t.Helper()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, err := file.Section(".gopclntab").Data()
	if err != nil {
		t.Fatal(err)
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(lines, file.Section(".text").Addr))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range table.Funcs {
		names = append(names, f.Name)
	}
	return names
}

// linkedGroups are the packages of the binary, by what they are linked for. The first prefix counts.
func linkedGroups() []struct{ name, prefix string } {
	return []struct{ name, prefix string }{
		{"athanor", "github.com/athanor-dev/athanor"},
		{"schemas-of-AWS", "github.com/aws/aws-sdk-go-v2/service/*/schemas"},
		{"clients-of-AWS", "github.com/aws/"},
		{"client-of-Cloudflare", "github.com/cloudflare/"},
		{"esbuild", "github.com/evanw/esbuild"},
		{"PostgreSQL", "github.com/jackc/"},
		{"bbolt", "go.etcd.io/"},
		{"Terraform-providers", "google.golang.org/protobuf"},
		{"Terraform-providers", "github.com/zclconf/"},
		{"Terraform-providers", "github.com/vmihailenco/"},
		{"Terraform-providers", "encoding/gob"},
		{"agents", "github.com/modelcontextprotocol/"},
		{"agents", "github.com/google/jsonschema-go"},
		{"agents", "github.com/segmentio/"},
		{"YAML-TOML-JSON", "go.yaml.in/"},
		{"YAML-TOML-JSON", "github.com/BurntSushi/"},
		{"YAML-TOML-JSON", "github.com/tidwall/"},
		{"YAML-TOML-JSON", "encoding/"},
		{"pages", "html"},
		{"sorting-and-maps", "slices"},
		{"sorting-and-maps", "maps"},
		{"flags-and-help", "github.com/urfave/"},
		{"flags-and-help", "github.com/russross/"},
		{"flags-and-help", "github.com/cpuguy83/"},
		{"flags-and-help", "text/template"},
		{"network-and-encryption", "net"},
		{"network-and-encryption", "crypto"},
		{"network-and-encryption", "vendor/golang.org/x"},
		{"network-and-encryption", "golang.org/x/crypto"},
		{"runtime", "runtime"},
		{"runtime", "internal/"},
	}
}

// groupOf is the group of a package, "others" for none. A star in a prefix is one name.
func groupOf(pkg string) string {
	for _, g := range linkedGroups() {
		prefix := g.prefix
		if before, after, ok := strings.Cut(prefix, "*"); ok {
			rest, within := strings.CutPrefix(pkg, before)
			_, below, _ := strings.Cut(rest, "/")
			if within && "/"+below == after {
				return g.name
			}
			continue
		}
		rest, within := strings.CutPrefix(pkg, prefix)
		if within && (rest == "" || strings.HasSuffix(prefix, "/") || strings.ContainsRune("/.", rune(rest[0]))) {
			return g.name
		}
	}
	return "others"
}

// packageOf is the package of a symbol: the path before the first dot after its last slash, type arguments aside.
func packageOf(symbol string) string {
	for _, prefix := range []string{"type:.eq.", "type:.hash.", "go:itab."} {
		symbol = strings.TrimPrefix(symbol, prefix)
	}
	symbol = strings.TrimLeft(strings.TrimPrefix(symbol, "type:"), "*")
	if i := strings.IndexAny(symbol, "[({,"); i > 0 {
		symbol = symbol[:i]
	}
	slash := strings.LastIndexByte(symbol, '/') + 1
	name, _, ok := strings.Cut(symbol[slash:], ".")
	if !ok {
		return ""
	}
	return symbol[:slash] + strings.ReplaceAll(name, "%2e", ".")
}

func TestPackageOf(t *testing.T) {
	for symbol, want := range map[string][2]string{
		"github.com/aws/aws-sdk-go-v2/service/ssm/schemas.init.0":                {"github.com/aws/aws-sdk-go-v2/service/ssm/schemas", "schemas-of-AWS"},
		"github.com/aws/aws-sdk-go-v2/service/ssm.(*Client).GetParameter":        {"github.com/aws/aws-sdk-go-v2/service/ssm", "clients-of-AWS"},
		"github.com/athanor-dev/athanor/reconcile/kind.Set[net/http.Client,a.b]": {"github.com/athanor-dev/athanor/reconcile/kind", "athanor"},
		"net/http.(*Server).Serve":                                               {"net/http", "network-and-encryption"},
		"netip.x":                                                                {"netip", "others"},
		"type:*net/url.URL":                                                      {"net/url", "network-and-encryption"},
		"go:func.*":                                                              {"go:func", "others"},
	} {
		pkg := packageOf(symbol)
		if got := [2]string{pkg, groupOf(pkg)}; got != want {
			t.Errorf("%s: %q, want %q", symbol, got, want)
		}
	}
}

// BenchmarkLinked is what the binary is made of: for each group of packages the code and data with their name, and beside
// these what belongs to no package (tables of lines and of types).
func BenchmarkLinked(b *testing.B) {
	named := filepath.Join(b.TempDir(), "named")
	build := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags", "-w", "-o", named,
		"github.com/athanor-dev/athanor/cmd/athanor")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	table, err := exec.CommandContext(b.Context(), "go", "tool", "nm", "-size", named).Output()
	if err != nil {
		b.Fatal(err)
	}
	whole, err := os.Stat(built(b))
	if err != nil {
		b.Fatal(err)
	}
	sizes, of := map[string]float64{}, 0.0
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line) // address, size, kind, name
		if len(fields) < 4 || !strings.ContainsAny(fields[2], "TtRrDd") {
			continue // what is zero at the start is not in the file
		}
		size, err := strconv.ParseFloat(fields[1], 64)
		pkg := packageOf(strings.Join(fields[3:], " "))
		switch {
		case err != nil, pkg == "", strings.HasPrefix(pkg, "go:"), fields[3] == "runtime.findfunctab":
			continue // it belongs to no package
		case fields[3] == "crypto/internal/fips140/drbg.memory":
			continue // 32 MB of zeros, which are not in the file
		}
		sizes[groupOf(pkg)] += size / 1e6
		of += size / 1e6
	}
	all := float64(whole.Size()) / 1e6
	sizes["tables-of-lines-and-types"] = all - of
	sizes["all"] = all
	reportGroups(b, sizes, "MB")
}

// reportGroups makes a benchmark of each group.
func reportGroups(b *testing.B, sizes map[string]float64, unit string) {
	b.Helper()
	for group, size := range sizes {
		b.Run(group, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(0, "ns/op")
			}
			b.ReportMetric(size, unit)
		})
	}
}

// TestPackagesAllocateLittle holds what our own packages allocate before the first line of every command: what is compiled or
// parsed for one command alone is made when that command needs it.
func TestPackagesAllocateLittle(t *testing.T) {
	const most, each = 600_000, 100_000 // bytes
	sum, of := 0, allocatedAtStart(t, built(t))
	for pkg, size := range of {
		if groupOf(pkg) != "athanor" {
			continue
		}
		sum += size
		if size > each {
			t.Errorf("%s allocates %d bytes when a process starts, at most %d", pkg, size, each)
		}
	}
	if sum == 0 || sum > most {
		t.Errorf("our packages allocate %d bytes when a process starts, at most %d", sum, most)
	}
}

// allocatedAtStart are the bytes that each package of a binary allocates before its first line.
func allocatedAtStart(tb testing.TB, bin string) map[string]int {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), bin, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	line := regexp.MustCompile(`^init (\S+) .* (\d+) bytes, (\d+) allocs`)
	sizes := map[string]int{}
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		m := line.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		bytes, err := strconv.Atoi(m[2])
		if err != nil {
			tb.Fatal(err)
		}
		sizes[m[1]] = bytes
	}
	if len(sizes) == 0 {
		tb.Fatalf("no package is told of: %s", out)
	}
	return sizes
}

// BenchmarkInit is what the packages of the binary allocate before its first line.
func BenchmarkInit(b *testing.B) {
	sizes := map[string]float64{}
	for pkg, size := range allocatedAtStart(b, built(b)) {
		sizes[groupOf(pkg)] += float64(size) / 1000
		sizes["all"] += float64(size) / 1000
	}
	reportGroups(b, sizes, "init-KB")
}
