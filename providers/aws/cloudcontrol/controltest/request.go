package controltest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// input is what any operation takes.
type input struct {
	TypeName, Identifier, DesiredState, PatchDocument, ClientToken, RequestToken, ResourceModel, NextToken string

	TagFilters []struct {
		Key    string
		Values []string
	}
}

// request is one request to change something.
type request struct {
	token, op, typ, identifier string

	status, code, message string
	steps                 int // still to go once it runs
	at                    time.Time
	body                  string
	// effect makes the change once it runs; it answers a code of handlers and a message when that fails.
	effect func() (code, message string)
	// end is what is done when it succeeds.
	end func()
}

func (q *request) running() bool { return q.status == "PENDING" || q.status == "IN_PROGRESS" }

func (q *request) event() map[string]any {
	e := map[string]any{
		"RequestToken": q.token, "TypeName": q.typ, "Operation": strings.ToUpper(strings.TrimSuffix(q.op, "Resource")),
		"OperationStatus": q.status, "EventTime": seconds(q.at),
	}
	if q.identifier != "" {
		e["Identifier"] = q.identifier
	}
	if q.code != "" {
		e["ErrorCode"], e["StatusMessage"] = q.code, q.message
	}
	if q.running() {
		e["RetryAfter"] = seconds(time.Now())
	}
	return e
}

// request takes a request, or finds the one that its client token names.
func (s *Server) request(op string, t *schema, in *input) (*request, *problem) {
	body := op + in.TypeName + in.Identifier + in.DesiredState + in.PatchDocument
	if q := s.tokens[in.ClientToken]; q != nil && in.ClientToken != "" {
		if q.body != body {
			return nil, refuse("ClientTokenConflictException", "the token was used for another request")
		}
		return q, nil
	}
	s.serial++
	q := &request{
		token: fmt.Sprintf("request-%d", s.serial), op: op, typ: in.TypeName, identifier: in.Identifier,
		status: "PENDING", at: time.Now(), body: body,
	}
	var bad *problem
	switch op {
	case "CreateResource":
		bad = s.create(q, t, in)
	case "UpdateResource":
		bad = s.update(q, t, in)
	default:
		bad = s.remove(q, in)
	}
	if bad != nil {
		return nil, bad
	}
	if other := s.busy(q); other != nil {
		return nil, refuse("ConcurrentOperationException", "%s is under way for %s", other.op, other.identifier)
	}
	s.requests[q.token] = q
	s.tokens[in.ClientToken] = q
	return q, nil
}

// busy is another request for the same resource.
func (s *Server) busy(q *request) *request {
	for _, other := range s.requests {
		if other.running() && other.typ == q.typ && other.identifier == q.identifier && q.identifier != "" {
			return other
		}
	}
	return nil
}

// advance takes one step: pending, running, ended.
func (s *Server) advance(q *request) {
	switch q.status {
	case "PENDING":
		q.status, q.steps = "IN_PROGRESS", 2
		if q.code, q.message = q.effect(); q.code != "" {
			q.status = "FAILED"
		}
	case "IN_PROGRESS":
		if q.steps--; q.steps > 0 {
			return
		}
		q.status = "SUCCESS"
		if r := s.refusal(q.op, q.typ, func(r *Refusal) bool { return r.Late }); r != nil {
			q.status, q.code, q.message = "FAILED", r.Code, "refused by the test"
			break
		}
		if q.end != nil {
			q.end()
		}
	default:
		return
	}
	q.at = time.Now()
}

// create makes a resource as soon as it runs. A name that is taken is only found out then.
func (s *Server) create(q *request, t *schema, in *input) *problem {
	var model map[string]any
	if err := json.Unmarshal([]byte(in.DesiredState), &model); err != nil {
		return refuse("InvalidRequestException", "DesiredState: %v", err)
	}
	if problem := s.schemas.invalid(t, model); problem != "" {
		return refuse("InvalidRequestException", "%s", problem)
	}
	r := &resource{typ: t, model: model}
	if chosen := r.chosen(); chosen != "" {
		q.identifier = chosen
	}
	q.effect = func() (string, string) {
		if problem := s.dangling(t, model); problem != "" {
			return "NotFound", problem
		}
		s.complete(r)
		id := r.identifier()
		if s.resources[key(in.TypeName, id)] != nil {
			return "AlreadyExists", fmt.Sprintf("%s %s already exists", in.TypeName, id)
		}
		q.identifier = id
		s.resources[key(in.TypeName, id)] = r
		return "", ""
	}
	return nil
}

// update applies a patch. What replaces cannot be patched.
func (s *Server) update(q *request, t *schema, in *input) *problem {
	var patch []operation
	if err := json.Unmarshal([]byte(in.PatchDocument), &patch); err != nil {
		return refuse("InvalidRequestException", "PatchDocument: %v", err)
	}
	r := s.resources[key(in.TypeName, in.Identifier)]
	if r == nil {
		return refuse("ResourceNotFoundException", "%s %s was not found", in.TypeName, in.Identifier)
	}
	shown := s.shown(r)
	next, problem := apply(patch, shown)
	if problem != "" {
		return refuse("InvalidRequestException", "%s", problem)
	}
	for name := range next {
		if p := t.Properties[name]; p == nil {
			if fmt.Sprint(next[name]) != fmt.Sprint(shown[name]) {
				return refuse("InvalidRequestException", "#: extraneous key [%s] is read-only", name)
			}
			delete(next, name)
		}
	}
	for name, p := range t.Properties {
		if p.CausesReplacement == "yes" && !slices.Contains(s.hidden[in.TypeName], name) && encoded(next[name]) != encoded(r.model[name]) {
			return refuse("NotUpdatableException", "%s cannot be updated", name)
		}
	}
	if problem := s.schemas.invalid(t, next); problem != "" {
		return refuse("InvalidRequestException", "%s", problem)
	}
	q.effect = func() (string, string) {
		if problem := s.dangling(t, next); problem != "" {
			return "NotFound", problem
		}
		for name, p := range t.Properties {
			if p.CausesReplacement != "yes" {
				delete(r.model, name) // what can only be written and is not sent again is deleted
			}
		}
		maps.Copy(r.model, next)
		s.complete(r)
		return "", ""
	}
	return nil
}

func (s *Server) remove(q *request, in *input) *problem {
	at := key(in.TypeName, in.Identifier)
	if s.resources[at] == nil {
		return refuse("ResourceNotFoundException", "%s %s was not found", in.TypeName, in.Identifier)
	}
	q.effect = func() (string, string) {
		if user := s.user(s.resources[at]); user != "" {
			return "ResourceConflict", "it is used by " + user
		}
		return "", ""
	}
	q.end = func() { delete(s.resources, at) }
	return nil
}

func encoded(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}
