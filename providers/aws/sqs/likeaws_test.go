package sqs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// account is that of every world of these tests, so that props can name objects in it.
const account = "111122223333"

// likeAWS stands before the emulator and does what SQS is documented to do where moto does not:
//
//   - RedriveAllowPolicy is shown by GetQueueAttributes; moto keeps it and never shows it. No order of its queues is
//     documented, so they are shown in another one.
//
//   - SetQueueAttributes leaves attributes alone that it does not name; moto drops the policy then.
//
//   - Encryption with keys of SQS is off while there is a key of KMS; moto shows both as on.
//
// It also gives the random account of a test a name that is always the same. It changes nothing else, and every
// call reaches the emulator through the proxy that counts and breaks it.
type likeAWS struct {
	*awstest.Front
	real    string
	outside *sdk.Client

	mu    sync.Mutex
	allow map[string]string // by the name of the queue
}

func startLikeAWS(t *testing.T, cloud *awstest.Server) *likeAWS {
	t.Helper()
	s := &likeAWS{
		real: cloud.Account, allow: map[string]string{},
		outside: sdk.NewFromConfig(cloud.Config(t)),
	}
	s.Front = awstest.Before(t, cloud, s)
	return s
}

type input struct {
	QueueName  string
	QueueURL   string `json:"QueueUrl"`
	Attributes map[string]string
}

func (in input) name() string {
	return in.QueueName + in.QueueURL[strings.LastIndexByte(in.QueueURL, '/')+1:]
}

func (s *likeAWS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	text = bytes.ReplaceAll(text, []byte(account), []byte(s.real))
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	var in input
	if operation != "" {
		if err := json.Unmarshal(text, &in); err != nil {
			panic(err)
		}
	}
	switch operation {
	case "CreateQueue":
		if _, there := s.live(r, in.name()); !there {
			s.keep(in)
		}
		s.pass(w, r, text, nil)
	case "SetQueueAttributes":
		s.keep(in)
		s.pass(w, r, s.withPolicy(r, in, text), nil)
	case "GetQueueAttributes":
		s.pass(w, r, text, func(body []byte) []byte { return s.shown(in, body) })
	case "ListQueues":
		s.pass(w, r, text, withoutDeadLetters)
	default:
		s.pass(w, r, text, nil)
	}
}

// withoutDeadLetters leaves the queues out of listings that every world has for others to name.
func withoutDeadLetters(body []byte) []byte {
	var out map[string]any
	if err := json.Unmarshal(body, &out); err != nil {
		return body
	}
	if urls, ok := out["QueueUrls"].([]any); ok {
		out["QueueUrls"] = slices.DeleteFunc(urls, func(url any) bool { return strings.Contains(url.(string), "/dead") })
	}
	changed, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return changed
}

// live are a queue's attributes as moto has them.
func (s *likeAWS) live(r *http.Request, name string) (map[string]string, bool) {
	at, err := s.outside.GetQueueUrl(r.Context(), &sdk.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		return nil, false
	}
	out, err := s.outside.GetQueueAttributes(r.Context(), &sdk.GetQueueAttributesInput{
		QueueUrl: at.QueueUrl, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		return nil, false
	}
	return out.Attributes, true
}

func (s *likeAWS) keep(in input) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if policy, ok := in.Attributes["RedriveAllowPolicy"]; ok {
		s.allow[in.name()] = sorted(strings.ReplaceAll(policy, s.real, account))
	} else if in.QueueName != "" {
		delete(s.allow, in.name())
	}
}

// sorted is a policy with its queues in the order of their names. One that is no such document stays as it is.
func sorted(policy string) string {
	var document map[string]any
	if err := json.Unmarshal([]byte(policy), &document); err != nil {
		return policy
	}
	queues, ok := document["sourceQueueArns"].([]any)
	if !ok {
		return policy
	}
	slices.SortFunc(queues, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	text, err := json.Marshal(document)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (s *likeAWS) withPolicy(r *http.Request, in input, text []byte) []byte {
	live, there := s.live(r, in.name())
	if _, set := in.Attributes["Policy"]; set || !there || live["Policy"] == "" {
		return text
	}
	in.Attributes["Policy"] = live["Policy"]
	out, err := json.Marshal(map[string]any{"QueueUrl": in.QueueURL, "Attributes": in.Attributes})
	if err != nil {
		panic(err)
	}
	return out
}

func (s *likeAWS) shown(in input, body []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out struct{ Attributes map[string]string }
	if err := json.Unmarshal(body, &out); err != nil || out.Attributes == nil {
		return body
	}
	if policy := s.allow[in.name()]; policy != "" {
		out.Attributes["RedriveAllowPolicy"] = policy
	}
	if out.Attributes["KmsMasterKeyId"] != "" {
		out.Attributes["SqsManagedSseEnabled"] = "false"
	}
	changed, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return changed
}

// pass sends a request on and its answer back. Without an answer there is none either.
func (s *likeAWS) pass(w http.ResponseWriter, r *http.Request, text []byte, edit func([]byte) []byte) {
	res, err := s.Send(r, text)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	body = bytes.ReplaceAll(body, []byte(s.real), []byte(account))
	if edit != nil && res.StatusCode < 300 {
		body = edit(body)
	}
	maps.Copy(w.Header(), res.Header)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(res.StatusCode)
	_, _ = w.Write(body)
}
