package terraform

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/athanor-dev/athanor/providers/terraform/value"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// BenchmarkNeeded makes the calls alone without which nothing can be deployed, planned, or destroyed, of 500 random_id and 500 local_file that refer to them, ten at
// once: without state, a graph, a plan that is shown, or a look before a creation. It is what a client of these providers takes at least. $ATHANOR_PEERS is the folder
// with the programs, which get $GOGC where it is set.
func BenchmarkNeeded(b *testing.B) {
	peers := os.Getenv("ATHANOR_PEERS")
	if peers == "" {
		b.Skip("$ATHANOR_PEERS names no folder with the programs of Terraform providers")
	}
	const n, atOnce = 500, 10
	ctx, set := b.Context(), newProviders()
	defer set.close()
	open := func(name string) *program {
		p, err := set.learned(ctx, Settings{Terraform: "hashicorp/" + name, Path: filepath.Join(peers, "terraform-provider-"+name), Env: []string{"GOGC"}})
		if err == nil {
			err = p.running(ctx)
		}
		if err != nil {
			b.Fatal(err)
		}
		return p
	}
	random, local := open("random"), open("local")
	ids, files := random.schema.Resources["random_id"], local.schema.Resources["local_file"]
	dir := b.TempDir()
	each := func(do func(i int) error) {
		next, wait := make(chan int), sync.WaitGroup{}
		for range atOnce {
			wait.Go(func() {
				for i := range next {
					if err := do(i); err != nil {
						b.Error(err)
					}
				}
			})
		}
		for i := range n {
			next <- i
		}
		close(next)
		wait.Wait()
	}
	id, err := value.Config(ids.Block, map[string]any{"byte_length": int64(8)}, known)
	if err != nil {
		b.Fatal(err)
	}
	file := func(i int, content any, unknown value.Unknown) cty.Value {
		v, err := value.Config(files.Block, map[string]any{"filename": filepath.Join(dir, fmt.Sprint(i)), "content": content}, unknown)
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
	made, written := make([]seen, n), make([]seen, n)
	hex := func(i int) string { return made[i].state.GetAttr("hex").AsString() }
	for _, phase := range []struct {
		name string
		do   func() error
	}{
		{"deploy", func() error {
			if _, err := random.validate(ctx, ids, id, nil); err != nil {
				return err
			}
			plan, err := random.plan(ctx, ids, none(ids), id)
			if err != nil {
				return err
			}
			each(func(i int) error { // the plan, where the content is not known yet
				config := file(i, "later", func(at tree.Path, _ any) bool { return at == "content" })
				if _, err := local.validate(ctx, files, config, nil); err != nil {
					return err
				}
				_, err := local.plan(ctx, files, none(files), config)
				return err
			})
			each(func(i int) (err error) {
				made[i], err = random.apply(ctx, plan)
				return err
			})
			each(func(i int) error {
				config := file(i, hex(i), known)
				if _, err := local.validate(ctx, files, config, nil); err != nil {
					return err
				}
				plan, err := local.plan(ctx, files, none(files), config)
				if err != nil {
					return err
				}
				written[i], err = local.apply(ctx, plan)
				return err
			})
			return nil
		}},
		{"plan", func() error {
			each(func(i int) error {
				_, err := random.plan(ctx, ids, made[i], id)
				return err
			})
			each(func(i int) error {
				now, err := local.read(ctx, files, written[i])
				if err == nil {
					_, err = local.plan(ctx, files, now, file(i, hex(i), known))
				}
				return err
			})
			return nil
		}},
		{"destroy", func() error {
			each(func(i int) error {
				now, err := local.read(ctx, files, written[i])
				if err != nil {
					return err
				}
				plan, err := local.plan(ctx, files, now, cty.NullVal(files.Value))
				if err == nil {
					_, err = local.apply(ctx, plan)
				}
				return err
			})
			each(func(i int) error {
				plan, err := random.plan(ctx, ids, made[i], cty.NullVal(ids.Value))
				if err == nil {
					_, err = random.apply(ctx, plan)
				}
				return err
			})
			return nil
		}},
	} {
		b.Run(phase.name, func(b *testing.B) {
			if b.N > 1 {
				b.Skip("each phase is measured once: -benchtime 1x")
			}
			asked := func() (calls int, took time.Duration) {
				for _, p := range []*program{random, local} {
					w := p.worker.Load()
					calls, took = calls+w.calls, took+processorOf(b, w.Pid())
				}
				return calls, took
			}
			calls, plugins := asked()
			own, began := ownProcessor(b), time.Now()
			if err := phase.do(); err != nil {
				b.Fatal(err)
			}
			wall, client := time.Since(began), ownProcessor(b)-own
			allCalls, allPlugins := asked()
			for unit, v := range map[string]float64{
				"calls": float64(allCalls - calls), "ms": wall.Seconds() * 1000, "plugins-cpu-ms": (allPlugins - plugins).Seconds() * 1000, "client-cpu-ms": client.Seconds() * 1000,
			} {
				b.ReportMetric(v, unit)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// ownProcessor is the time of processors that this process had.
func ownProcessor(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// processorOf is the time of processors that a process had, to a hundredth of a second.
func processorOf(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] { // of the user, and of the system
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
