package awstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// Documented is what AWS documents of how it answers and no emulator does. Its clock is that of the caller: in a bubble of
// testing/synctest, where [Documents.Observed] and [Documents.Outside] answer in the goroutine that asks, an hour passes at once.
type Documented struct {
	// Quotas are how often operations may be called. Nil: as often as anybody likes. See [PublishedQuotas].
	Quotas []Quota
	// Behind is how far reads are behind.
	Behind Lag
	// Propagation is how long other services do not know what changed in IAM. AWS names seconds, and no bound:
	// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html#troubleshoot_general_eventual-consistency
	Propagation time.Duration
	// Pending is how long a change of a hosted zone is PENDING, a function or a table is being created or changed, a distribution or
	// an invalidation is InProgress, and a deployment of a service of ECS is IN_PROGRESS; a certificate is issued when its records have been there for as long:
	// https://docs.aws.amazon.com/Route53/latest/APIReference/API_GetChange.html
	// https://docs.aws.amazon.com/lambda/latest/dg/functions-states.html
	// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TableDescription.html
	// https://docs.aws.amazon.com/cloudfront/latest/APIReference/API_Distribution.html
	// https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Deployment.html
	// https://docs.aws.amazon.com/acm/latest/userguide/dns-validation.html
	Pending time.Duration
	// Latency is how long each call takes.
	Latency time.Duration
}

// Documents is a cloud that behaves as AWS documents.
type Documents struct {
	server *Server
	player *player
}

// Play makes a cloud behave as AWS documents, from now on. What somebody else calls has no quota and is never behind.
func (s *Server) Play(t testing.TB, documented Documented) *Documents {
	t.Helper()
	p := &player{
		Documented: documented, emulator: s.emulator, names: operationNames(t), buckets: map[string]*bucket{}, shown: map[string]*shown{},
		written: map[string]time.Time{}, roles: map[string]*role{}, managed: map[string]*document{}, busy: map[string]busy{}, functions: map[string]string{}, changes: map[string]time.Time{},
		refusals: map[string]int{}, edges: map[string]time.Time{}, proofs: map[string]time.Time{}, waited: map[string]int{},
	}
	// A connection that waits for a next request would hold the clock of a bubble.
	s.emulator.transport.DisableKeepAlives = true
	s.emulator.player.Store(p)
	return &Documents{s, p}
}

// Observed is [Server.ObservedConfig], in the goroutine of the caller.
func (d *Documents) Observed(testing.TB) aws.Config { return d.config(false) }

// Outside is [Server.Config], in the goroutine of the caller.
func (d *Documents) Outside(testing.TB) aws.Config { return d.config(true) }

// Throttled is how often calls were refused since there were too many of them, by operation.
func (d *Documents) Throttled() map[string]int {
	d.player.mu.Lock()
	defer d.player.mu.Unlock()
	return maps.Clone(d.player.refusals)
}

// Waited is how often something of CloudFront or ACM was shown that is not there yet, by operation.
func (d *Documents) Waited() map[string]int {
	d.player.mu.Lock()
	defer d.player.mu.Unlock()
	return maps.Clone(d.player.waited)
}

func (d *Documents) config(outside bool) aws.Config {
	cfg := d.server.config(inProcess{d.server.Proxy, outside})
	cfg.Credentials = credentials.NewStaticCredentialsProvider(AccessKey(d.server.Account), secretKey, "")
	return cfg
}

// inProcess is a transport to a handler that runs in the goroutine of the caller.
type inProcess struct {
	to      http.Handler
	outside bool
}

type outsideKey struct{}

var errCut = fmt.Errorf("the connection was cut: %w", syscall.ECONNRESET)

// RoundTrip lets the handler answer. A handler that cuts the connection gives no answer.
func (t inProcess) RoundTrip(r *http.Request) (res *http.Response, err error) {
	ctx := r.Context()
	if t.outside {
		ctx = context.WithValue(ctx, outsideKey{}, true)
	}
	sent := r.Clone(ctx)
	if sent.Body == nil {
		sent.Body = http.NoBody
	}
	if sent.Host == "" {
		sent.Host = sent.URL.Host
	}
	defer sent.Body.Close()
	defer func() {
		switch v := recover(); v {
		case nil:
		case http.ErrAbortHandler:
			err = errCut
		default:
			panic(v)
		}
	}()
	w := httptest.NewRecorder()
	if t.outside {
		sent.Header.Set("X-Wiretest-Outsider", "true")
	}
	t.to.ServeHTTP(w, sent)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	res = w.Result()
	res.Request = r
	if r.Method == http.MethodHead {
		res.Body = io.NopCloser(http.NoBody)
	}
	return res, nil
}

// player plays what is documented in front of the emulator.
type player struct {
	Documented
	emulator *moto
	names    map[string][]operationName

	mu        sync.Mutex
	buckets   map[string]*bucket
	refusals  map[string]int
	access    access
	shown     map[string]*shown
	written   map[string]time.Time // when a service was last written to
	created   []creation
	roles     map[string]*role
	managed   map[string]*document // of customer managed policies, by ARN
	busy      map[string]busy      // functions and tables
	functions map[string]string    // the role of each function
	changes   map[string]time.Time // of hosted zones: when each was made
	edges     map[string]time.Time // of distributions and invalidations: since when each is under way
	proofs    map[string]time.Time // of records: since when each is there
	waited    map[string]int
}

var errOutOfTime = errors.New("the caller went away")

// Answer is that of the emulator to a call that AWS would let through, as AWS would show it.
func (p *player) Answer(ctx context.Context, r *http.Request, c Call) Answer {
	outside := r.Context().Value(outsideKey{}) != nil
	c.Operation = p.operation(r, c)
	if p.Latency > 0 && !outside {
		select {
		case <-time.After(p.Latency):
		case <-r.Context().Done():
			return unreachable(errOutOfTime)
		}
	}
	if !outside {
		if p.overQuota(c) {
			return throttled(c)
		}
		if !p.authorizes(r, c) {
			return denied(c)
		}
		if f, refused := p.refuses(c); refused {
			return spell(c, f)
		}
	}
	if a, ok := p.change(c); ok {
		return a
	}
	began := time.Now()
	a := p.emulator.forward(ctx, r, c)
	if c.Mutating && a.Status/100 == 2 {
		p.note(c, &a, began)
	}
	if outside || c.Mutating || c.Constant {
		return a
	}
	a = p.content(c, p.state(c, a))
	return p.behind(c, a)
}

// note remembers what a change did.
func (p *player) note(c Call, a *Answer, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written[serviceKey(c)] = at
	p.noteCreation(c, *a, at)
	p.noteRole(c, *a, at)
	p.noteBusy(c, at)
	p.noteChange(c, a, at)
	p.noteContent(c, a, at)
}

// serviceKey is the same for all calls of one service that see the same objects.
func serviceKey(c Call) string { return c.Account + "\x00" + c.Region + "\x00" + c.Service }
