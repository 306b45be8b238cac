package page

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/athanor-dev/athanor/statestore"
)

// stageHead is what the top of every page of a stage shows.
type stageHead struct {
	statestore.Stage

	Status    status
	Resources int
	Serial    uint64
	Locations []string
	Runs      []statestore.Run // newest first
	Live      string           // the path of the run that is at work, "" for none
	LiveRun   string
	Changed   *moment // when the newest run began
	Last      *runLine
	Strip     []runLine // the newest runs, oldest first
	ShowPlans bool
	Drift     *driftBody // nil when it was never reported
	Private   bool       // it shows addresses, kinds and statuses only
}

// URL is the path of the stage.
func (s *stageHead) URL() string { return stageURL(s.Stage) }

// stageStatus says how a stage is, by its state and its newest runs.
func stageStatus(snap *statestore.Snapshot, runs []statestore.Run) status {
	switch word := statestore.Status(snap, runs); word {
	case "running":
		return status{"run", "run", word}
	case "deployed":
		return status{"ok", "ok", word}
	case "empty":
		return status{"", "wait", word}
	case "failed", "damaged":
		return status{"bad", "bad", word}
	default:
		return status{"warn", "warn", word}
	}
}

// head reads a stage. A stage that nobody has written is an error.
func (p *Page) head(v *visit) (*stageHead, *statestore.Snapshot, error) {
	snap, err := p.settings.Store.Load(v.Context(), v.stage)
	if err != nil {
		return nil, nil, err
	}
	runs, err := p.settings.Store.Runs(v.Context(), v.stage, 0)
	if err != nil {
		return nil, nil, err
	}
	if snap.Serial == 0 && len(runs) == 0 && snap.Holder == nil {
		return nil, nil, notFound(v.stage.String()+" was never deployed", "athanor deploy --stage "+v.stage.Name)
	}
	h := p.headOf(v, snap, runs)
	if h.Private, err = p.isPrivate(v.Context(), v.stage); err != nil {
		return nil, nil, err
	}
	h.Drift, err = p.driftOf(v, snap)
	return h, snap, err
}

// in reports whether a filter of the list of stages passes a stage.
func (s *stageHead) in(class string) bool {
	of, known := classes[class]
	return !known || slices.Contains(of, s.Status.Class) || s.Drift != nil && class == "attention" && s.Drift.Status.Class == "warn"
}

func (p *Page) headOf(v *visit, snap *statestore.Snapshot, runs []statestore.Run) *stageHead {
	h := &stageHead{
		Stage: snap.Stage, Status: stageStatus(snap, runs), Resources: len(snap.Rows) + len(snap.Damaged), Serial: snap.Serial, Runs: runs,
		Locations: locationsOf(snap), ShowPlans: p.settings.Plans != nil,
	}
	if snap.Holder != nil {
		h.Live, h.LiveRun = runURL(h.Stage, snap.Holder.Run), snap.Holder.Run
	}
	for i, r := range runs {
		line := lineOf(h.Stage, r, snap.Holder, v.now)
		if i == 0 {
			h.Last, h.Changed = &line, line.Started
		}
		if i < 10 {
			h.Strip = append(h.Strip, line)
		}
	}
	slices.Reverse(h.Strip)
	return h
}

// locationsOf lists where the objects of a stage are.
func locationsOf(snap *statestore.Snapshot) []string {
	places := map[statestore.Place]bool{}
	var last statestore.Place
	for _, row := range snap.Rows {
		for _, g := range row.Generations {
			if g.Place != last {
				last = g.Place
				places[last] = true
			}
		}
	}
	var all []string
	for place := range places {
		all = append(all, placeText(place))
	}
	slices.Sort(all)
	return all
}

func placeText(p statestore.Place) string {
	return strings.Join(slices.DeleteFunc([]string{p.Provider, p.Account, p.Region}, func(s string) bool { return s == "" }), " ")
}

// stacksBody is the list of all stages.
type stacksBody struct {
	Stacks     []stackGroup
	Stages     int
	Query, Is  string
	Counts     map[string]int
	AllStacks  int
	ListIsLive bool
}

type stackGroup struct {
	Name, Providers string
	Stages          []*stageHead
}

// classes are the filters of the list of stages, by the class of a stage's status.
var classes = map[string][]string{"attention": {"warn", "bad"}, "running": {"run"}, "ok": {"ok"}}

// stacks lists the stages that the visitor may read.
func (p *Page) stacks(v *visit) error {
	stages, err := p.settings.Store.Stages(v.Context())
	if err != nil {
		return err
	}
	stages = slices.DeleteFunc(stages, func(s statestore.Stage) bool { return !v.visitor.May(Read, s) })
	slices.SortFunc(stages, func(a, b statestore.Stage) int {
		return cmp.Or(cmp.Compare(a.Stack, b.Stack), cmp.Compare(a.Name, b.Name))
	})
	heads, err := p.heads(v, stages)
	if err != nil {
		return err
	}
	body := &stacksBody{Stages: len(stages), Query: v.FormValue("q"), Is: v.FormValue("is"), Counts: map[string]int{}}
	stacks := map[string]bool{}
	for _, h := range heads {
		stacks[h.Stack] = true
		for name := range classes {
			if h.in(name) {
				body.Counts[name]++
			}
		}
		if !h.in(body.Is) {
			continue
		}
		if !holds(body.Query, h.Stack, h.Name, h.Status.Word) {
			continue
		}
		if n := len(body.Stacks); n == 0 || body.Stacks[n-1].Name != h.Stack {
			body.Stacks = append(body.Stacks, stackGroup{Name: h.Stack})
		}
		last := &body.Stacks[len(body.Stacks)-1]
		last.Stages = append(last.Stages, h)
	}
	for i := range body.Stacks {
		body.Stacks[i].Providers = providersOf(body.Stacks[i].Stages)
	}
	body.AllStacks = len(stacks)
	f := p.frame(v.visitor, "Stacks")
	f.Site, f.Body, f.Refresh = "stacks", body, body.Counts["running"] > 0
	return p.show(v, "stacks", f)
}

func providersOf(stages []*stageHead) string {
	names := map[string]bool{}
	for _, s := range stages {
		for _, l := range s.Locations {
			name, _, _ := strings.Cut(l, " ")
			names[name] = name != ""
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}

// readers is how many stages are read at once.
const readers = 8

// heads reads many stages.
func (p *Page) heads(v *visit, stages []statestore.Stage) ([]*stageHead, error) {
	heads, errs := make([]*stageHead, len(stages)), make([]error, len(stages))
	ctx, cancel := context.WithCancel(v.Context())
	defer cancel()
	var group sync.WaitGroup
	turns := make(chan struct{}, readers)
	for i, stage := range stages {
		turns <- struct{}{}
		group.Go(func() {
			defer func() { <-turns }()
			snap, err := p.settings.Store.Load(ctx, stage)
			var runs []statestore.Run
			if err == nil {
				runs, err = p.settings.Store.Runs(ctx, stage, 10)
			}
			if err == nil {
				heads[i] = p.headOf(v, snap, runs)
				heads[i].Drift, err = p.driftOf(v, snap)
			}
			errs[i] = err
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return heads, nil
}

// holds reports whether each word of a query is in one of the texts.
func holds(query string, texts ...string) bool {
	for word := range strings.FieldsSeq(strings.ToLower(query)) {
		if !slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(strings.ToLower(t), word) }) {
			return false
		}
	}
	return true
}
