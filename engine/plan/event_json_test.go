package plan

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// TestEventsAreWrittenAsEncodingJSONDoes compares both ways to write an event, each field alone and many at random: a field
// that is added later is compared too.
func TestEventsAreWrittenAsEncodingJSONDoes(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	texts := []string{"", "a", "net/subnet[a b]", "#", "'x'=1; $`", "ü", "a\"b", `a\b`, "<b>", "a&b", "\u2028", "\x7f", "a\nb", "\xff"}
	numbers := []float64{0, 1e-7, 9.9e-7, 1e-6, 0.1, 1.0 / 3, 12.5, 1e20, 1e21, -1, math.Inf(1), math.NaN()}
	times := []time.Time{
		{},
		time.Unix(1795412680, 98_765_000).UTC(), time.Unix(1795412680, 0).UTC(), time.Unix(1795412680, 1).In(time.FixedZone("", 3600)),
		time.Unix(1795412680, 1).In(time.FixedZone("odd", 61)), time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	text := func() string { return texts[chance.IntN(len(texts))] }
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		switch {
		case v.Type() == reflect.TypeFor[time.Time]():
			v.Set(reflect.ValueOf(times[chance.IntN(len(times))]))
		case v.Kind() == reflect.String:
			v.SetString(text())
		case v.Kind() == reflect.Uint64:
			v.SetUint(chance.Uint64() >> chance.IntN(64))
		case v.Kind() == reflect.Int:
			v.SetInt(int64(chance.IntN(3) - 1))
		case v.Kind() == reflect.Float64:
			v.SetFloat(numbers[chance.IntN(len(numbers))])
		case v.Kind() == reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), chance.IntN(4), 4))
			for i := range v.Len() {
				fill(v.Index(i))
			}
		default:
			t.Fatalf("an event has a field of type %v, which this test does not know", v.Type())
		}
	}
	written := 0
	check := func(e *Event) {
		line, ok := e.AppendJSON([]byte("before "))
		if !ok {
			if string(line) != "before " {
				t.Errorf("%+v: %q is left", e, line)
			}
			return
		}
		written++
		for _, html := range []bool{true, false} {
			var want bytes.Buffer
			encoder := json.NewEncoder(&want)
			encoder.SetEscapeHTML(html)
			if err := encoder.Encode(e); err != nil {
				t.Fatalf("%+v: written as %s: %v", e, line, err)
			}
			if string(line)+"\n" != "before "+want.String() {
				t.Errorf("%s, not %s", line, want.Bytes())
			}
		}
	}
	fields := reflect.TypeFor[Event]().NumField()
	for i := range fields {
		for range 60 {
			var e Event
			fill(reflect.ValueOf(&e).Elem().Field(i))
			check(&e)
		}
	}
	texts = texts[:5] // mostly such as are written
	for range 3000 {
		e := Event{Time: times[1]}
		for i := range fields {
			if chance.IntN(2) == 0 {
				fill(reflect.ValueOf(&e).Elem().Field(i))
			}
		}
		check(&e)
	}
	if written < 1500 {
		t.Errorf("only %d events were written", written)
	}
}

// TestAnOrdinaryEventIsWritten: what a run has two of for each resource does not need encoding/json.
func TestAnOrdinaryEventIsWritten(t *testing.T) {
	e := Event{
		Time: time.Now().UTC(), Run: "20261127-040938-3Z5CI2", Type: EventDone, Address: "net/subnet[a]", Kind: "aws.sqs.Queue", Action: Update,
		Status: StatusDone, Paths: []string{"visibilityTimeout", "tags.team"}, Elapsed: 0.25,
	}
	buffer := make([]byte, 0, 512)
	if n := testing.AllocsPerRun(100, func() {
		if _, ok := e.AppendJSON(buffer); !ok {
			t.Fatal("it was not written")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
