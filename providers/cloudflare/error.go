package cloudflare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/athanor-dev/athanor/reconcile"
)

// Error is a call that Cloudflare refused. It holds neither the request nor the token.
type Error struct {
	// Service and Operation are what was called: "KV" and "CreateNamespace".
	Service, Operation string
	// Status of the answer.
	Status int
	// Problems are what the answer says, none when it is not one of the API's.
	Problems []Problem
	// RetryAfter is how long the service asks to be left alone, 0 when it does not say.
	RetryAfter time.Duration
}

// Problem is one error of an answer.
type Problem struct {
	// Code is Cloudflare's number of the error.
	Code int64 `json:"code"`
	// Message is its text.
	Message string `json:"message"`
	// Chain are the causes.
	Chain []Problem `json:"error_chain"`
}

func (e *Error) Error() string {
	if len(e.Problems) == 0 {
		return fmt.Sprintf("%s: status %d %s", e.Operation, e.Status, http.StatusText(e.Status))
	}
	var texts []string
	var add func([]Problem)
	add = func(problems []Problem) {
		for _, p := range problems {
			texts = append(texts, fmt.Sprintf("%s (%d)", strings.TrimSpace(p.Message), p.Code))
			add(p.Chain)
		}
	}
	add(e.Problems)
	return fmt.Sprintf("%s: %s", e.Operation, strings.Join(texts, "; "))
}

// Has reports whether the answer names a code.
func (e *Error) Has(code int64) bool {
	for _, p := range e.Problems {
		if p.Code == code {
			return true
		}
	}
	return false
}

// class goes by the codes, in the order of the answer, and then by the status.
func (e *Error) class() reconcile.Class {
	for _, p := range e.Problems {
		if class := ClassOf(e.Service, p.Code); class != reconcile.Unknown {
			return class
		}
	}
	return reconcile.ClassOfStatus(e.Status)
}

// refusal is the error that an answer is, nil when it is none: some come with status 200.
func refusal(op Operation, token string, res *http.Response, body []byte) error {
	var envelope struct {
		Success *bool     `json:"success"`
		Errors  []Problem `json:"errors"`
	}
	_ = json.Unmarshal(body, &envelope) // an answer that is no JSON has a status
	if res.StatusCode < 300 && (envelope.Success == nil || *envelope.Success) {
		return nil
	}
	redact(envelope.Errors, token)
	return hinted(&Error{
		Service: op.Service, Operation: op.Name, Status: res.StatusCode, Problems: envelope.Errors,
		RetryAfter: retryAfter(res.Header),
	})
}

// redact takes the token out of texts that may repeat it.
func redact(problems []Problem, token string) {
	for i := range problems {
		if token != "" {
			problems[i].Message = strings.ReplaceAll(problems[i].Message, token, reconcile.Mask)
		}
		redact(problems[i].Chain, token)
	}
}

func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// hints say what to do about errors whose own message does not, by service; those under "" are of all services.
var hints = map[string]map[int64]string{
	"": {
		6003:  "the token is malformed: it is the text that Cloudflare showed once, without quotes or spaces",
		9109:  "the token is unknown, expired, or not allowed from this address",
		10000: "the token lacks a permission, or is not for this account: `athanor kinds KIND` says what a kind needs",
	},
	"KV": {10048: "the free plan has no more of these operations until 00:00 UTC: https://developers.cloudflare.com/kv/platform/pricing/"},
	"Workers": {
		10142: "take the binding out of the other Worker first; of two that are bound to each other, declare both in one stack, each by a reference to the other",
	},
	"Workflows": {10208: "schedules of a Workflow need the paid plan of Workers: take them away, and begin an instance from a cron of its Worker, or change the plan"},
	"Zones":     {1015: "the plan of the zone does not offer this setting: take the declaration away, or change the plan"},
}

// rejections say of codes that no resource is at fault for why every call with the token fails.
var rejections = map[int64]string{6003: "the token is malformed", 9109: "the token is not accepted"}

func hinted(err *Error) error {
	for _, p := range err.Problems {
		hint := cmp.Or(hints[err.Service][p.Code], hints[""][p.Code])
		if hint == "" {
			continue
		}
		hinted := reconcile.WithHint(err, "%s", hint)
		if why, ok := rejections[p.Code]; ok {
			return reconcile.WithCommon(hinted, why)
		}
		return hinted
	}
	return err
}
