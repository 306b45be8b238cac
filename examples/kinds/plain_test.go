package kinds_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/examples/kinds"
	"github.com/athanor-dev/athanor/providers"
	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/mem"
	"github.com/athanor-dev/athanor/statestore/proctest"
	"github.com/athanor-dev/athanor/statestore/s3/s3test"
	"github.com/athanor-dev/athanor/statestore/seal"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// checks are what the example of each kind is tried with, in order.
var checks = []struct {
	name string
	try  func(*trial) error
}{
	{"create", (*trial).create},
	{"unchanged", (*trial).unchanged},
	{"update", (*trial).update},
	{"found without state", (*trial).found},
	{"deleted outside", (*trial).deletedOutside},
	{"destroy", (*trial).destroy},
}

// changes are what an update changes of each kind. Kinds with the prop tags that are not named here get a tag.
var changes = map[string]map[string]any{
	"aws.cloudfront.OriginAccessControl": {"description": "reads another site"},
	"aws.ecr.Image":                      {"tags": []any{"stable"}},
	"aws.cognito.UserPoolClient":         {"refreshTokenValidity": "72h"},
	"aws.lambda.Alias":                   {"description": "what customers call"},
	"aws.lambda.EventSourceMapping":      {"batchSize": int64(7)},
	"aws.lambda.Layer":                   {"description": "Migrations of the store"},
	"aws.lambda.Permission":              nil, // every change replaces it
	"aws.lambda.Version":                 nil, // it changes with its function
	"aws.route53.Record":                 {"values": []any{"192.0.2.2"}},
	"aws.scheduler.Schedule":             {"input": map[string]any{"report": "weekly"}},
	"aws.sns.Subscription":               {"filterPolicy": map[string]any{"type": []any{"order"}}},
}

// lacks are the checks that an emulator cannot do as AWS does, by emulator, kind and check, with the reason.
var lacks = map[s3test.Kind]map[string]map[string]string{
	s3test.Moto: {
		"aws.Website":                 nothing("its distribution has an origin in a bucket, as below"),
		"aws.apigatewayv2.DomainName": untagged("TagResource answers 404 for a domain"),
		"aws.cognito.UserPool":        untagged("it has no TagResource of user pools"),
		"aws.cognito.UserPoolClient": {
			"found without state": "it has no TagResource of user pools, which its pool is found by", "deleted outside": "it has no TagResource of user pools, which its pool is found by",
		},
		"aws.ecr.Image":               nothing(noRegistry),
		"aws.cloudfront.Distribution": nothing("it makes origins in buckets without an identity to servers, and forgets what controls their access"),
		"aws.ecs.Service":             nothing("it starts no tasks, wants security groups, and forgets what is set of deployments"),
		"aws.lambda.Alias":            nothing("it has no provisioned concurrency"),
	},
	s3test.Ministack: {
		"aws.Website":              {"found without state": noCertificates, "deleted outside": noCertificates},
		"aws.acm.Certificate":      {"found without state": noCertificates, "deleted outside": noCertificates},
		"aws.ecr.Image":            nothing(noRegistry),
		"aws.apigatewayv2.HTTPAPI": untagged("TagResource of an API succeeds, and changes no tag that GetApi shows"),
	},
}

const noRegistry = "its registry is the one of AWS, which takes no layers of an emulator's repositories"

const noCertificates = "GetResources of the tagging service shows no certificates, which are found by their tags alone"

// untagged are the checks that change tags.
func untagged(reason string) map[string]string {
	return map[string]string{"update": reason, "found without state": reason, "deleted outside": reason}
}

// nothing are all checks, of what does not become as it is declared.
func nothing(reason string) map[string]string {
	all := map[string]string{}
	for _, c := range checks {
		all[c.name] = reason
	}
	return all
}

// patient is the address of a relay that gives the answer about a function once the emulator has made it: ministack takes half a
// second of its own clock for that, of which a bubble knows nothing. It changes no answer.
func patient(t *testing.T, origin string) string {
	t.Helper()
	to, err := url.Parse(origin)
	if err != nil {
		t.Fatal(err)
	}
	relay := httputil.NewSingleHostReverseProxy(to)
	relay.Transport = whenMade{&http.Transport{DisableKeepAlives: true}}
	server := httptest.NewServer(relay)
	t.Cleanup(server.Close)
	return server.URL
}

type whenMade struct{ next http.RoundTripper }

// RoundTrip asks again while a function is being made, for ten seconds at most.
func (w whenMade) RoundTrip(r *http.Request) (*http.Response, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		res, err := w.next.RoundTrip(r)
		if err != nil || r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/functions/") {
			return res, err
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			return nil, err
		}
		res.Body = io.NopCloser(bytes.NewReader(body))
		if !making.Match(body) {
			return res, nil
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	return nil, errors.New("a function is still being made")
}

var making = regexp.MustCompile(`"(State|LastUpdateStatus)": ?"(Pending|InProgress)"`)

// TestPlainEmulators tries the example of each kind of AWS on emulators as they are, which nothing stands before and amends: moto, and
// ministack, which others wrote. What an emulator cannot do is a row of lacks, and a row that is no longer true fails the test.
// For each push every third kind is tried, others on each emulator, and each every night.
func TestPlainEmulators(t *testing.T) {
	for at, emulator := range []s3test.Kind{s3test.Moto, s3test.Ministack} {
		t.Run(string(emulator), func(t *testing.T) {
			t.Parallel()
			var origin string
			if emulator == s3test.Moto {
				origin = awstest.Plain(t)
			} else {
				origin = patient(t, s3test.Start(t, emulator).Origin)
			}
			var report strings.Builder
			run, skipped, whole, tried := 0, 0, 0, 0
			for _, e := range kinds.Examples() {
				if !strings.HasPrefix(e.Kind, "aws.") {
					continue
				}
				tried++
				try := func(t *testing.T) {
					reasons := lacks[emulator][e.Kind]
					for name, err := range resultsOf(t, origin, e) {
						switch reason := reasons[name]; {
						case err != nil && reason == "":
							t.Errorf("%s: %v", name, err)
						case err == nil && reason != "":
							t.Errorf("%s is done now, and is said to be lacking: %s", name, reason)
						}
					}
				}
				if proctest.Played(tried+at, 3) {
					t.Run(e.Kind, try)
				}
				for _, c := range checks {
					if reason := lacks[emulator][e.Kind][c.name]; reason != "" {
						fmt.Fprintf(&report, "%s: no %q: %s\n", e.Kind, c.name, reason)
						skipped++
						continue
					}
					run++
				}
				if len(lacks[emulator][e.Kind]) == 0 {
					whole++
				}
			}
			fmt.Fprintf(&report, "%d of %d kinds in full; %d checks run, %d skipped\n", whole, tried, run, skipped)
			golden(t, filepath.Join("testdata", string(emulator)+".golden"), report.String())
			t.Logf("%s: %s", emulator, report.String())
		})
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// trial is the life of one example on one emulator.
type trial struct {
	t       *testing.T
	example kinds.Example
	origin  string
	account string
	dir     string
	engine  *engine.Engine
	created int
}

var errNotCreated = errors.New("it was not created")

// resultsOf are the results of all checks, in a bubble in which waiting takes no time.
func resultsOf(t *testing.T, origin string, e kinds.Example) (results map[string]error) {
	t.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	cache, today := t.TempDir(), time.Now()
	key, err := seal.LoadOrMake(t.TempDir(), "example", "test")
	if err != nil {
		t.Fatal(err)
	}
	results = map[string]error{}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(today))
		l := &trial{
			t: t, example: e, origin: origin, account: awstest.AccessKey(awstest.NewAccount()), dir: dir,
			engine: &engine.Engine{Store: mem.New(), Key: key, Cache: cache},
		}
		for _, c := range checks {
			if err := results["create"]; err != nil {
				results[c.name] = errNotCreated
				continue
			}
			results[c.name] = c.try(l)
			time.Sleep(time.Hour) // what is not shown at once is shown by now
		}
	})
	return results
}

// connect gives the engine a fresh catalog, as that of the next command, whose calls go to the emulator.
func (l *trial) connect() error {
	cloud := aws.FromConfig(sdk.Config{
		Region: "us-east-1", BaseEndpoint: &l.origin, Credentials: credentials.NewStaticCredentialsProvider(l.account, "secret", ""),
		Retryer: func() sdk.Retryer { return sdk.NopRetryer{} },
		// A connection that waits for a next request would hold the clock of the bubble.
		HTTPClient: &http.Client{Transport: emulated{l.origin, &http.Transport{DisableKeepAlives: true}}},
	}).AtAnyRate()
	var all []reconcile.Provider
	for _, p := range providers.All() {
		if p.Name == "aws" {
			p.Open = func(context.Context, any) (reconcile.Cloud, error) { return cloud, nil }
			all = append(all, p)
		}
	}
	catalog, err := reconcile.NewCatalog(all...)
	l.engine.Catalog = catalog
	return err
}

// emulated is the way to an emulator, and to no server of AWS: an emulator names the registry of AWS.
type emulated struct {
	origin string
	next   http.RoundTripper
}

// RoundTrip makes a request of the emulator.
func (e emulated) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme+"://"+r.URL.Host != e.origin {
		return nil, &net.DNSError{Err: "no server of AWS is reached in tests", Name: r.URL.Host, IsNotFound: true}
	}
	return e.next.RoundTrip(r)
}

func (l *trial) plan(change bool) (*engine.Plan, error) {
	if err := l.connect(); err != nil {
		return nil, err
	}
	g, err := athanor.Evaluate(l.example.Declare, athanor.Input{Stack: "example", Stage: l.stage(), Dir: l.dir})
	if err != nil {
		return nil, err
	}
	for i := range g.Resources {
		if r := &g.Resources[i]; change && r.Kind == l.example.Kind {
			r.Props = changed(r.Kind, r.Props)
		}
	}
	return l.engine.Plan(l.t.Context(), g, engine.PlanOptions{})
}

// stage is one of each example's own.
func (l *trial) stage() string { return strings.ToLower(strings.ReplaceAll(l.example.Kind, ".", "-")) }

func changed(kind string, props map[string]any) map[string]any {
	to, ok := changes[kind]
	if !ok {
		to = map[string]any{"tags": map[string]any{"team": "shop"}}
	}
	props = maps.Clone(props)
	if props == nil {
		props = map[string]any{}
	}
	maps.Copy(props, to)
	return props
}

func (l *trial) apply(p *engine.Plan, err error) (engine.Summary, error) {
	if err != nil {
		return engine.Summary{}, err
	}
	r, err := l.engine.Apply(l.t.Context(), p, engine.ApplyOptions{Command: "deploy"})
	if err != nil {
		return engine.Summary{}, err
	}
	for _, f := range r.Failures {
		err = errors.Join(err, fmt.Errorf("%s: %w", f.Address, f.Err))
	}
	if err == nil && r.Summary.Failed+r.Summary.Blocked+r.Summary.Waiting > 0 {
		err = fmt.Errorf("%+v", r.Summary)
	}
	return r.Summary, err
}

func (l *trial) create() error {
	sum, err := l.apply(l.plan(false))
	if l.created = sum.Created; err == nil && l.created == 0 {
		err = errors.New("nothing was created")
	}
	return err
}

func (l *trial) unchanged() error { return l.isSame(false) }

// isSame is an error where a plan is not empty, with what it would do.
func (l *trial) isSame(change bool) error {
	p, err := l.plan(change)
	if err != nil || !p.Pending() && p.Summary.Blocked == 0 {
		return err
	}
	for _, a := range p.Actions {
		if a.Action != engine.Unchanged {
			err = errors.Join(err, fmt.Errorf("%s: %s %+v %s", a.Address, a.Action, a.Reasons, a.Problem))
		}
	}
	return err
}

func (l *trial) update() error {
	if to, ok := changes[l.example.Kind]; ok && to == nil {
		return nil
	}
	sum, err := l.apply(l.plan(true))
	if err != nil {
		return err
	}
	if sum.Updated == 0 || sum.Created+sum.Replaced+sum.Deleted > 0 {
		return fmt.Errorf("a change of %v: %+v", slices.Collect(maps.Keys(changes[l.example.Kind])), sum)
	}
	if err := l.isSame(true); err != nil {
		return err
	}
	_, err = l.apply(l.plan(false))
	return errors.Join(err, l.isSame(false))
}

// found loses the state, and finds all objects again.
func (l *trial) found() error {
	known := l.engine.Store
	l.engine.Store = mem.New()
	sum, err := l.apply(l.plan(false))
	if err == nil && (sum.Created+sum.Replaced+sum.Deleted > 0 || sum.Recovered != l.created) {
		err = fmt.Errorf("of %d objects: %+v", l.created, sum)
	}
	if err != nil {
		l.engine.Store = known
		return err
	}
	return l.isSame(false)
}

// deletedOutside deletes all objects by another state, and creates them again.
func (l *trial) deletedOutside() error {
	known := l.engine.Store
	l.engine.Store = mem.New()
	_, err := l.apply(l.plan(false))
	if err == nil {
		err = l.destroy()
	}
	l.engine.Store = known
	time.Sleep(time.Hour)
	sum, again := l.apply(l.plan(false))
	if err = errors.Join(err, again); err == nil && sum.Created != l.created {
		err = fmt.Errorf("%d objects were deleted: %+v", l.created, sum)
	}
	return errors.Join(err, l.isSame(false))
}

func (l *trial) destroy() error {
	if err := l.connect(); err != nil {
		return err
	}
	g := &engine.Graph{Format: engine.GraphFormat, Stack: "example", Stage: l.stage(), Dir: l.dir}
	p, err := l.engine.PlanDestroy(l.t.Context(), statestore.Stage{Stack: "example", Name: l.stage()}, g,
		engine.PlanOptions{AllowDelete: []string{"**"}, TakeOver: true})
	sum, err := l.apply(p, err)
	if err == nil && sum.Deleted != l.created {
		err = fmt.Errorf("of %d objects: %+v", l.created, sum)
	}
	return err
}
