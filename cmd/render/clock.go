package render

import "time"

// Clock tells a screen the time and when to draw again. A test gives one that it moves itself.
type Clock interface {
	Now() time.Time
	// Every calls do every d on one goroutine, until the function that it returns was called and has returned.
	Every(d time.Duration, do func()) (stop func())
}

// systemClock is the clock of the machine.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Every(d time.Duration, do func()) (stop func()) {
	t, end, ended := time.NewTicker(d), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			case <-t.C:
				do()
			}
		}
	}()
	return func() {
		t.Stop()
		close(end)
		<-ended
	}
}

const (
	// redrawEvery is how often a live region is drawn again; lookEvery how often a stream of plain lines is asked whether it was
	// silent for longer than silence.
	redrawEvery = 100 * time.Millisecond
	lookEvery   = time.Second
	silence     = 10 * time.Second
)
