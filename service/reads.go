package service

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/athanor-dev/athanor/service/internal/sse"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
)

// about says which store this is, and who asks.
func (s *Service) about(in *request) (any, error) {
	id, err := s.store.ID(in.Context())
	if err != nil {
		return nil, err
	}
	return wire.Service{
		Store: id, Protocol: wire.Version, Version: s.settings.Version, Account: in.caller.account(), Token: in.caller.token.ID,
		Grants: in.caller.token.Grants, Expires: in.caller.token.Expires.Format("2006-01-02T15:04:05Z07:00"),
	}, nil
}

// listStages lists the stages that the caller may read.
func (s *Service) listStages(in *request) (any, error) {
	stages, err := s.store.Stages(in.Context())
	if err != nil {
		return nil, err
	}
	var shown []statestore.Stage
	for _, stage := range stages {
		if roleOn(in.caller.grants, stage) >= reader {
			shown = append(shown, stage)
		}
	}
	return wire.FromStages(shown), nil
}

// snapshot gives the state of a stage. The ETag is of the whole answer: a row that is damaged later changes no serial.
func (s *Service) snapshot(in *request) (any, error) {
	snap, err := s.store.Load(in.Context(), in.stage)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(wire.FromSnapshot(snap))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
	in.writer.Header().Set("ETag", tag)
	if in.Header.Get("If-None-Match") == tag {
		in.writer.WriteHeader(http.StatusNotModified)
		return nil, nil
	}
	writeBody(in.writer, in.Request, http.StatusOK, "application/json", body)
	return nil, nil
}

// versions is the store as one that keeps earlier versions of a stage.
func (s *Service) versions() (statestore.Versions, error) {
	if store, ok := s.store.(statestore.Versions); ok {
		return store, nil
	}
	return nil, wire.NewProblem(http.StatusNotFound, wire.CodeNotFound, "the store of the service keeps no versions", "")
}

// listVersions lists the versions of a stage that are kept.
func (s *Service) listVersions(in *request) (any, error) {
	store, err := s.versions()
	if err != nil {
		return nil, err
	}
	versions, err := store.Versions(in.Context(), in.stage)
	if err != nil {
		return nil, err
	}
	return wire.FromVersions(versions), nil
}

// version gives an earlier version of a stage.
func (s *Service) version(in *request) (any, error) {
	store, err := s.versions()
	if err != nil {
		return nil, err
	}
	serial, err := strconv.ParseUint(in.PathValue("serial"), 10, 64)
	if err != nil {
		return nil, wire.NewProblem(http.StatusBadRequest, wire.CodeMalformed, "the serial is not a number", "a serial is a number from 1")
	}
	snap, err := store.LoadVersion(in.Context(), in.stage, serial)
	if err != nil {
		return nil, err
	}
	return wire.FromSnapshot(snap), nil
}

// whole reads a number of the query; 0 when there is none.
func (in *request) whole(name string) (uint64, error) {
	text := in.URL.Query().Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, wire.NewProblem(http.StatusBadRequest, wire.CodeMalformed, "a parameter is not a number", name+" is a number from 0")
	}
	return n, nil
}

func (s *Service) listRuns(in *request) (any, error) {
	limit, err := in.whole("limit")
	if err != nil {
		return nil, err
	}
	runs, err := s.store.Runs(in.Context(), in.stage, int(min(limit, statestore.KeptRuns)))
	if err != nil {
		return nil, err
	}
	return wire.FromRuns(runs), nil
}

// mostEvents is how many events one answer has at most; who wants more asks again.
const mostEvents = 1000

// events gives the events of a run behind a cursor: a page of them, or all that come when the client takes a stream.
func (s *Service) events(in *request) (any, error) {
	if in.Header.Get("Accept") == sse.Type {
		return nil, s.follow(in)
	}
	after, err := in.whole("after")
	if err != nil {
		return nil, err
	}
	limit, err := in.whole("limit")
	if err != nil {
		return nil, err
	}
	if limit == 0 || limit > mostEvents {
		limit = mostEvents
	}
	events, err := s.store.Events(in.Context(), in.stage, in.run, after, int(limit))
	if err != nil {
		return nil, err
	}
	return wire.FromEvents(events), nil
}
