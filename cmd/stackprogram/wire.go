package stackprogram

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/athanor-dev/athanor/engine"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// A frame on a pipe is its length in four bytes, the largest first, and a JSON document. The pipes hold what secrets are, and
// nothing of them is written elsewhere.

// mostFrame bounds a frame, in bytes: far above any real plan.
const mostFrame = 256 << 20

// call asks for a function of the program.
type call struct {
	ID uint64 `json:"id"`
	// Cancel: the call of this id is to end soon.
	Cancel bool `json:"cancel,omitempty"`
	// One of these says which function.
	Then   string `json:"then,omitempty"`
	Hook   string `json:"hook,omitempty"`
	Policy int    `json:"policy,omitempty"` // from 1 on

	Input any              `json:"input,omitempty"`
	Info  *engine.HookInfo `json:"info,omitempty"`
	Plan  json.RawMessage  `json:"plan,omitempty"`
}

// reply is the end of a call. The first frame of a program is one without an id: the answer is written.
type reply struct {
	ID         uint64             `json:"id"`
	Value      any                `json:"value,omitempty"`
	Violations []engine.Violation `json:"violations,omitempty"`
	Problem    *Problem           `json:"problem,omitempty"`
	// Canceled: it ended since it was told to.
	Canceled bool `json:"canceled,omitempty"`
}

var errFrame = errors.New("a damaged frame")

// writeFrame writes a document in one piece.
func writeFrame(w io.Writer, v any) error {
	var frame bytes.Buffer
	frame.Write(make([]byte, 4))
	enc := json.NewEncoder(&frame)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	data := frame.Bytes()
	if len(data)-4 > mostFrame {
		return fmt.Errorf("%w: more than %d MiB", errFrame, mostFrame>>20)
	}
	binary.BigEndian.PutUint32(data, uint32(len(data)-4)) //nolint:gosec // at most mostFrame
	_, err := w.Write(data)
	return err
}

// readFrame reads the next document. The end between two frames is io.EOF.
func readFrame(r io.Reader, v any) error {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > mostFrame {
		return fmt.Errorf("%w: %d bytes", errFrame, n)
	}
	var data bytes.Buffer // which grows as it comes, whatever was announced
	if _, err := io.CopyN(&data, r, int64(n)); err != nil {
		return fmt.Errorf("%w: %w", errFrame, err)
	}
	dec := json.NewDecoder(&data)
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("%w: %w", errFrame, err)
	}
	return nil
}

// plain is a value as JSON carries it without a loss.
func plain(v any) (any, error) {
	t, err := tree.Of(v)
	if err != nil {
		return nil, err
	}
	tree.Walk(t, func(at tree.Path, x any) bool {
		if s, ok := x.(string); ok && !utf8.ValidString(s) {
			err = fmt.Errorf("%s: bytes that are no text", at)
		}
		return err == nil
	})
	return t, err
}
