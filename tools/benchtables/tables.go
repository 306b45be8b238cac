package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// measured holds the metrics of benchmarks by the name of the benchmark, in the order in which they ran.
type measured struct {
	names   []string
	metrics map[string]map[string]float64 // by name and unit
	failed  []string                      // what go test says of benchmarks that failed
}

var errFailed = errors.New("a benchmark failed")

// read adds the output of one go test -bench.
func (m *measured) read(text string) error {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "--- FAIL"), strings.HasPrefix(line, "FAIL"):
			m.failed = append(m.failed, line)
		case strings.HasPrefix(line, "Benchmark"):
			if err := m.result(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// result adds one line: the name, the number of rounds, and pairs of a value and its unit.
func (m *measured) result(line string) error {
	fields := strings.Fields(line)
	if len(fields) < 4 || len(fields)%2 != 0 {
		return nil // the name alone, before something that the benchmark logged
	}
	name := strings.TrimPrefix(fields[0], "Benchmark")
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		if _, err := strconv.Atoi(name[i+1:]); err == nil {
			name = name[:i] // the number of processors
		}
	}
	metrics := map[string]float64{}
	for i := 2; i < len(fields); i += 2 {
		value, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		metrics[fields[i+1]] = value
	}
	if m.metrics == nil {
		m.metrics = map[string]map[string]float64{}
	}
	if m.metrics[name] == nil {
		m.names = append(m.names, name)
	}
	m.metrics[name] = metrics
	return nil
}

// tables are the tables by the name of their section. A section without numbers is missing.
func (m *measured) tables() map[string]string {
	tables := map[string]string{}
	for section, make := range map[string]func() []string{
		"stacks": m.stacks, "plans": m.plans, "start": m.starts, "order": m.orders, "wait": m.waits, "program": m.programs, "dev": m.devs,
		"linked": m.linked, "init": m.inits, "commits": m.commits, "stores": m.stores,
	} {
		if lines := make(); len(lines) > 0 {
			tables[section] = strings.Join(lines, "\n") + "\n"
		}
	}
	return tables
}

// under lists the benchmarks of a name, with the rest of their names.
func (m *measured) under(prefix string, each func(rest []string, metrics map[string]float64)) {
	for _, name := range m.names {
		if rest, ok := strings.CutPrefix(name, prefix+"/"); ok {
			each(strings.Split(rest, "/"), m.metrics[name])
		}
	}
}

func (m *measured) stacks() (lines []string) {
	last := ""
	m.under("Stack", func(rest []string, metrics map[string]float64) {
		if len(rest) != 3 {
			return
		}
		if lines == nil {
			lines = []string{
				"| stack | phase | wall | cpu | peak | allocated | commits | calls | state file | OpenTofu / ours: wall, cpu, allocated, file |",
				"|---|---|---|---|---|---|---|---|---|---|",
			}
		}
		stack := rest[0] + " " + thousands(rest[1])
		if stack == last {
			stack = ""
		} else {
			last = stack
		}
		lines = append(lines, fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |", stack, rest[2],
			duration(metrics["ms"]), duration(metrics["cpu-ms"]), unit(metrics, "MiB"), unit(metrics, "anon-MiB"), count(metrics, "commits"), count(metrics, "calls"),
			unit(metrics, "file-KB"), ratios(metrics, "tofu/ms", "tofu/cpu-ms", "tofu/anon-MiB", "tofu/file")))
	})
	return lines
}

func (m *measured) plans() (lines []string) {
	m.under("Plan", func(rest []string, metrics map[string]float64) {
		if len(rest) != 2 {
			return
		}
		if lines == nil {
			lines = []string{"| planning in process | cpu per plan | per resource | allocations |", "|---|---|---|---|"}
		}
		lines = append(lines, fmt.Sprintf("| %s, %s | %s | %s µs | %s, %s MB |", rest[0], thousands(rest[1]), duration(metrics["cpu-ms"]),
			significant(metrics["cpu-µs/resource"]), thousands(fmt.Sprintf("%.0f", metrics["allocs/op"])), significant(metrics["B/op"]/1e6)))
	})
	return lines
}

func (m *measured) starts() (lines []string) {
	m.under("Start", func(rest []string, metrics map[string]float64) {
		if lines == nil {
			lines = []string{"| start | wall | cpu | peak | allocated |", "|---|---|---|---|---|"}
		}
		lines = append(lines, fmt.Sprintf("| `%s` | %s | %s | %s | %s |", rest[0],
			duration(metrics["ms"]), duration(metrics["cpu-ms"]), unit(metrics, "MiB"), unit(metrics, "anon-MiB")))
	})
	if ms, ok := m.metrics["FirstLine"]["ms/first-line"]; ok && lines != nil {
		lines = append(lines, fmt.Sprintf("| `plan` at a terminal, to its first line | %s | | | |", duration(ms)))
	}
	return lines
}

func (m *measured) orders() (lines []string) {
	m.under("Order", func(rest []string, metrics map[string]float64) {
		if lines == nil {
			lines = []string{"| deploy, real clock, 10 calls at once | of the bound | OpenTofu, of the bound |", "|---|---|---|"}
		}
		lines = append(lines, fmt.Sprintf("| %s | %.2f | %s |", strings.ReplaceAll(rest[0], "-", " "), metrics["bounds"], ratios(metrics, "tofu-bounds")))
	})
	return lines
}

// waits has a row for each phase, of which the units of the metrics begin with the name.
func (m *measured) waits() (lines []string) {
	m.under("Wait", func(rest []string, metrics map[string]float64) {
		lines = []string{
			fmt.Sprintf("| %s resources in %s, 50 ms a call, 10 at once | calls | time | of the bound | OpenTofu, of the bound |",
				thousands(rest[len(rest)-1]), strings.ToUpper(rest[0])), "|---|---|---|---|---|",
		}
		for _, phase := range []string{"first-deploy", "unchanged-plan", "one-change", "destroy"} {
			if _, ok := metrics[phase+"/calls"]; !ok {
				continue
			}
			lines = append(lines, fmt.Sprintf("| %s | %s | %s | %.2f | %s |", strings.ReplaceAll(phase, "-", " "), count(metrics, phase+"/calls"),
				duration(metrics[phase+"/ms"]), metrics[phase+"/bounds"], ratios(metrics, phase+"/tofu-bounds")))
		}
	})
	return lines
}

// commits has a row for each store, of changes one after the other and by sixteen at once.
func (m *measured) commits() (lines []string) {
	m.under("StoreCommit", func(rest []string, metrics map[string]float64) {
		if len(rest) != 2 {
			return
		}
		if lines == nil {
			lines = []string{"| changes of one row | changes a second | sent, received for each |", "|---|---|---|"}
		}
		who := "one after the other"
		if rest[1] != "1" {
			who = rest[1] + " at once"
		}
		bytes := ""
		if sent, ok := metrics["sent-B/change"]; ok {
			bytes = fmt.Sprintf("%s B, %s B", significant(sent), significant(metrics["received-B/change"]))
		}
		lines = append(lines, fmt.Sprintf("| %s, %s | %s | %s |", storeNames[rest[0]], who, significant(metrics["changes/s"]), bytes))
	})
	return lines
}

// storeNames are the stores as people call them.
var storeNames = map[string]string{
	"file": "a file", "postgres": "PostgreSQL", "s3": "a bucket", "service": "the service, before PostgreSQL",
	"tofu-http": "OpenTofu, `http`", "tofu-s3": "OpenTofu, `s3`",
}

// stores has a row for each store, and for each backend of OpenTofu.
func (m *measured) stores() (lines []string) {
	m.under("Store", func(rest []string, metrics map[string]float64) {
		if len(rest) != 2 {
			return
		}
		if lines == nil {
			lines = []string{
				"| state of " + thousands(rest[1]) + " resources in | deploy | commits | sent, received | one change | commits | sent, received | stored |",
				"|---|---|---|---|---|---|---|---|",
			}
		}
		row := []string{storeNames[rest[0]]}
		for _, phase := range []string{"deploy", "one"} {
			bytes := ""
			if sent := metrics[phase+"/sent-KB"]; sent > 0 {
				bytes = fmt.Sprintf("%s KB, %s KB", significant(sent), significant(metrics[phase+"/received-KB"]))
			}
			row = append(row, duration(metrics[phase+"/ms"]), count(metrics, phase+"/commits"), bytes)
		}
		lines = append(lines, "| "+strings.Join(append(row, unit(metrics, "stored-KB")), " | ")+" |")
	})
	return lines
}

func (m *measured) programs() (lines []string) {
	m.under("Program", func(rest []string, metrics map[string]float64) {
		if lines == nil {
			lines = []string{"| graph of a changed Go program of | cpu, wall | as the command: cpu, wall |", "|---|---|---|"}
		}
		lines = append(lines, fmt.Sprintf("| %s | %s, %s | %s, %s |", thousands(rest[0]), duration(metrics["cpu-ms"]), duration(metrics["ms"]),
			duration(metrics["whole/cpu-ms"]), duration(metrics["whole/ms"])))
	})
	return lines
}

func (m *measured) devs() (lines []string) {
	m.under("Dev", func(rest []string, metrics map[string]float64) {
		if len(rest) != 2 {
			return
		}
		if lines == nil {
			lines = []string{"| save of | p50 | p95 | with the compiler: p50, p95 | Pulumi: p50, p95 |", "|---|---|---|---|---|"}
		}
		row := []string{rest[0] + ", " + thousands(rest[1])}
		for _, units := range [][]string{{"p50-ms"}, {"p95-ms"}, {"total-p50-ms", "total-p95-ms"}, {"pulumi-p50-ms", "pulumi-p95-ms"}} {
			var cells []string
			for _, unit := range units {
				if ms, ok := metrics[unit]; ok {
					cells = append(cells, duration(ms))
				}
			}
			row = append(row, strings.Join(cells, ", "))
		}
		lines = append(lines, "| "+strings.Join(row, " | ")+" |")
	})
	return lines
}

// linkedFor says why a group of packages is linked.
var linkedFor = map[string]string{
	"athanor":                   "the engine, the kinds, the command, the types of Cloud Control (0.7 MB)",
	"schemas of AWS":            "what clients of AWS encode and decode by; made when the process starts",
	"clients of AWS":            "kinds, the key service, signing in, the store in S3",
	"client of Cloudflare":      "kinds of Cloudflare",
	"esbuild":                   "bundles of Lambda functions and Workers",
	"PostgreSQL":                "the store in PostgreSQL",
	"bbolt":                     "the store in a file",
	"flags and help":            "`urfave/cli/v2`; its templates keep every exported method of what is linked",
	"Terraform providers":       "protobuf, cty and msgpack, which providers speak",
	"agents":                    "`athanor mcp`: the protocol's SDK and its schemas",
	"pages":                     "`html/template` of `athanor ui` and `serve`",
	"YAML TOML JSON":            "stacks, wrangler's files, documents, what Cloudflare's client reads",
	"sorting and maps":          "a copy of the library's sorting for each type that is sorted",
	"network and encryption":    "all calls; sealing of state",
	"runtime":                   "every Go program",
	"others":                    "the rest of the standard library, terminals",
	"tables of lines and types": "names and lines of functions for traces, descriptions of types",
}

// bySize lists the groups under a benchmark, largest first, with all of them last.
func (m *measured) bySize(benchmark, metric string, row func(group string, size float64)) {
	sizes := map[string]float64{}
	m.under(benchmark, func(rest []string, metrics map[string]float64) {
		sizes[strings.ReplaceAll(rest[0], "-", " ")] = metrics[metric]
	})
	all, ok := sizes["all"]
	delete(sizes, "all")
	for _, group := range slices.SortedFunc(maps.Keys(sizes), func(a, b string) int {
		return cmp.Or(cmp.Compare(sizes[b], sizes[a]), strings.Compare(a, b))
	}) {
		row(group, sizes[group])
	}
	if ok {
		row("together", all)
	}
}

func (m *measured) linked() (lines []string) {
	m.bySize("Linked", "MB", func(group string, size float64) {
		if lines == nil {
			lines = []string{"| what is linked | MB | for |", "|---|---|---|"}
		}
		lines = append(lines, fmt.Sprintf("| %s | %.1f | %s |", group, size, linkedFor[group]))
	})
	return lines
}

func (m *measured) inits() (lines []string) {
	m.bySize("Init", "init-KB", func(group string, size float64) {
		if lines == nil {
			lines = []string{"| what packages allocate when a process starts | KB |", "|---|---|"}
		}
		if size >= 1 {
			lines = append(lines, fmt.Sprintf("| %s | %s |", group, thousands(fmt.Sprintf("%.0f", size))))
		}
	})
	return lines
}

// duration prints milliseconds with two significant digits.
func duration(ms float64) string {
	if ms >= 1000 {
		return significant(ms/1000) + " s"
	}
	return significant(ms) + " ms"
}

func unit(metrics map[string]float64, name string) string {
	value, ok := metrics[name]
	if !ok {
		return ""
	}
	return significant(value) + " " + name[strings.LastIndex(name, "-")+1:]
}

func count(metrics map[string]float64, name string) string {
	value, ok := metrics[name]
	if !ok {
		return ""
	}
	return thousands(fmt.Sprintf("%.0f", value))
}

// ratios prints numbers with two significant digits; "not measured" where the first is missing.
func ratios(metrics map[string]float64, names ...string) string {
	var all []string
	for _, name := range names {
		if value, ok := metrics[name]; ok && !math.IsNaN(value) && !math.IsInf(value, 0) {
			all = append(all, significant(value))
		}
	}
	if len(all) == 0 {
		return "not measured"
	}
	return strings.Join(all, ", ")
}

// significant prints two significant digits, and whole numbers from 10 on.
func significant(value float64) string {
	switch {
	case value >= 10:
		return thousands(fmt.Sprintf("%.0f", value))
	case value >= 1:
		return fmt.Sprintf("%.1f", value)
	}
	return fmt.Sprintf("%.2f", value)
}

func thousands(digits string) string {
	if len(digits) > 3 {
		return thousands(digits[:len(digits)-3]) + "," + digits[len(digits)-3:]
	}
	return digits
}

const (
	opens  = "<!-- measured: "
	closes = "<!-- end -->"
)

// replace puts each table between the comments that frame its section. A section that the file does not have is an
// error: its numbers would be lost.
func replace(text string, tables map[string]string) (string, error) {
	for section, table := range tables {
		open := opens + section + " -->\n"
		before, rest, ok := strings.Cut(text, open)
		if !ok {
			return "", fmt.Errorf("it has no section %q", section)
		}
		_, after, ok := strings.Cut(rest, closes)
		if !ok {
			return "", fmt.Errorf("section %q has no end", section)
		}
		text = before + open + "\n" + table + "\n" + closes + after
	}
	return text, nil
}
