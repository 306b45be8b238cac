package render

import (
	"io"
	"strings"
	"sync"
)

// Status is a line that stays at the bottom of a terminal while a command goes on, below what lasts. What lasts is written to it. Elsewhere
// than on a terminal there is no such line. It may be used from many goroutines.
type Status struct {
	screen Screen

	mu      sync.Mutex
	region  region
	text    string
	hidden  bool
	partial bool // what was written last ends within a line
}

// NewStatus is a status line that says nothing yet.
func NewStatus(screen Screen) *Status { return &Status{screen: screen} }

// Set says what the line says; "" removes it.
func (s *Status) Set(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = clean(text)
	_ = s.draw("") // a lost terminal ends nothing
}

// Hide removes the line while something else is drawn at the bottom, and with false puts it back.
func (s *Status) Hide(hidden bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hidden = hidden
	_ = s.draw("") // a lost terminal ends nothing
}

// Write implements [io.Writer]: it shows what lasts above the line.
func (s *Status) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(text) > 0 {
		s.partial = text[len(text)-1] != '\n'
	}
	if len(s.region.drawn) == 0 && s.lines() == nil {
		return s.screen.Out.Write(text)
	}
	if err := s.draw(string(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// lines are those that stand at the bottom now. The lock is held.
func (s *Status) lines() []string {
	if s.screen.Size == nil || s.text == "" || s.hidden || s.partial {
		return nil
	}
	style, _ := s.screen.sized()
	text := s.text
	if state, rest, ok := strings.Cut(text, "]"); ok {
		text = style.paint(bold, state+"]") + style.paint(dim, rest)
	}
	return style.clipped([]string{text})
}

// draw wipes the line, writes what lasts and draws the line again, in one piece. The lock is held.
func (s *Status) draw(lasting string) error {
	lines := s.lines()
	if lasting == "" && len(lines) == len(s.region.drawn) && strings.Join(lines, "") == strings.Join(s.region.drawn, "") {
		return nil
	}
	_, err := io.WriteString(s.screen.Out, s.region.draw(nil, nil)+lasting+s.region.draw(nil, lines))
	return err
}

// DevStatus is the status line of a dev session: how it is, and when it last changed something, "" for not yet.
func DevStatus(state, changed string) string {
	text := "[" + state + "]"
	switch {
	case changed == "":
	case state == "failed":
		text += "  what was deployed at " + changed + " keeps running"
	default:
		text += "  last change " + changed
	}
	return text + "  ·  Ctrl-C ends it"
}
