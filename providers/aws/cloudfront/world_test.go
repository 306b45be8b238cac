package cloudfront

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	sdkaws "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/providers/aws/awstest"
	"github.com/athanor-dev/athanor/providers/kindtest"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

type (
	obj  = map[string]any
	list = []any
)

// likeAWS is what CloudFront does and ministack does not: a changed distribution and a new invalidation are in progress for a while,
// a distribution is not deleted until all edge locations know that it is disabled, and a creation that is made again with another
// body is refused. Without late all of it is done at once.
type likeAWS struct {
	front *awstest.Front

	mu    sync.Mutex
	late  int            // for how many answers something is in progress
	until map[string]int // for how many more it is, by distribution, or invalidation
}

var (
	distributionPath = regexp.MustCompile(`^/2020-05-31/distribution/([^/]+)(/config|/invalidation(?:/([^/]+))?)?$`)
	statusText       = regexp.MustCompile(`<Status>[A-Za-z]+</Status>`)
	idText           = regexp.MustCompile(`<Id>([^<]+)</Id>`)
)

// ServeHTTP passes one request on.
func (l *likeAWS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller went away
	}
	of := distributionPath.FindStringSubmatch(r.URL.Path)
	if r.Method == http.MethodDelete && of != nil && l.isLate(of[1]) {
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte(`<ErrorResponse><Error><Code>DistributionNotDisabled</Code><Message>it is in progress</Message></Error></ErrorResponse>`))
		return
	}
	status, header, answer, effect := l.front.Exchange(r, body)
	id := ""
	if found := idText.FindSubmatch(answer); found != nil {
		id = string(found[1])
	}
	isOne := of != nil || strings.HasSuffix(r.URL.Path, "/distribution") && r.Method == http.MethodPost
	if isOne && effect && (r.Method == http.MethodPost || r.Method == http.MethodPut) && status/100 == 2 {
		l.mu.Lock()
		l.until[id] = l.late
		l.mu.Unlock()
	}
	if status == 0 {
		panic(http.ErrAbortHandler)
	}
	if isOne && status/100 == 2 && l.isLate(id) {
		answer = statusText.ReplaceAll(answer, []byte("<Status>InProgress</Status>"))
		l.mu.Lock()
		l.until[id]--
		l.mu.Unlock()
	}
	maps.Copy(w.Header(), header)
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

func (l *likeAWS) isLate(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until[id] > 0
}

type world struct {
	awstest.World[aws.Cloud]
	like *likeAWS
}

func newWorld(t *testing.T) *world { return worldOf(t, distributionKind.Erase(), "cdn") }

func newControlWorld(t *testing.T) *world { return worldOf(t, controlKind.Erase(), "control") }

// worldOf is in ministack, which keeps whole configurations; moto does not.
func worldOf(t *testing.T, kind reconcile.Any, address string) *world {
	t.Helper()
	server := awstest.StartMinistack(t)
	l := &likeAWS{until: map[string]int{}}
	l.front = awstest.Before(t, server, l)
	connect := func(cfg sdkaws.Config, _ ...func(*struct{})) *aws.Cloud { return aws.FromConfig(cfg).AtAnyRate() }
	w := &world{awstest.NewWorld(t, server, l.front, connect, kind, address), l}
	w.Located(t, server.Account)
	return w
}

func (w *world) get(t kindtest.T, id string) (shown, string) {
	t.Helper()
	d, etag, err := get(context.Background(), w.Others, id)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return d, etag
}

// edit changes the configuration of a distribution as somebody else.
func (w *world) edit(t kindtest.T, id string, do func(c *config)) error {
	t.Helper()
	d, etag := w.get(t, id)
	do(&d.Config)
	d.Config.Rest = d.Config.Rest.plain()
	return update(context.Background(), w.Others, d, etag)
}

func (w *world) remove(t kindtest.T, id string) error {
	t.Helper()
	if err := w.edit(t, id, func(c *config) { c.set(disabled(c.props())) }); err != nil {
		return err
	}
	_, etag := w.get(t, id)
	_, err := call(context.Background(), w.Others, aws.XMLCall{Operation: "DeleteDistribution", Method: http.MethodDelete, Path: pathOf(id), Match: etag})
	return err
}

func disabled(p DistributionProps) DistributionProps {
	p.Disabled = true
	return p
}

func (w *world) tags(t kindtest.T, id string) map[string]string {
	t.Helper()
	tags, err := tagsOf(context.Background(), w.Others, aws.ARN("arn:aws:cloudfront::"+w.Server.Account+":distribution/"+id))
	if err != nil {
		t.Fatalf("%v", err)
	}
	return tags
}

// distributions are all as others see them.
func (w *world) distributions(t kindtest.T) []any {
	t.Helper()
	var ids []string
	err := pages(context.Background(), w.Others, "ListDistributions", "distribution", func(page listing) {
		for _, d := range page.Distributions {
			ids = append(ids, d.ID)
		}
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	var all []any
	for _, id := range ids {
		d, _ := w.get(t, id)
		d.Config.CallerReference = ""
		text, err := json.Marshal(d.Config)
		if err != nil {
			t.Fatalf("%v", err)
		}
		tags := awstest.Owned(w.tags(t, id))
		delete(tags, tagInvalidated) // what was removed from caches is history
		all = append(all, obj{"config": string(text), "tags": tags})
	}
	return all
}

// invalidations are the references and paths of what was removed from caches.
func (w *world) invalidations(t kindtest.T, id string) []string {
	t.Helper()
	var out struct {
		IDs []string `xml:"Items>InvalidationSummary>Id"`
	}
	at := pathOf(id) + "/invalidation"
	if _, err := call(context.Background(), w.Others, aws.XMLCall{Operation: "ListInvalidations", Method: http.MethodGet, Path: at, Out: &out}); err != nil {
		t.Fatalf("%v", err)
	}
	var all []string
	for _, i := range out.IDs {
		var one struct {
			Paths []string `xml:"InvalidationBatch>Paths>Items>Path"`
		}
		if _, err := call(context.Background(), w.Others, aws.XMLCall{Operation: "GetInvalidation", Method: http.MethodGet, Path: at + "/" + i, Out: &one}); err != nil {
			t.Fatalf("%v", err)
		}
		all = append(all, strings.Join(one.Paths, " "))
	}
	return all
}

func fault(class reconcile.Class) error {
	return awstest.Errors("AccessDenied", "Throttling", "InternalFailure")(class)
}

// hands change each aspect of a distribution as somebody else would.
func hands(ws awstest.Worlds[*world]) map[tree.Path]kindtest.Hand {
	hands := map[tree.Path]kindtest.Hand{
		"": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error { return w.remove(t, to.Attrs["id"].(string)) }),
		"tags": ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
			id := to.Attrs["id"].(string)
			arn := aws.ARN(to.Attrs["arn"].(string))
			have := w.tags(t, id)
			delete(have, tagInvalidated)
			return awstest.Retag(have, to, func(keys []string) error {
				return changeTags(context.Background(), w.Others, arn, "Untag", tagKeys{Namespace: namespace, Items: keys})
			}, func(tags map[string]string) error { return tagResource(context.Background(), w.Others, arn, tags) })
		}),
	}
	whole := ws.Hand(func(w *world, t kindtest.T, to kindtest.Edited) error {
		p := kindtest.PropsOf(t, distributionTable, to.Props)
		return w.edit(t, to.Attrs["id"].(string), func(c *config) { c.set(p) })
	})
	for _, path := range []tree.Path{
		"comment", "disabled", "aliases", "certificate", "minimumTls", "defaultRootObject", "priceClass", "httpVersion", "ipv6", "origins", "default",
		"behaviors", "errors",
	} {
		hands[path] = whole
	}
	return hands
}

// sent is the body of the last call of an operation.
func (w *world) sent(t *testing.T, operation string) string {
	t.Helper()
	text := ""
	for _, c := range w.Server.Calls() {
		if c.Name() == "CloudFront."+operation {
			text = string(bytes.TrimPrefix(c.Body, []byte(`<?xml version="1.0" encoding="UTF-8"?>`+"\n")))
		}
	}
	if text == "" {
		t.Fatalf("no %s among %v", operation, awstest.NamesOf(w.Server.Calls()))
	}
	return text
}

func withTags() url.Values { return url.Values{"WithTags": {""}} }
