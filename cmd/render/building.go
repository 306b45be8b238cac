package render

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Building shows that a program is compiled: on a terminal one line that is drawn again in place and removed at the end, elsewhere a line
// once it takes a second, and one every ten seconds.
type Building struct {
	screen Screen
	dir    string
	began  time.Time
	until  func()

	mu     sync.Mutex
	region region
	said   bool
	last   time.Time
}

// NewBuilding begins to show that the program of a folder is compiled.
func NewBuilding(screen Screen, dir string) *Building {
	b := &Building{screen: screen, dir: clean(dir), began: screen.now()}
	b.last = b.began
	every := lookEvery
	if screen.Size != nil {
		every = redrawEvery
		b.tick()
	}
	b.until = screen.clock().Every(every, b.tick)
	return b
}

// Close removes the line.
func (b *Building) Close() {
	b.until()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.screen.Size != nil {
		io.WriteString(b.screen.Out, b.region.draw(nil, nil)) //nolint:errcheck // a lost terminal must not fail a build
	}
}

func (b *Building) tick() {
	b.mu.Lock()
	defer b.mu.Unlock()
	style, _ := b.screen.sized()
	now := b.screen.now()
	took := Elapsed(now.Sub(b.began))
	switch {
	case b.screen.Size != nil:
		io.WriteString(b.screen.Out, b.region.draw(nil, style.clipped([]string{"building " + b.dir + "  " + took}))) //nolint:errcheck // as above
	case !b.said:
		b.said, b.last = true, now
		fmt.Fprintln(b.screen.Out, "building "+b.dir)
	case now.Sub(b.last) >= silence:
		b.last = now
		fmt.Fprintln(b.screen.Out, b.screen.at(now)+style.twin("… ")+"building "+b.dir+" for "+took)
	}
}
