package athanor_test

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor"
	"github.com/athanor-dev/athanor/engine"
)

// twice evaluates a program as the command does: once with each spelling, the second graph through its document.
func twice(t testing.TB, program athanor.Program) error {
	t.Helper()
	first, err := evaluate(t, program, athanor.Plain)
	if err != nil {
		return err
	}
	second, err := evaluate(t, program, athanor.Shifted)
	if err != nil {
		return err
	}
	data, err := json.Marshal(second)
	if err != nil {
		t.Fatal(err)
	}
	if second, err = engine.ReadGraph(data); err != nil {
		t.Fatal(err)
	}
	return athanor.Check(first, second)
}

// misuses are programs that treat a reference as if it were the value. Each is found, and the path is named.
func TestMisuseIsFound(t *testing.T) {
	named := func(f func(url string) string) func(*athanor.Stack, queue) {
		return func(s *athanor.Stack, q queue) { newQueue(s, "bad", queueProps{Name: f(q.URL)}) }
	}
	count := 0
	tests := []struct {
		name string
		code func(*athanor.Stack, queue)
		want string // beside the address
	}{
		{"hashing", named(func(u string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(u))) }), "bad: name: "},
		{"measuring", named(func(u string) string { return strconv.Itoa(len(u)) }), "bad: name: "},
		{"measuring with a branch", func(s *athanor.Stack, q queue) {
			if len(q.URL) > 20 {
				newQueue(s, "long", queueProps{})
			}
		}, "long: declared only once"},
		{"cutting the end", named(func(u string) string { return u[:len(u)-4] }), "bad: name: a damaged reference"},
		{"cutting the beginning", named(func(u string) string { return u[3:] }), "bad: name: a damaged reference"},
		{"the first letter", named(func(u string) string { return strconv.Itoa(int(u[0])) }), "bad: name: "},
		{"the first byte as text", named(func(u string) string { return "x" + u[:1] }), "bad: name: "},
		{"upper case", named(strings.ToUpper), "bad: name: "},
		{"splitting", named(func(u string) string { return strings.Split(u, ".")[0] }), "bad: name: a damaged reference"},
		{"splitting and joining", named(func(u string) string { return strings.Join(strings.Split(u, ""), "-") }), "bad: name: a damaged reference"},
		{"replacing", named(func(u string) string { return strings.ReplaceAll(u, "url", "arn") }), "bad: name: "},
		{"reversing", named(func(u string) string { r := []rune(u); slices.Reverse(r); return string(r) }), "bad: name: a damaged reference"},
		{"sorting", func(s *athanor.Stack, q queue) {
			list := []string{"﹍", q.URL}
			slices.Sort(list)
			newQueue(s, "bad", queueProps{Zones: list})
		}, "bad: zones[0]"},
		{"base64", named(func(u string) string { return base64.StdEncoding.EncodeToString([]byte(u)) }), "bad: name: a damaged reference"},
		{"base64 of more", named(func(u string) string { return base64.StdEncoding.EncodeToString([]byte("user:" + u)) }), "bad: name: a damaged reference"},
		{"hex", named(func(u string) string { return hex.EncodeToString([]byte(u)) }), "bad: name: a damaged reference"},
		{"URL encoding", named(url.QueryEscape), "bad: name: a damaged reference"},
		{"ASCII quoting", named(strconv.QuoteToASCII), "bad: name: a damaged reference"},
		{"a key of a map", func(s *athanor.Stack, q queue) {
			newQueue(s, "bad", queueProps{Tags: map[string]string{strconv.Itoa(len(q.URL)): "x"}})
		}, "bad: tags: "},
		{"an option", func(s *athanor.Stack, q queue) {
			newQueue(s, "bad", queueProps{}, athanor.Before(athanor.Run(fmt.Sprint("echo ", len(q.URL)))))
		}, "bad: options: "},
		{"an output", func(s *athanor.Stack, q queue) { s.Output("n", len(q.URL)) }, "output: n: "},
		{"a place", func(s *athanor.Stack, q queue) {
			newQueue(s.With("test", map[string]any{"n": len(q.URL)}), "bad", queueProps{})
		}, "bad: n: "},
		{"what is read", func(s *athanor.Stack, q queue) { athanor.Read(s, queueKind(), "bad", strconv.Itoa(len(q.URL))) }, "bad: what is read: "},
		{"the clock", func(s *athanor.Stack, _ queue) {
			newQueue(s, "bad", queueProps{Name: time.Now().Format(time.RFC3339Nano)})
		}, "bad: name: "},
		{"randomness", func(s *athanor.Stack, _ queue) { newQueue(s, "bad", queueProps{Name: rand.Text()}) }, "bad: name: "},
		{"a random address", func(s *athanor.Stack, _ queue) { newQueue(s, "q"+rand.Text(), queueProps{}) }, ": declared only once"},
		{"memory of an earlier run", func(s *athanor.Stack, _ queue) {
			count++
			newQueue(s, "bad", queueProps{Name: strconv.Itoa(count)})
		}, "bad: name: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := twice(t, func(s *athanor.Stack) error {
				tt.code(s, newQueue(s, "orders", queueProps{}))
				return nil
			})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if err != nil && !strings.Contains(err.Error(), "damaged") && !errors.Is(err, athanor.ErrMisuse) {
				t.Errorf("%v does not match ErrMisuse", err)
			}
		})
	}
}

// What tokens survive is no misuse.
func TestRightUse(t *testing.T) {
	err := twice(t, func(s *athanor.Stack) error {
		q := newQueue(s, "orders", queueProps{})
		pw := s.Secret("pw")
		page := template.Must(template.New("").Parse(`<a href="/x?q=1" title="{{.}}">{{.}}</a>`))
		var html strings.Builder
		if err := page.Execute(&html, q.URL); err != nil {
			return err
		}
		inJSON, err := json.Marshal(map[string]any{"url": q.URL, "port": q.Port})
		if err != nil {
			return err
		}
		newQueue(s, "user", queueProps{
			Name: "a" + q.URL, Policy: string(inJSON), Zones: []string{
				fmt.Sprintf("%s %q %v", q.URL, q.ARN, q.Port), strconv.Quote(q.URL), path.Join("/a", q.URL, "b"), html.String(),
				strings.TrimSpace(" " + q.URL + " "), strings.Join([]string{q.URL, string(pw)}, ","), strings.TrimSuffix(q.URL+"/", "/"),
				s.URL("https://%s/%s", q.URL, q.Port), s.JSON(map[string]any{"pw": pw}), s.Then(q.ARN, strings.ToUpper),
			},
			Tags: map[string]string{q.URL: "key"},
		}, athanor.DependsOn(q.URL), athanor.DeletedWith(q))
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A comparison that answers the same with every spelling is not found. docs/authoring.md says so.
func TestComparingIsNotFound(t *testing.T) {
	err := twice(t, func(s *athanor.Stack) error {
		q := newQueue(s, "orders", queueProps{})
		if q.URL == "" || strings.Contains(q.URL, "localhost") {
			newQueue(s, "never", queueProps{})
		}
		return nil
	})
	if err != nil {
		t.Errorf("found after all: say so in docs/authoring.md: %v", err)
	}
}

// declarations declares n resources, each with a reference.
func declarations(n int) func(*athanor.Stack) error {
	return func(s *athanor.Stack) error {
		last := newQueue(s, "q", queueProps{})
		for i := 1; i < n; i++ {
			last = newQueue(s, "q"+strconv.Itoa(i), queueProps{
				Name: "name", VisibilityTimeout: new(time.Minute), DeadLetter: last.ARN, Port: athanor.Num(3), Tags: map[string]string{"a": "b"},
			})
		}
		return nil
	}
}

func BenchmarkDeclare10000(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := athanor.Evaluate(declarations(10_000), athanor.Input{Stack: "shop", Stage: "dev"}); err != nil {
			b.Fatal(err)
		}
	}
}
