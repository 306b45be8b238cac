package awstest

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Fields are the members of a request or an answer of the JSON protocol.
type Fields = map[string]any

// Amendments are what a service of the JSON protocol is documented to do and moto does not, by operation. All run one
// at a time.
type Amendments struct {
	// Account is a name for the random account of a test that is always the same, so that props can name objects in it.
	Account string
	// Refuse answers the code of an error, before the request goes anywhere; "" lets it go.
	Refuse map[string]func(in Fields) string
	// Edit changes a request on its way to moto.
	Edit map[string]func(in Fields)
	// Show changes moto's answer to a request that succeeded, and keeps what moto will not remember. Of what
	// changes something it is told also when the answer is lost on its way (out is empty then), and never when there
	// was no effect.
	Show map[string]func(in, out Fields)
	// Answer stands for an operation that moto does not have. It is asked when the request has had its effect; code
	// is that of an error, "" for none.
	Answer map[string]func(in Fields) (out Fields, code string)
}

// Amend puts the amendments between a test's clients and its cloud.
func Amend(t testing.TB, cloud *Server, amendments Amendments) *Front {
	t.Helper()
	a := &amended{Amendments: amendments, cloud: cloud}
	a.front = Before(t, cloud, a)
	return a.front
}

type amended struct {
	Amendments
	front *Front
	cloud *Server
	mu    sync.Mutex
}

// ServeHTTP passes one request on. Every one reaches the proxy that counts and breaks it; one without an answer there
// has none here either.
func (a *amended) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller went away while sending
	}
	_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	in := Fields{}
	if op != "" {
		in = fields(text)
		if code := a.refused(op, in); code != "" {
			write(w, http.StatusBadRequest, failed(code))
			return
		}
		a.edit(op, in)
		text = encoded(in)
	}
	text = bytes.ReplaceAll(text, []byte(a.Account), []byte(a.cloud.Account))
	status, header, body, effect := a.front.Exchange(r, text)
	body = bytes.ReplaceAll(body, []byte(a.cloud.Account), []byte(a.Account))
	status, body = a.answered(op, in, status, body, effect)
	if status == 0 {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), header)
	write(w, status, body)
}

func (a *amended) refused(op string, in Fields) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if refuse := a.Refuse[op]; refuse != nil {
		return refuse(in)
	}
	return ""
}

func (a *amended) edit(op string, in Fields) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if edit := a.Edit[op]; edit != nil {
		edit(in)
	}
}

func (a *amended) answered(op string, in Fields, status int, body []byte, effect bool) (int, []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if answer := a.Answer[op]; answer != nil && effect {
		out, code := answer(in)
		switch {
		case status == 0:
			return 0, nil
		case code != "":
			return http.StatusBadRequest, failed(code)
		}
		return http.StatusOK, encoded(out)
	}
	show := a.Show[op]
	if show == nil || status >= 300 || status == 0 && !effect {
		return status, body
	}
	out := fields(body)
	show(in, out)
	return status, encoded(out)
}

func fields(text []byte) Fields {
	out := Fields{}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &out); err != nil {
			panic(err)
		}
	}
	return out
}

func encoded(out Fields) []byte {
	text, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return text
}

func failed(code string) []byte {
	return encoded(Fields{"__type": code, "message": "Refused as AWS does."})
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
