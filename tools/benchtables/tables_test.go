package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const output = `goos: linux
cpu: Some CPU @ 2.00GHz
BenchmarkStack/flat/1000/deploy-2         	       3	        79.40 ms	       110.2 cpu-ms	        37.00 MiB	        21.00 anon-MiB	        25.00 commits	         0 calls	       504.0 file-KB	        16.20 tofu/ms	        20.10 tofu/cpu-ms	         3.800 tofu/anon-MiB	         1.230 tofu/file	      1286 tofu-ms
BenchmarkStack/flat/1000/plan-2           	       3	        39.00 ms	        44.00 cpu-ms	        28.00 MiB
    bench_test.go:60: no ratios
BenchmarkStack/flat/10000/deploy
BenchmarkStack/flat/10000/deploy-2        	       1	      1610 ms	       920 cpu-ms	       131.0 MiB	        96.00 commits
BenchmarkPlan/new/10000-2                 	       5	 150000000 ns/op	       150.0 cpu-ms	        15.04 cpu-µs/resource	66000000 B/op	  580123 allocs/op
BenchmarkStart/version-2                  	     100	         7.100 ms	         6.000 cpu-ms	        36.00 MiB	        12.00 anon-MiB
BenchmarkOrder/wide-and-chain-2           	       1	         1.031 bounds	         2.338 tofu-bounds
BenchmarkWait/aws/100-2  1  0 ns/op  1.21 first-deploy/bounds  412.0 first-deploy/calls  3100 first-deploy/ms  2.4 first-deploy/tofu-bounds  1.5 destroy/bounds  1200 destroy/calls  900 destroy/ms
BenchmarkProgram/500-2  3  0 ns/op  900.0 cpu-ms  700.0 ms  3100 whole/cpu-ms  2000 whole/ms
BenchmarkDev/go/500-2  1  0 ns/op  45.0 p50-ms  60.0 p95-ms  1100 total-p50-ms  1300 total-p95-ms  8500 pulumi-p50-ms  8900 pulumi-p95-ms
BenchmarkDev/yaml/500-2  1  0 ns/op  35.0 p50-ms  50.0 p95-ms
BenchmarkLinked/athanor-2  1  7.688 MB
BenchmarkLinked/clients-of-AWS-2  1  10.77 MB
BenchmarkLinked/all-2  1  64.10 MB
BenchmarkInit/schemas-of-AWS-2  1  4538 init-KB
BenchmarkInit/bbolt-2  1  0.064 init-KB
BenchmarkInit/all-2  1  7007 init-KB
BenchmarkStoreCommit/file/1-2  1  0 ns/op  847.7 changes/s
BenchmarkStoreCommit/s3/16-2  1  0 ns/op  1113 changes/s  130.2 received-B/change  1837 sent-B/change
BenchmarkStore/file/1000-2  1  0 ns/op  5.000 deploy/commits  295.0 deploy/ms  0 deploy/received-KB  0 deploy/sent-KB  3.000 one/commits  108.5 one/ms  0 one/received-KB  0 one/sent-KB  106.5 stored-KB
BenchmarkStore/tofu-s3/1000-2  1  0 ns/op  1.000 deploy/commits  1548 deploy/ms  4.122 deploy/received-KB  440.9 deploy/sent-KB  1.000 one/commits  378.0 one/ms  400 one/received-KB  441 one/sent-KB  350.2 stored-KB
PASS
`

const readme = `# Measuring

<!-- measured: stacks -->
old
<!-- end -->
between
<!-- measured: plans -->
<!-- end -->
<!-- measured: start -->
<!-- end -->
<!-- measured: order -->
<!-- end -->
<!-- measured: wait -->
<!-- end -->
<!-- measured: program -->
<!-- end -->
<!-- measured: dev -->
<!-- end -->
<!-- measured: linked -->
<!-- end -->
<!-- measured: init -->
<!-- end -->
<!-- measured: commits -->
<!-- end -->
<!-- measured: stores -->
<!-- end -->
after
`

func tablesOf(t *testing.T, text string) map[string]string {
	t.Helper()
	m := &measured{}
	if err := m.read(text); err != nil {
		t.Fatal(err)
	}
	return m.tables()
}

func TestTables(t *testing.T) {
	text, err := replace(readme, tablesOf(t, output))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| flat 1,000 | deploy | 79 ms | 110 ms | 37 MiB | 21 MiB | 25 | 0 | 504 KB | 16, 20, 3.8, 1.2 |\n",
		"|  | plan | 39 ms | 44 ms | 28 MiB |  |  |  |  | not measured |\n",
		"| flat 10,000 | deploy | 1.6 s | 920 ms | 131 MiB |  | 96 |  |  | not measured |\n",
		"| new, 10,000 | 150 ms | 15 µs | 580,123, 66 MB |\n",
		"| `version` | 7.1 ms | 6.0 ms | 36 MiB | 12 MiB |\n",
		"| wide and chain | 1.03 | 2.3 |\n",
		"| 100 resources in AWS, 50 ms a call, 10 at once | calls | time | of the bound | OpenTofu, of the bound |\n",
		"| first deploy | 412 | 3.1 s | 1.21 | 2.4 |\n| destroy | 1,200 | 900 ms | 1.50 | not measured |\n",
		"| 500 | 900 ms, 700 ms | 3.1 s, 2.0 s |\n",
		"| go, 500 | 45 ms | 60 ms | 1.1 s, 1.3 s | 8.5 s, 8.9 s |\n| yaml, 500 | 35 ms | 50 ms |  |  |\n",
		"| clients of AWS | 10.8 | kinds, the key service, signing in, the store in S3 |\n| athanor | 7.7 | the engine,",
		"| together | 64.1 |  |\n",
		"| schemas of AWS | 4,538 |\n| together | 7,007 |\n",
		"| a file, one after the other | 848 |  |\n| a bucket, 16 at once | 1,113 | 1,837 B, 130 B |\n",
		"| a file | 295 ms | 5 |  | 108 ms | 3 |  | 106 KB |\n| OpenTofu, `s3` | 1.5 s | 1 | 441 KB, 4.1 KB | 378 ms | 1 | 441 KB, 400 KB | 350 KB |\n",
		"<!-- end -->\nbetween\n",
		"after\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing from\n%s", want, text)
		}
	}
	if strings.Contains(text, "old") {
		t.Error("the table before is still there")
	}
	again, err := replace(text, tablesOf(t, output))
	if err != nil || again != text {
		t.Errorf("the second time is not the same: %v\n%s", err, again)
	}
}

func TestLaterResultsReplaceEarlierOnes(t *testing.T) {
	m := &measured{}
	for _, text := range []string{output, "BenchmarkStart/version-8 100 9.0 ms 8.0 cpu-ms 40.0 MiB\n"} {
		if err := m.read(text); err != nil {
			t.Fatal(err)
		}
	}
	if table := m.tables()["start"]; strings.Count(table, "`version`") != 1 || !strings.Contains(table, "9.0 ms") {
		t.Error(table)
	}
}

// TestFailedBenchmarks proves that a benchmark that failed costs its own rows alone, and that the error names it.
func TestFailedBenchmarks(t *testing.T) {
	dir := t.TempDir()
	readme, results := filepath.Join(dir, "README.md"), filepath.Join(dir, "results.txt")
	for name, text := range map[string]string{
		readme: "<!-- measured: start -->\n<!-- end -->\n",
		results: "BenchmarkStart/version-2 1 7.0 ms 6.0 cpu-ms 40.0 MiB\nBenchmarkFirstLine-2 3 31.5 ms/first-line\n" +
			"--- FAIL: BenchmarkStack/flat\n    stack_test.go:1: no room\nFAIL\nexit status 1\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := run(readme, []string{results})
	if !errors.Is(err, errFailed) || !strings.Contains(err.Error(), "BenchmarkStack/flat") {
		t.Errorf("the error is %v", err)
	}
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{"| `version` | 7.0 ms | 6.0 ms | 40 MiB |  |", "| `plan` at a terminal, to its first line | 32 ms | | | |"} {
		if !strings.Contains(string(text), row) {
			t.Errorf("no row %q in\n%s", row, text)
		}
	}
}

func TestRefusals(t *testing.T) {
	if err := new(measured).read("BenchmarkStart/version-2 1 seven ms\n"); err == nil {
		t.Error("a value that is no number")
	}
	for _, text := range []string{"no section", "<!-- measured: start -->\nno end"} {
		if _, err := replace(text, map[string]string{"start": "|"}); err == nil {
			t.Errorf("%q", text)
		}
	}
	if text, err := replace("as it is", nil); err != nil || text != "as it is" {
		t.Errorf("nothing measured: %q, %v", text, err)
	}
}
