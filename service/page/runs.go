package page

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// runLine is one run as lists show it.
type runLine struct {
	ID, Short, URL, Command, By, Host, Note string
	PID                                     int
	Status                                  status
	Changes                                 string
	Took                                    string
	Started                                 *moment
	AtWork, Asked                           bool
}

// lineOf shows a run. One that is running and holds no lease has lost its process.
func lineOf(stage statestore.Stage, r statestore.Run, holder *statestore.Holder, now time.Time) runLine {
	l := runLine{
		ID: r.ID, Short: shortRun(r.ID), URL: runURL(stage, r.ID), Command: r.Command, By: nameOf(r.User), Host: r.Host, PID: r.PID,
		Note: r.Note, Started: momentOf(r.Started, now), Changes: summaryText(r.Summary), Asked: r.Cancelled,
	}
	if !r.Ended.IsZero() {
		l.Took = seconds(r.Ended.Sub(r.Started).Seconds())
	}
	switch r.State {
	case statestore.Running:
		if l.AtWork = holder != nil && holder.Run == r.ID; l.AtWork {
			l.Status, l.Took = status{"run", "run", "running"}, seconds(now.Sub(r.Started).Seconds())
		} else {
			l.Status, l.Note = status{"warn", "warn", "no longer heard of"}, "its process ended or its lease expired; the next run takes over"
		}
		if l.AtWork && r.Cancelled {
			l.Status.Word = "stopping"
		}
	case statestore.Succeeded:
		l.Status = status{"ok", "ok", "succeeded"}
	case statestore.Failed:
		l.Status = status{"bad", "bad", "failed"}
	default:
		l.Status = status{"warn", "warn", string(r.State)}
	}
	return l
}

// shortRun is the end of a run's id, which people compare.
func shortRun(id string) string {
	if i := strings.LastIndexByte(id, '-'); i >= 0 && i < len(id)-1 {
		return id[i+1:]
	}
	return id
}

// nameOf is who ran something, without what was authenticated.
func nameOf(user string) string {
	if i := strings.LastIndex(user, " ("); i > 0 && strings.HasSuffix(user, ")") {
		return user[:i]
	}
	return user
}

// summaryWords are the counts of a run's summary in the order in which they are shown.
var summaryWords = [][2]string{
	{"created", "created"},
	{"adopted", "adopted"},
	{"recovered", "recovered"},
	{"updated", "updated"},
	{"replaced", "replaced"},
	{"moved", "moved"},
	{"deleted", "deleted"},
	{"forgotten", "removed from state"},
	{"waiting", "waiting"},
	{"failed", "failed"},
	{"blocked", "blocked"},
	{"interrupted", "interrupted"},
	{"notStarted", "not started"},
}

// summaryText says what a run changed.
func summaryText(summary []byte) string {
	var counts map[string]any
	if json.Unmarshal(summary, &counts) != nil {
		return ""
	}
	var parts []string
	for _, w := range summaryWords {
		if n, ok := counts[w[0]].(float64); ok && n > 0 {
			parts = append(parts, thousands(int(n))+" "+w[1])
		}
	}
	return strings.Join(parts, ", ")
}

// historyBody is the list of runs.
type historyBody struct {
	Runs  []runLine
	After []runLine // what is compared first: the run before each
}

func (p *Page) history(v *visit) error {
	head, snap, err := p.head(v)
	if err != nil {
		return err
	}
	body := &historyBody{}
	for _, r := range head.Runs {
		body.Runs = append(body.Runs, lineOf(v.stage, r, snap.Holder, v.now))
	}
	f := p.stageFrame(v, head, "History", "history")
	f.Body, f.Refresh = body, head.Live != ""
	return p.show(v, "history", f)
}

// stageFrame is the frame of a page of a stage.
func (p *Page) stageFrame(v *visit, head *stageHead, title, tab string) *frame {
	f := p.frame(v.visitor, title+" · "+v.stage.String())
	f.Stage, f.Tab, f.Crumb = head, tab, strings.ToLower(title)
	if tab == "resources" {
		f.Crumb = ""
	}
	return f
}

// findRun finds a run of the stage.
func findRun(head *stageHead, id string) (statestore.Run, error) {
	for _, r := range head.Runs {
		if r.ID == id {
			return r, nil
		}
	}
	return statestore.Run{}, notFound(fmt.Sprintf("%s has no run %s", head.Stage, id), fmt.Sprintf("The newest %d runs are kept.", statestore.KeptRuns))
}

// runBody is one run.
type runBody struct {
	runLine

	Rows               []changeRow
	Total, Hidden      int
	Done, Running      int
	Failed, Blocked    int
	Of, Waiting        int // resources that a run at work has to do, and has not begun; 0 where that is unknown
	Causes             []cause
	Path               []string
	Scale              []string
	Lines              []eventLine
	LinesHidden        int
	Last               uint64
	EventsURL          string
	CancelURL          string
	Cancel             string // the command, where there is no form
	All, Tree          bool
	Waits              string
	Unchanged          int
	Summary            string
	CompareURL, Before string
	Stage              statestore.Stage
}

// changeRow is a change with its bar in the timeline, in thousandths of its scale.
type changeRow struct {
	*change

	Row         int
	Took        string
	X, W        int
	Bar         string
	Depth       int
	Name        string
	ResourceURL string
}

// cause is one error with all resources that failed by it.
type cause struct {
	Error, Hint string
	Addresses   []string
	Kind        string
}

const (
	mostRows  = 200 // changes of a run that are shown at once
	mostLines = 200 // events of a run that are shown at once
)

func (p *Page) run(v *visit) error {
	id, err := wire.Name(v.PathValue("run"))
	if err != nil {
		return notFound("There is no such run", "")
	}
	head, snap, err := p.head(v)
	if err != nil {
		return err
	}
	r, err := findRun(head, id)
	if err != nil {
		return err
	}
	o, err := p.outcome(v.Context(), v.stage, r)
	if err != nil {
		return err
	}
	body := p.runBody(v, head, snap, r, o)
	if body.All && body.LinesHidden > 0 {
		if body.Lines, err = p.allLines(v.Context(), v.stage, r.ID); err != nil {
			return err
		}
		body.LinesHidden = 0
	}
	f := p.stageFrame(v, head, r.Command+" "+body.Short, "history")
	f.Crumb = body.Short
	if body.AtWork {
		f.Tab, f.Refresh = "run", true
	}
	f.Body = body
	return p.show(v, "run", f)
}

func (p *Page) runBody(v *visit, head *stageHead, snap *statestore.Snapshot, r statestore.Run, o *outcome) *runBody {
	body := &runBody{
		runLine: lineOf(v.stage, r, snap.Holder, v.now), Last: o.last, EventsURL: runURL(v.stage, r.ID) + "/events", Stage: v.stage,
		All: v.FormValue("all") != "", Tree: v.FormValue("view") == "tree",
	}
	if body.AtWork && p.settings.Cancel != nil && v.visitor.May(Cancel, v.stage) {
		body.CancelURL = runURL(v.stage, r.ID) + "/cancel"
	}
	if body.AtWork && p.settings.Cancel == nil {
		body.Cancel = shellCommand("athanor", "cancel", "--stack", v.stage.Stack, "--stage", v.stage.Name)
	}
	end := r.Ended
	if end.IsZero() {
		if end = v.now; !body.AtWork && len(o.changes) > 0 {
			end = latest(o.changes)
		}
	}
	changes := make([]*change, len(o.changes)) // what is kept must not be changed
	for i, c := range o.changes {
		changes[i] = new(*c)
		if !body.AtWork && c.State == "running" {
			changes[i].State = "interrupted"
		}
	}
	body.Path = critical(changes, needsOf(snap), v.now)
	body.fill(v.stage, changes, o.began, end)
	if body.AtWork && o.total > 0 {
		body.Of = max(o.total, len(changes))
		body.Waiting = body.Of - len(changes)
	}
	body.Causes = causesOf(changes)
	body.Lines, body.LinesHidden = o.lines, o.events-len(o.lines)
	if i := slices.IndexFunc(head.Runs, func(x statestore.Run) bool { return x.ID == r.ID }); i >= 0 && i+1 < len(head.Runs) {
		body.Before = shortRun(head.Runs[i+1].ID)
		body.CompareURL = compareURL(v.stage, head.Runs[i+1].ID, r.ID)
	}
	return body
}

func latest(changes []*change) time.Time {
	var t time.Time
	for _, c := range changes {
		for _, at := range []time.Time{c.Began, c.Ended} {
			if at.After(t) {
				t = at
			}
		}
	}
	return t
}

// needsOf are the needs of all resources by address.
func needsOf(snap *statestore.Snapshot) map[string][]string {
	needs := make(map[string][]string, len(snap.Rows))
	for address, row := range snap.Rows {
		needs[address] = row.Needs
	}
	return needs
}

// fill makes the rows of the changes and the timeline.
func (b *runBody) fill(stage statestore.Stage, changes []*change, began, end time.Time) {
	total := max(end.Sub(began).Seconds(), 0.001)
	scale, labels := scaleOf(total)
	b.Scale, b.Total = labels, len(changes)
	for _, c := range changes {
		switch c.State {
		case "running":
			b.Running++
		case "failed":
			b.Failed++
		case "blocked":
			b.Blocked++
		default:
			b.Done++
		}
	}
	if b.Tree {
		slices.SortStableFunc(changes, func(x, y *change) int { return cmp.Compare(x.Address, y.Address) })
	}
	shown := changes
	if len(changes) > mostRows && !b.All {
		// What is at work and what failed is shown first, then the newest.
		at := func(c *change) int {
			if c.State == "running" || c.State == "failed" {
				return 0
			}
			return 1
		}
		shown = slices.Clone(changes)
		slices.SortStableFunc(shown, func(x, y *change) int { return cmp.Or(at(x)-at(y), y.Began.Compare(x.Began)) })
		shown = shown[:mostRows]
		b.Hidden = len(changes) - mostRows
		slices.SortStableFunc(shown, func(x, y *change) int { return x.Began.Compare(y.Began) })
	}
	known := map[string]bool{}
	for i, c := range shown {
		row := changeRow{change: c, Row: i, Name: c.Address, ResourceURL: resourceURL(stage, c.Address)}
		if b.Tree {
			row.Depth, row.Name = indent(c.Address, known)
		}
		until := c.Ended
		if c.State == "running" {
			until = end
		}
		took := c.Elapsed
		if took == 0 && !until.IsZero() {
			took = until.Sub(c.Began).Seconds()
		}
		if took > 0 && c.State != "blocked" {
			row.Took = seconds(took)
		}
		part := func(t time.Time) int { return int(math.Round(min(max(t.Sub(began).Seconds()/scale, 0), 1) * 1000)) }
		if !until.IsZero() && c.State != "blocked" {
			row.X = part(c.Began)
			row.W = max(part(until)-row.X, 3)
		}
		switch {
		case c.State == "running":
			row.Bar = "on"
		case c.State == "failed":
			row.Bar = "bad"
		case c.Critical:
			row.Bar = "crit"
		default:
			row.Bar = "b"
		}
		b.Rows = append(b.Rows, row)
	}
}

// indent is how deep an address stands in a tree below addresses that were shown, and what is shown of it there.
func indent(address string, known map[string]bool) (depth int, name string) {
	known[address] = true
	name = address
	for i := len(address) - 1; i > 0; i-- {
		if address[i] == '/' && known[address[:i]] {
			if depth++; depth == 1 {
				name = address[i+1:]
			}
		}
	}
	return min(depth, 6), name
}

// scaleOf is the length of a timeline that holds so many seconds, with the labels of its quarters.
func scaleOf(total float64) (scale float64, labels []string) {
	scale = 0.02
	for _, step := range []float64{0.02, 0.1, 0.4, 2, 5, 20, 60, 300, 1200, 3600} {
		if scale = step; total <= step*4 {
			break
		}
	}
	quarter := scale
	for quarter*4 < total {
		quarter += scale
	}
	for i := range 5 {
		at := quarter * float64(i)
		switch {
		case quarter >= 60:
			labels = append(labels, fmt.Sprintf("%gm", at/60))
		case quarter < 1:
			labels = append(labels, fmt.Sprintf("%.0f ms", at*1000))
		default:
			labels = append(labels, fmt.Sprintf("%g s", at))
		}
	}
	return quarter * 4, labels
}

// causesOf groups failures by what caused them.
func causesOf(changes []*change) []cause {
	var all []cause
	at := map[string]int{}
	for _, c := range changes {
		if c.State != "failed" {
			continue
		}
		key := cmp.Or(c.Cause, c.Error)
		i, known := at[key]
		if !known {
			i = len(all)
			at[key] = i
			all = append(all, cause{Error: c.Error, Hint: c.Hint, Kind: c.Kind})
		}
		all[i].Addresses = append(all[i].Addresses, c.Address)
	}
	return all
}

func compareURL(stage statestore.Stage, from, to string) string {
	return stageURL(stage) + "/compare?from=" + from + "&to=" + to
}

// compareBody is what two runs did differently.
type compareBody struct {
	From, To   runLine
	Rows       []comparedRow
	Same, Only int
	Stage      statestore.Stage
}

// comparedRow is one resource in two runs; one of both can be missing.
type comparedRow struct {
	Address, Kind, URL string
	From, To           *change
	TookFrom, TookTo   string
	Differs            bool
}

// compare shows the differences between two runs.
func (p *Page) compare(v *visit) error {
	head, snap, err := p.head(v)
	if err != nil {
		return err
	}
	body := &compareBody{Stage: v.stage}
	var sides [2]map[string]*change
	for i, name := range []string{"from", "to"} {
		r, err := findRun(head, v.FormValue(name))
		if err != nil {
			return err
		}
		o, err := p.outcome(v.Context(), v.stage, r)
		if err != nil {
			return err
		}
		sides[i] = map[string]*change{}
		for _, c := range o.changes {
			sides[i][c.Address] = c // of a replacement the last part
		}
		line := lineOf(v.stage, r, snap.Holder, v.now)
		if i == 0 {
			body.From = line
		} else {
			body.To = line
		}
	}
	addresses := maps.Clone(sides[0])
	maps.Copy(addresses, sides[1])
	for _, address := range slices.Sorted(maps.Keys(addresses)) {
		row := comparedRow{Address: address, Kind: addresses[address].Kind, URL: resourceURL(v.stage, address), From: sides[0][address], To: sides[1][address]}
		row.TookFrom, row.TookTo = tookText(row.From), tookText(row.To)
		row.Differs = row.From == nil || row.To == nil || row.From.Action != row.To.Action || row.From.State != row.To.State ||
			row.From.Error != row.To.Error || !slices.Equal(row.From.Paths, row.To.Paths)
		if !row.Differs {
			body.Same++
		}
		body.Rows = append(body.Rows, row)
	}
	slices.SortStableFunc(body.Rows, func(a, b comparedRow) int { return cmp.Compare(rank(a.Differs), rank(b.Differs)) })
	f := p.stageFrame(v, head, "Differences", "history")
	f.Body = body
	return p.show(v, "compare", f)
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

func tookText(c *change) string {
	if c == nil || c.Elapsed == 0 {
		return ""
	}
	return seconds(c.Elapsed)
}

// askCancel asks whether a run is to be stopped.
func (p *Page) askCancel(v *visit) error {
	head, r, err := p.cancellable(v)
	if err != nil {
		return err
	}
	f := p.stageFrame(v, head, "Cancel "+shortRun(r.ID), "history")
	f.Body = lineOf(v.stage, r, &statestore.Holder{Run: head.LiveRun}, v.now)
	return p.show(v, "cancel", f)
}

// cancel asks a run to stop. Twice is harmless.
func (p *Page) cancel(v *visit) error {
	_, r, err := p.cancellable(v)
	if err != nil {
		return err
	}
	if err := p.settings.Cancel(v.Request, v.visitor, v.stage, r.ID); err != nil {
		return err
	}
	http.Redirect(v.writer, v.Request, runURL(v.stage, r.ID), http.StatusSeeOther)
	return nil
}

func (p *Page) cancellable(v *visit) (*stageHead, statestore.Run, error) {
	id, err := wire.Name(v.PathValue("run"))
	if err != nil {
		return nil, statestore.Run{}, notFound("There is no such run", "")
	}
	if p.settings.Cancel == nil {
		return nil, statestore.Run{}, &problem{http.StatusForbidden, "These pages write nothing", "", "athanor cancel --stage " + v.stage.Name + " asks the run to stop; athanor ui --allow-write has a form for it."}
	}
	if !v.visitor.May(Cancel, v.stage) {
		return nil, statestore.Run{}, &problem{http.StatusForbidden, "You may not cancel this run", v.visitor.Name + " needs the role deployer on " + v.stage.String() + ".", ""}
	}
	head, _, err := p.head(v)
	if err != nil {
		return nil, statestore.Run{}, err
	}
	r, err := findRun(head, id)
	if err == nil && r.State != statestore.Running {
		err = &problem{http.StatusConflict, "The run has ended", "Run " + r.ID + " " + string(r.State) + ".", ""}
	}
	return head, r, err
}

var errCursor = errors.New("the cursor is not a number")
