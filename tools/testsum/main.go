// Command testsum runs go test and tells what a reader needs: one line for each package, every failure in
// full, and one line for each skipped test with its reason, which go test itself hides in packages that
// pass. With -cpu each package that passes says the processor time of its test binary and of the processes that it
// waited for, and nothing is taken from the cache. More packages than processors are at work. It knows the events of go test -json; it
// does not know what is tested.
//
//	go -C tools run ./testsum -dir .. -no-skips -- -race ./statestore/...
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == measured {
		os.Exit(measure(os.Args[2:], os.Stdout))
	}
	var o options
	flag.StringVar(&o.dir, "dir", ".", "folder to run go test in")
	flag.StringVar(&o.tally, "tally", "", "file to which one line \"passed failed skipped\" is appended")
	flag.StringVar(&o.failures, "failures", "", "file to which what failed is appended, each package cut to its last lines")
	flag.BoolVar(&o.noSkips, "no-skips", false, "a skipped test is a failure")
	flag.BoolVar(&o.cpu, "cpu", false, "report the processor time of each package")
	flag.Parse()
	o.args = flag.Args()
	if len(o.args) == 0 {
		o.args = []string{"./..."}
	}
	code, err := run(o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
	}
	os.Exit(code)
}

type options struct {
	dir, tally, failures string
	noSkips              bool
	cpu                  bool
	args                 []string
}

// garbage is how much of it Go lets pile up. The compiler, the linker and the tests live for seconds: with more memory they take less of
// the processor.
const garbage = "GOGC"

// unlinked leaves the tables for debuggers and the table of symbols out of test binaries: they take half of the time of linking and a third of
// the disk. Traces of panics do not need them.
const unlinked = "-ldflags=-s -w"

// atOnce are the flags that say how many packages are tested at once: two for each processor, since tests wait for servers and for programs
// of others. A -p of GOFLAGS counts, and one of the command line, which comes later.
func atOnce(goflags string, processors int) []string {
	for flag := range strings.FieldsSeq(goflags) {
		if strings.HasPrefix(strings.TrimPrefix(flag, "-"), "-p=") || strings.HasPrefix(flag, "-p=") {
			return nil
		}
	}
	return []string{fmt.Sprintf("-p=%d", processors*2)}
}

// run gives the exit code of go test, or 1 when it passed and something else is wrong.
func run(o options, out io.Writer) (int, error) {
	args := append([]string{"test", "-json", unlinked}, atOnce(os.Getenv("GOFLAGS"), runtime.NumCPU())...)
	if o.cpu {
		self, err := os.Executable()
		if err != nil {
			return 1, err
		}
		args = append(args, "-exec="+self+" "+measured)
	}
	cmd := exec.Command("go", append(args, o.args...)...)
	cmd.Dir, cmd.Stderr = o.dir, os.Stderr
	if os.Getenv(garbage) == "" {
		cmd.Env = append(os.Environ(), garbage+"=400")
	}
	events, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	s := newSummary(out)
	readErr := read(events, s)
	code, err := exitCode(cmd.Wait())
	if err = errors.Join(readErr, err); err != nil {
		return max(code, 1), err
	}
	s.finish(code)
	if o.tally != "" {
		if err := appendTo(o.tally, fmt.Sprintln(s.passed, s.failed, s.skipped)); err != nil {
			return max(code, 1), err
		}
	}
	if o.failures != "" && len(s.failures) > 0 {
		if err := appendTo(o.failures, strings.Join(s.failures, "")); err != nil {
			return max(code, 1), err
		}
	}
	if o.noSkips && len(s.skips) > 0 && code == 0 {
		return 1, errors.New("tests were skipped, and -no-skips forbids it")
	}
	return code, nil
}

func exitCode(err error) (int, error) {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}

// read feeds events to the summary. What is no event is something that a tool printed past the test
// framework: it is shown as it is.
func read(in io.Reader, s *summary) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				s.add(e)
			} else {
				s.print("%s", line)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
