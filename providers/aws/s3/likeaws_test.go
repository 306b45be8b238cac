package s3

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// likeAWS stands before the emulator and does what S3 is documented to do where the emulator does not:
//
//   - A new bucket has all four public access blocks on and ownership BucketOwnerEnforced, since April 2023; a
//     bucket of moto has neither.
//
//   - requestPayment is not known to moto: it lists the bucket's objects for GET, and creates it for PUT.
//
//   - Lifecycle rules keep their sizes and numbers of newer versions, and logging the form of its keys, which moto
//     drops.
//
//   - Notifications are shown with EventBridge, and with the names of filter rules in another case than they were sent in.
//     One whose destination is closed is refused, unless the request wants it taken untried.
//
//   - Objects are encrypted with keys of S3 where nothing else is said, and say so, since January 2023. The ETag of one that a key of KMS
//     encrypts is not the MD5 of its bytes.
//
// It also gives each world of a test its own names of buckets, which S3 and moto share among all accounts, and
// keeps buckets for logs in it that listings do not show. It changes nothing else, and every call reaches the
// emulator through the proxy that counts and breaks it.
type likeAWS struct {
	*awstest.Front
	scope   string
	outside *sdk.Client

	mu        sync.Mutex
	payer     map[string]string
	lifecycle map[string][]byte
	logs      map[string]string
	told      map[string]string
	closed    []string // ARNs of destinations that do not let S3 in
	uncounted bool     // heads do not count tags, as for those who may not read them
	anyOwner  []string
}

// logBucket and moreLogs are the buckets of every world that logs can be written to.
const (
	logBucket = "the-logs"
	moreLogs  = logBucket + "-too"
)

func startLikeAWS(t *testing.T, cloud *awstest.Server) *likeAWS {
	t.Helper()
	s := &likeAWS{
		outside: connect(cloud.Config(t)),
		payer:   map[string]string{}, lifecycle: map[string][]byte{}, logs: map[string]string{}, told: map[string]string{}, scope: scopeOf(cloud.Account),
	}
	s.Front = awstest.Before(t, cloud, s)
	s.makeLogs(t, logBucket)
	s.makeLogs(t, moreLogs)
	return s
}

// scopeOf is short, so that the longest generated name still has 63 characters.
func scopeOf(account string) string {
	n, _ := strconv.ParseInt(account, 10, 64)
	return strconv.FormatInt(n%(36*36*36*36*36*36), 36) + "-"
}

// makeLogs makes a bucket for logs, which the service that writes them may write to.
func (s *likeAWS) makeLogs(t *testing.T, bucket string) {
	t.Helper()
	name := s.scope + bucket
	if _, err := s.outside.CreateBucket(t.Context(), &sdk.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	policy := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"logging.s3.amazonaws.com"},`+
		`"Action":["s3:PutObject"],"Resource":"arn:aws:s3:::%s/*"}]}`, name)
	if _, err := s.outside.PutBucketPolicy(t.Context(), &sdk.PutBucketPolicyInput{Bucket: &name, Policy: &policy}); err != nil {
		t.Fatal(err)
	}
}

func (s *likeAWS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	q := r.URL.Query()
	q.Del("x-id")
	s.note(r, bucket, len(q))
	if bucket != "" {
		bucket = s.scope + bucket
		for _, p := range []*string{&r.URL.Path, &r.URL.RawPath} {
			if *p != "" {
				*p = "/" + s.scope + strings.TrimPrefix(*p, "/")
			}
		}
	}
	switch {
	case bucket == "" && r.Method == http.MethodGet:
		s.list(w, r, q)
	case bucket == "":
		s.pass(w, r, nil)
	case key != "":
		if match := r.Header.Get("If-Match"); strings.HasPrefix(match, `"kms`) {
			r.Header.Set("If-Match", `"`+match[len(`"kms`):])
		}
		s.pass(w, r, func(res *http.Response) {
			if tag := res.Header.Get("ETag"); tag != "" && strings.HasPrefix(res.Header.Get("X-Amz-Server-Side-Encryption"), "aws:kms") {
				res.Header.Set("ETag", `"kms`+strings.TrimPrefix(tag, `"`))
			}
			if is := "X-Amz-Server-Side-Encryption"; res.Header.Get(is) == "" && (r.Method == http.MethodHead || r.Method == http.MethodGet) {
				res.Header.Set(is, "AES256")
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.uncounted {
				res.Header.Del("X-Amz-Tagging-Count")
			}
		})
	case q.Has("logging"):
		s.logging(w, r, bucket)
	case q.Has("requestPayment"):
		s.payment(w, r, bucket)
	case q.Has("notification"):
		s.notifications(w, r, bucket)
	case q.Has("lifecycle"):
		s.rules(w, r, bucket)
	case r.Method == http.MethodPut && len(q) == 0:
		s.create(w, r, bucket)
	case r.Method == http.MethodDelete && len(q) == 0:
		s.pass(w, r, func(*http.Response) { s.drop(bucket) })
	default:
		s.pass(w, r, nil)
	}
}

// note remembers calls of the tested code that do not say who must own the bucket. CreateBucket cannot.
func (s *likeAWS) note(r *http.Request, bucket string, parts int) {
	create := r.Method == http.MethodPut && parts == 0 && strings.Trim(r.URL.Path, "/") == bucket
	if bucket == "" || create || r.Header.Get("X-Awstest-Outsider") != "" || r.Header.Get("X-Amz-Expected-Bucket-Owner") != "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.anyOwner = append(s.anyOwner, r.Method+" "+r.URL.RequestURI())
}

// unowned are the calls that did not say who must own the bucket.
func (s *likeAWS) unowned() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.anyOwner)
}

// pass sends a request on and its answer back, changed by edit. Without an answer there is none either.
func (s *likeAWS) pass(w http.ResponseWriter, r *http.Request, edit func(*http.Response)) {
	res, err := s.Send(r, nil)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer res.Body.Close()
	if edit != nil && res.StatusCode < 300 {
		edit(res)
	}
	maps.Copy(w.Header(), res.Header)
	w.WriteHeader(res.StatusCode)
	if _, err := io.Copy(w, res.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
}

var entry = regexp.MustCompile(`(?s)<Bucket>.*?</Bucket>`)

// list shows the buckets of this world.
func (s *likeAWS) list(w http.ResponseWriter, r *http.Request, q url.Values) {
	q.Set("prefix", s.scope+q.Get("prefix"))
	r.URL.RawQuery = q.Encode()
	s.pass(w, r, func(res *http.Response) {
		body, _ := io.ReadAll(res.Body)
		shown := entry.ReplaceAllStringFunc(string(body), func(e string) string {
			if strings.Contains(e, s.scope+logBucket) {
				return ""
			}
			return strings.Replace(e, "<Name>"+s.scope, "<Name>", 1)
		})
		replace(res, shown)
	})
}

// logging names the target as it is named in this world.
func (s *likeAWS) logging(w http.ResponseWriter, r *http.Request, bucket string) {
	body, _ := io.ReadAll(r.Body)
	named := strings.Replace(string(body), "<TargetBucket>", "<TargetBucket>"+s.scope, 1)
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(named)), int64(len(named))
	r.Header.Set("Content-Length", fmt.Sprint(len(named)))
	s.pass(w, r, func(res *http.Response) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.Method == http.MethodPut {
			s.logs[bucket] = string(body)
		} else if kept := s.logs[bucket]; kept != "" {
			replace(res, kept)
		}
	})
}

func replace(res *http.Response, body string) {
	res.Body.Close()
	res.StatusCode, res.Body = http.StatusOK, io.NopCloser(strings.NewReader(body))
	res.Header.Set("Content-Type", "application/xml")
	res.Header.Set("Content-Length", fmt.Sprint(len(body)))
}

func (s *likeAWS) drop(bucket string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.payer, bucket)
	delete(s.lifecycle, bucket)
	delete(s.logs, bucket)
	delete(s.told, bucket)
}

// notifications keeps the document, and tries destinations as S3 does.
func (s *likeAWS) notifications(w http.ResponseWriter, r *http.Request, bucket string) {
	body, _ := io.ReadAll(r.Body)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	untried := r.Header.Get("X-Amz-Skip-Destination-Validation") == "true"
	for _, arn := range s.closed {
		if r.Method == http.MethodPut && !untried && bytes.Contains(body, []byte(arn)) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `<Error><Code>InvalidArgument</Code><Message>Unable to validate the following destination configurations</Message></Error>`)
			return
		}
	}
	s.pass(w, r, func(res *http.Response) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.Method == http.MethodPut {
			s.told[bucket] = strings.NewReplacer("<Name>prefix<", "<Name>Prefix<", "<Name>suffix<", "<Name>Suffix<").Replace(string(body))
		} else if kept := s.told[bucket]; kept != "" {
			replace(res, kept)
		}
	})
}

// create makes a bucket as S3 does. What moto leaves out is added even if the answer is lost on the way back.
func (s *likeAWS) create(w http.ResponseWriter, r *http.Request, bucket string) {
	if s.exists(bucket) {
		s.pass(w, r, nil)
		return
	}
	added := false
	add := func() {
		if added || !s.exists(bucket) {
			return
		}
		added = true
		if err := s.born(bucket, r.Header.Get("X-Amz-Object-Ownership")); err != nil {
			panic(err)
		}
	}
	defer add()
	s.pass(w, r, func(*http.Response) { add() })
}

func (s *likeAWS) exists(bucket string) bool {
	_, err := s.outside.HeadBucket(context.Background(), &sdk.HeadBucketInput{Bucket: &bucket})
	return err == nil
}

func (s *likeAWS) born(bucket, ownership string) error {
	ctx := context.Background()
	s.drop(bucket)
	if ownership == "" {
		if err := enforceOwner(ctx, s.outside, bucket); err != nil {
			return err
		}
	}
	_, err := s.outside.PutPublicAccessBlock(ctx, &sdk.PutPublicAccessBlockInput{
		Bucket: &bucket, PublicAccessBlockConfiguration: &types.PublicAccessBlockConfiguration{
			BlockPublicAcls: new(true), IgnorePublicAcls: new(true), BlockPublicPolicy: new(true), RestrictPublicBuckets: new(true),
		},
	})
	return err
}

func enforceOwner(ctx context.Context, c *sdk.Client, bucket string) error {
	_, err := c.PutBucketOwnershipControls(ctx, &sdk.PutBucketOwnershipControlsInput{
		Bucket: &bucket, OwnershipControls: &types.OwnershipControls{
			Rules: []types.OwnershipControlsRule{{ObjectOwnership: types.ObjectOwnershipBucketOwnerEnforced}},
		},
	})
	return err
}

var payerOf = regexp.MustCompile(`<Payer>(\w+)</Payer>`)

func (s *likeAWS) payment(w http.ResponseWriter, r *http.Request, bucket string) {
	body, _ := io.ReadAll(r.Body)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	s.pass(w, r, func(res *http.Response) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if m := payerOf.FindSubmatch(body); r.Method == http.MethodPut && m != nil {
			s.payer[bucket] = string(m[1])
			replace(res, "")
			return
		}
		payer := s.payer[bucket]
		if payer == "" {
			payer = "BucketOwner"
		}
		replace(res, `<RequestPaymentConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Payer>`+payer+`</Payer></RequestPaymentConfiguration>`)
	})
}

// rules keeps the document, in which S3 names the rules that have no name.
func (s *likeAWS) rules(w http.ResponseWriter, r *http.Request, bucket string) {
	body, _ := io.ReadAll(r.Body)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	s.pass(w, r, func(res *http.Response) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch r.Method {
		case http.MethodDelete:
			delete(s.lifecycle, bucket)
		case http.MethodPut:
			s.lifecycle[bucket] = named(body)
		case http.MethodGet:
			if kept := s.lifecycle[bucket]; kept != nil {
				replace(res, string(kept))
			}
		}
	})
}

func named(document []byte) []byte {
	rules := strings.SplitAfter(string(document), "<Rule>")
	for i, rule := range rules[1:] {
		own, _, _ := strings.Cut(rule, "</Rule>")
		if !strings.Contains(own, "<ID>") {
			rules[i+1] = fmt.Sprintf("<ID>made-by-s3-%d</ID>%s", i, rule)
		}
	}
	return []byte(strings.Join(rules, ""))
}
