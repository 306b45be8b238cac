package lambda

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// account is that of every world of these tests, so that props can name objects in it.
const account = "111122223333"

// likeAWS gives the random account of a test a name that is always the same, and shows a function or a mapping as busy or
// failed, and roles as older than they are, where a test asks for it. What moto does otherwise than Lambda is filled in by
// package awstest. Every call reaches the emulator through the proxy that counts and breaks it.
type likeAWS struct {
	*awstest.Front
	cloud *awstest.Server

	mu   sync.Mutex
	ages time.Duration // how much older IAM shows roles to be than they are
	show []obj         // members that GetFunction, or GetEventSourceMapping, shows instead, a look each
}

func startLikeAWS(t *testing.T, cloud *awstest.Server) *likeAWS {
	t.Helper()
	s := &likeAWS{cloud: cloud}
	s.Front = awstest.Before(t, cloud, s)
	return s
}

var created = regexp.MustCompile("<CreateDate>[^<]*<")

// looks has the next looks show these members.
func (s *likeAWS) looks(members ...obj) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.show = append(s.show, members...)
}

// one is the path of a function or a mapping itself.
var one = regexp.MustCompile("^/2015-03-31/(functions|event-source-mappings)/[^/]+/?$")

func (s *likeAWS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller went away while sending
	}
	for _, at := range []*string{&r.URL.Path, &r.URL.RawPath, &r.URL.RawQuery} {
		*at = strings.ReplaceAll(*at, account, s.cloud.Account)
	}
	res, err := s.Send(r, bytes.ReplaceAll(text, []byte(account), []byte(s.cloud.Account)))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	body = s.shown(r, res.StatusCode, bytes.ReplaceAll(body, []byte(s.cloud.Account), []byte(account)))
	maps.Copy(w.Header(), res.Header)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(res.StatusCode)
	_, _ = w.Write(body)
}

// shown is an answer with what the test wants to be seen.
func (s *likeAWS) shown(r *http.Request, status int, body []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ages > 0 {
		body = created.ReplaceAll(body, []byte("<CreateDate>"+time.Now().Add(-s.ages).UTC().Format(time.RFC3339)+"<"))
	}
	if len(s.show) == 0 || r.Method != http.MethodGet || status != http.StatusOK || !one.MatchString(r.URL.Path) {
		return body
	}
	out := obj{}
	if err := json.Unmarshal(body, &out); err != nil {
		panic(err)
	}
	if c, ok := out["Configuration"].(obj); ok {
		maps.Copy(c, s.show[0])
	} else {
		maps.Copy(out, s.show[0])
	}
	s.show = s.show[1:]
	changed, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return changed
}

func str(v any) string {
	text, _ := v.(string)
	return text
}
