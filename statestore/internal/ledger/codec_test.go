package ledger

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/statestore"
)

func sample() *statestore.Row {
	return &statestore.Row{
		Address: "net/a", Version: 7, Birth: "old", Needs: []string{"b", "c"}, Body: []byte("sealed"), Written: time.Unix(5, 6).UTC(),
		Generations: []statestore.Generation{
			{Number: 1, State: statestore.Live, Slot: 2, Kind: "k", Place: statestore.Place{Provider: "p", Account: "a", Region: "r"}, Identity: "i", Body: []byte{0}, Written: time.Unix(-1, 999).UTC()},
			{Number: 2, State: statestore.Candidate, Kind: "k", Intent: true},
		},
	}
}

// TestEveryFlippedBitIsNoticed: no bit of a record can change without the row being named as damaged.
func TestEveryFlippedBitIsNoticed(t *testing.T) {
	record := encodeRow(sample())
	got, err := newDecoder().row("net/a", record)
	if err != nil || !reflect.DeepEqual(&got, sample()) {
		t.Fatalf("%+v, %v", got, err)
	}
	for i := range record {
		for bit := range 8 {
			spoiled := bytes.Clone(record)
			spoiled[i] ^= 1 << bit
			if _, err := newDecoder().row("net/a", spoiled); err == nil {
				t.Errorf("byte %d bit %d: not noticed", i, bit)
			}
		}
	}
	for n := range record {
		if _, err := newDecoder().row("net/a", record[:n]); err == nil {
			t.Errorf("cut to %d bytes: not noticed", n)
		}
	}
	if _, err := newDecoder().row("net/b", record); err == nil {
		t.Error("a record under another address: not noticed")
	}
}

// FuzzRow: whatever stands in a record, decoding neither panics nor gives an unlawful row, and what it
// gives encodes to the same row again. The frame is made right, so that the fuzzer reaches what is behind it.
func FuzzRow(f *testing.F) {
	f.Add(encodeRow(sample())[frameHead:])
	f.Add(encodeRow(&statestore.Row{Address: "net/a", Version: 1, Generations: []statestore.Generation{{State: statestore.Condemned, Kind: "k"}}})[frameHead:])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, payload []byte) {
		row, err := newDecoder().row("net/a", frame([]byte("net/a"), payload))
		if err != nil {
			return
		}
		if err := row.Check(); err != nil {
			t.Fatalf("an unlawful row was decoded: %v", err)
		}
		again, err := newDecoder().row("net/a", encodeRow(&row))
		if err != nil || !reflect.DeepEqual(row, again) {
			t.Fatalf("%+v became %+v, %v", row, again, err)
		}
	})
}
