package service

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

const auditDrift = "drift.report"

// driftFolder holds the newest report of drift of each stage of a stack.
func driftFolder(stack string) string { return "service.drift/" + wire.Segment(stack) }

// readDrift reads the newest report of a stage; nil when there is none.
func (s *Service) readDrift(ctx context.Context, stage statestore.Stage) (report *wire.Drift, err error) {
	err = s.store.ReadFolder(ctx, driftFolder(stage.Stack), func(f statestore.Folder) error {
		report = nil
		data, err := f.Get(wire.Segment(stage.Name))
		if err != nil || data == nil {
			return err
		}
		report = new(wire.Drift)
		return json.Unmarshal(data, report)
	})
	return report, err
}

func (s *Service) showDrift(in *request) (any, error) {
	report, err := s.readDrift(in.Context(), in.stage)
	if err == nil && report == nil {
		p := wire.NewProblem(http.StatusNotFound, wire.CodeNotFound, "drift of this stage was never reported", "")
		p.Hint = "athanor drift --report"
		err = p
	}
	if err != nil {
		return nil, err
	}
	return report, nil
}

// reportDrift keeps the newest report of a stage. What differs from the report before is in the audit log, and so told to
// webhooks; a schedule that finds the same again adds nothing there.
func (s *Service) reportDrift(in *request) (any, error) {
	var body wire.NewDrift
	if err := decode(in, &body); err != nil {
		return nil, err
	}
	if len(body.Lines) > min(body.Drifted, wire.MostDriftLines) || body.Uncompared < 0 {
		return nil, &statestore.InvalidError{Rule: fmt.Sprintf("a report has at most %d lines, and not more than drifted", wire.MostDriftLines)}
	}
	report := wire.Drift{NewDrift: body, At: s.settings.Clock().UTC(), By: s.author(in)}
	data, err := json.Marshal(report)
	if err != nil {
		return nil, err
	}
	var before *wire.Drift
	err = s.store.ChangeFolder(in.Context(), driftFolder(in.stage.Stack), func(f statestore.Folder) (bool, error) {
		before = nil
		key := wire.Segment(in.stage.Name)
		if old, err := f.Get(key); err != nil {
			return false, err
		} else if old != nil {
			before = new(wire.Drift)
			if err := json.Unmarshal(old, before); err != nil {
				return false, err
			}
		}
		return true, f.Put(key, data)
	})
	if err != nil || before != nil && sameDrift(&before.NewDrift, &body) || before == nil && body.Drifted+body.Uncompared == 0 {
		return report, err
	}
	detail := fmt.Sprintf("%d drifted", body.Drifted)
	if body.Uncompared > 0 {
		detail += fmt.Sprintf(", %d not compared", body.Uncompared)
	}
	return report, s.audit(in.Context(), auditDrift+" "+in.stage.String()+" "+report.At.String(), s.entry(in, auditDrift, detail))
}

// sameDrift reports whether two reports say the same of the resources.
func sameDrift(a, b *wire.NewDrift) bool {
	return a.Drifted == b.Drifted && a.Uncompared == b.Uncompared && slices.EqualFunc(a.Lines, b.Lines, func(a, b wire.DriftLine) bool {
		return a.Address == b.Address && a.Action == b.Action && slices.Equal(a.Paths, b.Paths)
	})
}
