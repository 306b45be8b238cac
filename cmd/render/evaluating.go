package render

import (
	"fmt"
	"sync"
	"time"
)

// evaluationPatience is how long a program may take to declare its stack before it is said what is waited for.
const evaluationPatience = 5 * time.Second

// Evaluating says once of a program that takes long to declare its stack that it still runs, and how it is stopped, until what it returns is
// called. It is a plain line on a terminal too: the program may print.
func Evaluating(screen Screen, dir string) (stop func()) {
	began, once := screen.now(), sync.Once{}
	return screen.clock().Every(lookEvery, func() {
		if screen.now().Sub(began) < evaluationPatience {
			return
		}
		once.Do(func() {
			fmt.Fprintf(screen.Out, "still running: the program in %s; Ctrl-C stops it\n", clean(dir))
		})
	})
}
