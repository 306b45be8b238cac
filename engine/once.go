package engine

// once is work that the first who comes does for all. Unlike that of package sync it keeps those who wait for it on a
// channel: in simulated time the work may take a while, and time goes by only while nobody waits for a lock.
type once chan struct{}

// newOnce is closed when the work is done.
func newOnce() once { return make(once) }

// do does the work when it is the caller's, else waits for it.
func (o once) do(mine bool, work func()) {
	if mine {
		defer close(o)
		work()
		return
	}
	<-o
}
