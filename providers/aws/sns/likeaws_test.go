package sns

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/athanor-dev/athanor/providers/aws/awstest"
)

// account is that of every world of these tests, so that props can name objects in it.
const account = "111122223333"

// likeAWS stands before the emulator and does what SNS is documented to do where moto does not:
//
//   - GetTopicAttributes shows all attributes that were set; moto keeps most of them and never shows them.
//
//   - Topics have data protection policies; moto has no such calls.
//
//   - A topic with an archive cannot be deleted.
//
//   - Subscriptions have a ReplayPolicy, which moto refuses. FilterPolicy is cleared by {} and RedrivePolicy by no
//     value; empty text is refused for both.
//
//   - With confirms set, endpoints by mail and web wait for their confirmation: they are listed without an ARN,
//     and cannot be deleted. Moto confirms all at once.
//
// It also gives the random account of a test a name that is always the same. It changes nothing else, and every
// call reaches the emulator through the proxy that counts and breaks it: what had no effect there has none here.
type likeAWS struct {
	*awstest.Front
	server *awstest.Server

	mu       sync.Mutex
	extra    map[string]map[string]string // by ARN
	confirms bool
	twice    bool            // the topic's list has its first subscription twice
	pending  map[string]bool // by ARN of a subscription
}

// shownByMoto are the attributes that moto tells by itself.
var shownByMoto = []string{
	"DisplayName", "Policy", "DeliveryPolicy", "KmsMasterKeyId", "FifoTopic", "ContentBasedDeduplication",
	"RawMessageDelivery", "FilterPolicy", "FilterPolicyScope", "RedrivePolicy", "SubscriptionRoleArn",
}

func startLikeAWS(t *testing.T, cloud *awstest.Server) *likeAWS {
	t.Helper()
	s := &likeAWS{server: cloud, extra: map[string]map[string]string{}, pending: map[string]bool{}}
	s.Front = awstest.Before(t, cloud, s)
	return s
}

func (s *likeAWS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	form, err := url.ParseQuery(strings.ReplaceAll(string(body), account, s.server.Account))
	if err != nil {
		panic(err)
	}
	if problem := s.refusal(form); problem != "" {
		fail(w, problem)
		return
	}
	extra := takeExtra(form)
	if form.Get("Action") == "SetSubscriptionAttributes" && form.Get("AttributeName") == "RedrivePolicy" {
		form.Set("AttributeValue", form.Get("AttributeValue"))
	}
	status, answer, effect := s.pass(r, form)
	if effect {
		status, answer = s.after(form, extra, status, answer)
	}
	if status == 0 {
		panic(http.ErrAbortHandler)
	}
	answer = strings.ReplaceAll(answer, s.server.Account, account)
	w.Header().Set("Content-Type", "text/xml")
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, answer)
}

func fail(w http.ResponseWriter, problem string) {
	w.WriteHeader(http.StatusBadRequest)
	_, _ = fmt.Fprintf(w, `<ErrorResponse><Error><Type>Sender</Type><Code>InvalidParameter</Code><Message>%s</Message></Error></ErrorResponse>`, problem)
}

// refusal is what SNS would not take.
func (s *likeAWS) refusal(form url.Values) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch form.Get("Action") {
	case "DeleteTopic":
		if policy := s.extra[form.Get("TopicArn")]["ArchivePolicy"]; policy != "" && policy != "{}" {
			return "an archive policy is active"
		}
	case "Unsubscribe":
		if s.pending[form.Get("SubscriptionArn")] {
			return "the subscription is pending confirmation"
		}
	case "SetSubscriptionAttributes":
		name := form.Get("AttributeName")
		if form.Has("AttributeValue") && form.Get("AttributeValue") == "" && (name == "RedrivePolicy" || name == "FilterPolicy") {
			return name + " is empty"
		}
	}
	return ""
}

// takeExtra takes the attributes out of a creation that moto does not show.
func takeExtra(form url.Values) map[string]string {
	kept, extra := url.Values{}, map[string]string{}
	for key := range form {
		name, isKey := strings.CutSuffix(key, ".key")
		if !isKey || !strings.HasPrefix(key, "Attributes.entry.") {
			continue
		}
		attr, value := form.Get(key), form.Get(name+".value")
		form.Del(key)
		form.Del(name + ".value")
		if slices.Contains(shownByMoto, attr) || form.Get("Action") == "Subscribe" && attr != "ReplayPolicy" {
			at := fmt.Sprintf("Attributes.entry.%d", len(kept)/2+1)
			kept.Set(at+".key", attr)
			kept.Set(at+".value", value)
		} else {
			extra[attr] = value
		}
	}
	maps.Copy(form, kept)
	if policy := form.Get("DataProtectionPolicy"); policy != "" && form.Get("Action") == "CreateTopic" {
		extra["DataProtectionPolicy"] = policy
	}
	return extra
}

// pass sends a request through the proxy. The status is 0 when there was no answer; effect tells whether it had one.
func (s *likeAWS) pass(r *http.Request, form url.Values) (status int, answer string, effect bool) {
	text := []byte(form.Encode())
	res, err := s.Send(r, text)
	reached, fault := false, awstest.Kind("")
	for _, c := range s.server.Calls() {
		if bytes.Equal(c.Body, text) {
			reached, fault = c.Forwarded, c.Fault
		}
	}
	// Calls of outsiders are not recorded.
	effect = reached || err == nil && fault == ""
	if err != nil {
		return 0, "", effect
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, "", effect
	}
	return res.StatusCode, string(body), effect
}

// after does what moto leaves out, when a call has reached it.
func (s *likeAWS) after(form url.Values, extra map[string]string, status int, answer string) (int, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	topic, subscription := form.Get("TopicArn"), form.Get("SubscriptionArn")
	switch action := form.Get("Action"); action {
	case "CreateTopic":
		arn := "arn:aws:sns:us-east-1:" + s.server.Account + ":" + form.Get("Name")
		if s.extra[arn] == nil {
			s.extra[arn] = extra
		}
	case "DeleteTopic":
		delete(s.extra, topic)
	case "GetDataProtectionPolicy", "PutDataProtectionPolicy":
		arn := form.Get("ResourceArn")
		if s.extra[arn] == nil || status == 0 {
			return status, answer
		}
		if action == "PutDataProtectionPolicy" {
			s.extra[arn]["DataProtectionPolicy"] = form.Get("DataProtectionPolicy")
		}
		return http.StatusOK, "<" + action + "Response><" + action + "Result><DataProtectionPolicy>" + xmlText(s.extra[arn]["DataProtectionPolicy"]) +
			"</DataProtectionPolicy></" + action + "Result></" + action + "Response>"
	case "SetTopicAttributes", "SetSubscriptionAttributes":
		return s.afterSet(topic+subscription, form, status, answer)
	case "GetTopicAttributes", "GetSubscriptionAttributes":
		return status, s.withExtra(topic+subscription, answer)
	case "Subscribe":
		if arn := between(answer, "<SubscriptionArn>", "</SubscriptionArn>"); arn != "" && s.extra[arn] == nil {
			s.extra[arn] = extra
			s.pending[arn] = s.confirms && strings.HasPrefix(form.Get("Protocol"), "http")
		}
	case "ListSubscriptionsByTopic":
		if member := between(answer, "<member>", "</member>"); s.twice && member != "" {
			answer = strings.Replace(answer, "</member>", "</member><member>"+member+"</member>", 1)
		}
		for arn, waits := range s.pending {
			if waits {
				answer = strings.ReplaceAll(answer, "<SubscriptionArn>"+arn+"<", "<SubscriptionArn>PendingConfirmation<")
			}
		}
	}
	return status, answer
}

func (s *likeAWS) afterSet(arn string, form url.Values, status int, answer string) (int, string) {
	name := form.Get("AttributeName")
	if slices.Contains(shownByMoto, name) || form.Get("Action") == "SetSubscriptionAttributes" && name == "DeliveryPolicy" {
		return status, answer
	}
	if s.extra[arn] == nil {
		s.extra[arn] = map[string]string{}
	}
	s.extra[arn][name] = form.Get("AttributeValue")
	if status == 0 {
		return status, answer
	}
	return http.StatusOK, "<Response/>"
}

func (s *likeAWS) withExtra(arn, answer string) string {
	var more strings.Builder
	for k, v := range s.extra[arn] {
		if v != "" && k != "DataProtectionPolicy" {
			fmt.Fprintf(&more, "<entry><key>%s</key><value>%s</value></entry>", k, xmlText(v))
		}
	}
	if s.pending[arn] {
		answer = strings.Replace(answer, "<key>PendingConfirmation</key><value>false<", "<key>PendingConfirmation</key><value>true<", 1)
	}
	return strings.Replace(answer, "</Attributes>", more.String()+"</Attributes>", 1)
}

func xmlText(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

func between(s, from, to string) string {
	_, rest, _ := strings.Cut(s, from)
	inner, _, _ := strings.Cut(rest, to)
	return inner
}
