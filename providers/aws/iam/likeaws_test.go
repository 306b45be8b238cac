package iam

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"strconv"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// account is that of every world of these tests, so that props can name objects in it.
const account = "111122223333"

// likeAWS stands before the emulator and gives the random account of a test a name that is always the same. It changes
// nothing else, and every call reaches the emulator through the proxy that counts and breaks it.
//
// Moto leaves out what no test here relies on: it takes any trust policy, and boundaries that do not exist.
type likeAWS struct {
	*awstest.Front
	real string
}

func startLikeAWS(t *testing.T, cloud *awstest.Server) *likeAWS {
	t.Helper()
	s := &likeAWS{real: cloud.Account}
	s.Front = awstest.Before(t, cloud, s)
	return s
}

func (s *likeAWS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	res, err := s.Send(r, bytes.ReplaceAll(text, []byte(account), []byte(s.real)))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	body = bytes.ReplaceAll(body, []byte(s.real), []byte(account))
	maps.Copy(w.Header(), res.Header)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(res.StatusCode)
	_, _ = w.Write(body)
}
