package awstest

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Lag is how far reads are behind what was written: for so many answers of each read, and for a time. A read shows what it
// showed before; one of what was not there shows that there is none.
type Lag struct {
	Answers int
	For     time.Duration
}

func (l Lag) isZero() bool { return l == Lag{} }

// atLast is when everything shows, however few have asked.
const atLast = time.Minute

// over reports that a change shows that was noticed at a time, and hidden from so many answers since.
func (l Lag) over(noticed time.Time, hidden int) bool {
	since := time.Since(noticed)
	return hidden >= l.Answers && since >= l.For || since >= atLast
}

// shown is what a read showed last.
type shown struct {
	answer  Answer
	noticed time.Time // when the change was made that is not shown yet; zero: there is none
	hidden  int       // answers that did not show it
}

// creation is what was just made: a read by one of its names finds nothing yet.
type creation struct {
	service string
	names   []string
	at      time.Time
	hidden  map[string]int // answers that did not show it, by read
}

// behind is what a read shows.
func (p *player) behind(c Call, now Answer) Answer {
	if p.Behind.isZero() {
		return now
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := strings.Join([]string{serviceKey(c), c.Operation, c.Method, c.URI, string(c.Body)}, "\x00")
	s := p.shown[key]
	if s == nil {
		if p.unseen(c, key) && now.Status/100 == 2 {
			return absent(c)
		}
		p.shown[key] = &shown{answer: now}
		return now
	}
	if same(c, s.answer, now) {
		s.noticed, s.hidden = time.Time{}, 0
		return now
	}
	if s.noticed.IsZero() {
		s.noticed = p.written[serviceKey(c)]
	}
	if p.Behind.over(s.noticed, s.hidden) {
		*s = shown{answer: now}
		return now
	}
	s.hidden++
	return s.answer
}

// unseen reports a read, made for the first time, of what was made too lately for it.
func (p *player) unseen(c Call, key string) bool {
	p.created = slices.DeleteFunc(p.created, func(made creation) bool { return time.Since(made.at) >= atLast })
	var asked []string
	for _, made := range p.created {
		if made.service != serviceKey(c) || p.Behind.over(made.at, made.hidden[key]) {
			continue
		}
		if asked == nil {
			asked = namesIn(c)
		}
		if slices.ContainsFunc(asked, func(name string) bool { return slices.Contains(made.names, name) }) {
			made.hidden[key]++
			return true
		}
	}
	return false
}

// noteCreation remembers the names under which what was made will be asked for: those that the answer gives it. The caller
// holds the lock.
func (p *player) noteCreation(c Call, a Answer, at time.Time) {
	if p.Behind.isZero() || !strings.HasPrefix(c.Operation, "Create") || c.Service == "IAM" {
		return
	}
	asked := namesIn(c)
	var names []string
	for _, name := range stringsIn(a.Body) {
		if id := identifier(name); id != "" && !slices.Contains(asked, id) {
			names = append(names, id)
		}
	}
	if len(names) > 0 {
		p.created = append(p.created, creation{serviceKey(c), names, at, map[string]int{}})
	}
}

// chosen is what the ids that services choose look like.
var chosen = regexp.MustCompile(`^[0-9a-zA-Z-]{8,}$`)

// identifier is what a service names an object by, in an address or an ARN; "" for other text.
func identifier(text string) string {
	text = text[strings.LastIndexAny(text, "/:")+1:]
	if chosen.MatchString(text) {
		return text
	}
	return ""
}

// namesIn are the last parts of all texts in a request.
func namesIn(c Call) []string {
	var names []string
	text, _, _ := strings.Cut(c.URI, "?")
	for part := range strings.SplitSeq(text, "/") {
		if name, err := url.PathUnescape(part); err == nil {
			names = append(names, name[strings.LastIndexAny(name, "/:")+1:])
		}
	}
	for _, s := range stringsIn(c.Body) {
		names = append(names, s[strings.LastIndexAny(s, "/:")+1:])
	}
	return names
}

var inXML = regexp.MustCompile(`>([^<>]+)<`)

// stringsIn are the texts in the body of a request or an answer.
func stringsIn(body []byte) (all []string) {
	var tree any
	switch {
	case json.Unmarshal(body, &tree) == nil:
		var walk func(any)
		walk = func(v any) {
			switch v := v.(type) {
			case string:
				all = append(all, v)
			case []any:
				for _, e := range v {
					walk(e)
				}
			case map[string]any:
				for _, e := range v {
					walk(e)
				}
			}
		}
		walk(tree)
	case bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")):
		for _, m := range inXML.FindAllSubmatch(body, -1) {
			all = append(all, strings.TrimSpace(string(m[1])))
		}
	default:
		if form, err := url.ParseQuery(string(body)); err == nil {
			for _, values := range form {
				all = append(all, values...)
			}
		}
	}
	return all
}

var ofRequest = regexp.MustCompile(`(?i)<RequestId>[^<]*</RequestId>`)

// same reports that two answers show the same. What differs from request to request does not count.
func same(c Call, a, b Answer) bool {
	if a.Status != b.Status || !bytes.Equal(ofRequest.ReplaceAll(a.Body, nil), ofRequest.ReplaceAll(b.Body, nil)) {
		return false
	}
	if c.Service != "S3" {
		return true
	}
	for name := range a.Header { // where the properties of objects are
		switch name {
		case "Date", "Server", "Connection", "X-Amzn-Requestid", "X-Amz-Request-Id", "X-Amz-Id-2":
			continue
		}
		if !slices.Equal(a.Header[name], b.Header[name]) {
			return false
		}
	}
	return len(a.Header) == len(b.Header)
}
