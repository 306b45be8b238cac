//go:build unix

package bench_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/bench"
	"github.com/athanor-dev/athanor/bench/measure"
	"github.com/athanor-dev/athanor/bench/opentofu"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// waited is a stack in AWS whose calls take [latency] and what the emulator needs, on a store of its own.
type waited struct {
	dir   string
	cloud *awstest.Server
	*clocked
	resources []waitedResource
}

// waitedResource is one of a stack: its address, which its generated name holds, and what it needs.
type waitedResource struct {
	address, kind, props string
	needs                []int
}

// waitedStack is n resources: a service with its queues, topics and what they hand on, logs and parameters.
func waitedStack(n int) (all []waitedResource) {
	for i := range n {
		r := waitedResource{address: fmt.Sprintf("r%03d", i)}
		switch i % 10 {
		case 0, 1, 2, 3:
			r.kind, r.props = "aws.sqs.Queue", fmt.Sprintf("visibilityTimeout: %ds", 30+i%100)
		case 4, 5:
			r.kind, r.props = "aws.sns.Topic", fmt.Sprintf("displayName: topic %d", i)
		case 6, 7: // what the topic of two before hands on to the queue of six before
			r.kind, r.needs = "aws.sns.Subscription", []int{i - 2, i - 6}
			r.props = fmt.Sprintf("topic: \"${%s.arn}\", protocol: sqs, endpoint: \"${%s.arn}\"", all[i-2].address, all[i-6].address)
		case 8:
			r.kind, r.props = "aws.logs.LogGroup", "retention: 7d"
		case 9:
			r.kind, r.props = "aws.ssm.Parameter", fmt.Sprintf("value: \"%d\"", i)
		}
		all = append(all, r)
	}
	return all
}

func newWaited(t testing.TB, n int) *waited {
	t.Helper()
	cloud := awstest.Start(t)
	w := &waited{dir: t.TempDir(), cloud: cloud, clocked: newClocked(t, cloud, latency), resources: waitedStack(n)}
	w.write(t)
	return w
}

func (w *waited) write(t testing.TB) {
	t.Helper()
	var text strings.Builder
	text.WriteString("stack: waited\nresources:\n")
	for _, r := range w.resources {
		fmt.Fprintf(&text, "  %s: {kind: %s, props: {%s}, options: {allowDelete: true}}\n", r.address, r.kind, r.props)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "athanor.yaml"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// command runs athanor on the stack, ten calls at once, and returns what it cost and the calls that it made.
func (w *waited) command(t testing.TB, args ...string) (measure.Cost, []clockedCall) {
	t.Helper()
	env := []string{
		"XDG_CONFIG_HOME=" + filepath.Join(w.dir, "config"), "XDG_CACHE_HOME=" + filepath.Join(w.dir, "cache"), "ATHANOR_STORE=",
	}
	for name, value := range w.cloud.Env() {
		env = append(env, name+"="+strings.ReplaceAll(value, w.cloud.URL, w.URL))
	}
	args = append([]string{built(t)}, append(args, "--stage", stageName, fmt.Sprint("--parallel=", waitedParallel))...)
	cost, err := measure.Run(t.Context(), measure.Command{Args: args, Dir: w.dir, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	return cost, w.take()
}

const waitedParallel = 10

// phases takes a stack through its life. Each phase gives what it cost and its calls.
func (w *waited) phases(t testing.TB, each func(name string, cost measure.Cost, calls []clockedCall)) {
	t.Helper()
	run := func(name string, count func(bench.Summary) int, want int, args ...string) {
		cost, calls := w.command(t, args...)
		if count != nil {
			var s bench.Summary
			lines := strings.Split(strings.TrimSpace(cost.Output), "\n")
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &s); err != nil || count(s) != want {
				t.Fatalf("%s of %d: %v %+v", name, want, err, s.Summary)
			}
		}
		each(name, cost, calls)
	}
	n := len(w.resources)
	run("first deploy", func(s bench.Summary) int { return s.Created }, n, "deploy", "--yes", "--json")
	run("unchanged plan", nil, 0, "plan")
	w.resources[0].props = "visibilityTimeout: 200s"
	w.write(t)
	run("one change", func(s bench.Summary) int { return s.Updated }, 1, "deploy", "--yes", "--json")
	run("destroy", func(s bench.Summary) int { return s.Deleted }, n, "destroy", "--yes", "--json")
}

// spent are the times of the calls about each resource, which name it; calls about several, such as listings, are nobody's.
func (w *waited) spent(calls []clockedCall) map[string]time.Duration {
	spent := map[string]time.Duration{}
	for _, c := range calls {
		about := -1
		for i, r := range w.resources {
			if strings.Contains(c.text, "-"+r.address+"-") {
				if about >= 0 {
					about = -1
					break
				}
				about = i
			}
		}
		if about >= 0 {
			spent[name(about)] += c.took
		}
	}
	return spent
}

// bound is the least that calls can take: all of them by the number at once, or the longest chain of what needs each other.
func (w *waited) bound(calls []clockedCall) time.Duration {
	var all time.Duration
	for _, c := range calls {
		all += c.took
	}
	return max(all/waitedParallel, w.shape().bound(w.spent(calls), len(w.resources)*waitedParallel))
}

func (w *waited) shape() shape {
	var s shape
	for _, r := range w.resources {
		s.needs = append(s.needs, r.needs)
	}
	return s
}

// TestWait takes a small stack through the phases, each of which must do what its name says, and whose calls must name
// their resources.
func TestWait(t *testing.T) {
	w := newWaited(t, 10)
	w.phases(t, func(name string, _ measure.Cost, calls []clockedCall) {
		spent := w.spent(calls)
		if len(calls) == 0 || w.bound(calls) <= 0 {
			t.Errorf("%s: %d calls, bound %s", name, len(calls), w.bound(calls))
		}
		if name == "first deploy" && len(spent) < len(w.resources)/2 {
			t.Errorf("%s: calls about %d resources only", name, len(spent))
		}
	})
}

// BenchmarkWait is what people wait for: a stack of 100 resources in AWS whose calls take 50 ms and what the emulator needs,
// ten at once. Each phase is a process. Beside the first deploy, OpenTofu creates resources that sleep as long as the calls
// of ours took.
func BenchmarkWait(b *testing.B) {
	n := sized(100)
	tofu, err := opentofu.Find("..")
	if err != nil {
		b.Log("no ratios: ", err)
	}
	b.Run(fmt.Sprintf("aws/%d", n), func(b *testing.B) {
		for b.Loop() {
			w := newWaited(b, n)
			w.phases(b, func(phase string, cost measure.Cost, calls []clockedCall) {
				unit := strings.ReplaceAll(phase, " ", "-")
				b.ReportMetric(float64(len(calls)), unit+"/calls")
				b.ReportMetric(float64(cost.Wall.Milliseconds()), unit+"/ms")
				b.ReportMetric(cost.Wall.Seconds()/w.bound(calls).Seconds(), unit+"/bounds")
				if tofu != "" && phase == "first deploy" {
					b.ReportMetric(sleeping(b, tofu, w.shape(), w.spent(calls)).Seconds()/w.bound(calls).Seconds(), unit+"/tofu-bounds")
				}
			})
		}
		b.ReportMetric(0, "ns/op")
	})
}
