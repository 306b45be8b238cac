package page

import (
	"context"
	"io"

	"github.com/athanor-dev/athanor/statestore"
)

// mostWarmed is how many stages are asked for their newest run before the first page.
const mostWarmed = 100

// warmed are the templates of the pages of a stage.
var warmed = []string{"stacks", "resources", "resource", "graph", "history", "compare", "run", "plans", "plan"}

// Warm does before the first page what it would wait for: templates and files are prepared, and of the stage that was worked on last
// it is known what its newest run did and where its program declares resources. What cannot be read is said by the page that needs it.
func (p *Page) Warm(ctx context.Context) {
	for _, name := range warmed {
		_ = templates().ExecuteTemplate(io.Discard, name, &frame{}) // it is prepared by that, and ends where the body is missing
	}
	stages, err := p.settings.Store.Stages(ctx)
	if err != nil {
		return
	}
	var stage statestore.Stage
	var newest statestore.Run
	for _, s := range stages[:min(len(stages), mostWarmed)] {
		if runs, err := p.settings.Store.Runs(ctx, s, 1); err == nil && len(runs) > 0 && !runs[0].Started.Before(newest.Started) {
			stage, newest = s, runs[0]
		}
	}
	if newest.ID == "" {
		return
	}
	_, _ = p.outcome(ctx, stage, newest)
	p.declare(stage)
}

// declare asks the program of a stage where it declares its resources, once. That takes as long as evaluating it, so that it is
// begun when a page of the stage was sent: the page of a resource waits for less of it, and no other page for any.
func (p *Page) declare(stage statestore.Stage) {
	if p.settings.Declared == nil {
		return
	}
	if _, asked := p.asked.LoadOrStore(stage, true); !asked {
		go p.settings.Declared(p.stopping, stage)
	}
}
