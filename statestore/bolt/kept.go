package bolt

import "errors"

// keep holds on to the file of a commit that went well, without its lock, so that the next one need not open and map it
// again: in a long chain of commits that is a third of the work beside the disk's. Nobody waits for a file that is kept.
func (s *Store) keep(f *file) error {
	head, ok := newestMeta(f.os)
	if !relocks || !ok {
		return f.close()
	}
	if err := unlock(f.os); err != nil {
		return errors.Join(err, f.close())
	}
	f.turn.release()
	f.head = head
	s.mu.Lock()
	f, s.kept = s.kept, f
	s.mu.Unlock()
	if f != nil {
		return f.close() // another goroutine's
	}
	return nil
}

// again locks the file that was kept, if it still is what the path names and nobody has written to it since: what the
// database remembers of it then still holds. Nil without an error is that there is none, errLocked that somebody is at
// work on it; it is kept then.
func (s *Store) again() (*file, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.kept
	if f == nil {
		return nil, nil
	}
	err := lock(f.os)
	if errors.Is(err, errLocked) {
		return nil, err
	}
	s.kept = nil
	if head, ok := newestMeta(f.os); err == nil && ok && head == f.head && f.current() == nil && inspect(f.os) == nil {
		return f, nil
	}
	return nil, f.close()
}

// drop closes the file that was kept.
func (s *Store) drop() error {
	s.mu.Lock()
	f := s.kept
	s.kept = nil
	s.mu.Unlock()
	if f == nil {
		return nil
	}
	return f.close()
}
