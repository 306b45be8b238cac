package miniflare

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Options say how Workers run.
type Options struct {
	// Packages are folders from which the npm package miniflare is looked for, as Node.js does, or wrangler, which comes
	// with it. The first that has one counts.
	Packages []string
	// Data is a folder for what KV, D1, R2 and Durable Objects hold; it is made with access for the user alone. What is in
	// it lasts. "" is a temporary one, which goes with the server. Messages in queues never outlive a change of a Worker.
	Data string
	// SpareAfter is how long after a change the runtime of the next one starts, where it waits for code: an edit of a main module
	// then takes some milliseconds. It costs 50 MB of memory. 0: never.
	SpareAfter time.Duration
	// Log gets each line that a Worker, or the runtime, prints, as it is, one after another. nil drops them.
	Log func(line string)
}

// Server runs Workers.
type Server struct {
	host       *host
	data       string
	temp       string // data, when it is ours
	spareAfter time.Duration
	gate       gate
	stop       func() bool
	once       sync.Once

	mu        sync.Mutex // held through every change
	workers   map[string]*served
	databases []string // that are asked for beside the Workers
	instance  int      // the one that answers; 0 is none
	url       *url.URL // of that instance
	spared    int      // how many changes a spare has served
}

// served is a Worker and its address.
type served struct {
	worker Worker
	port   net.Listener
	front  *http.Server
}

// Start starts a server, which ends with the context or by [Server.Close]. Without Node.js or miniflare the error is an
// [ErrMissing] with a hint.
func Start(ctx context.Context, o Options) (*Server, error) {
	s := &Server{workers: map[string]*served{}, spareAfter: o.SpareAfter}
	var err error
	if o.Data == "" {
		s.temp, err = os.MkdirTemp("", "athanor-miniflare-")
		o.Data = s.temp
	} else {
		err = os.MkdirAll(o.Data, 0o700)
	}
	if err == nil {
		s.data, err = filepath.Abs(o.Data)
	}
	if err == nil {
		o.Data = s.data
		s.host, err = launch(ctx, o, s.temp)
	}
	if err != nil {
		os.RemoveAll(s.temp)
		return nil, err
	}
	s.stop = context.AfterFunc(ctx, s.end)
	return s, nil
}

// Close ends all Workers, and returns when no process is left.
func (s *Server) Close() {
	s.stop()
	s.end()
}

func (s *Server) end() {
	s.once.Do(func() {
		s.host.close()
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, one := range s.workers {
			one.front.Close() //nolint:errcheck // nobody is left to answer
		}
		if s.temp != "" {
			os.RemoveAll(s.temp)
		}
	})
}

// Done is closed when the server has ended, by itself too; [Server.Err] says why.
func (s *Server) Done() <-chan struct{} { return s.host.gone }

// Err is why the server has ended, nil while it runs.
func (s *Server) Err() error {
	select {
	case <-s.host.gone:
		return s.host.err
	default:
		return nil
	}
}

// Set runs a Worker, or another version of the one of that name, and tells where it answers: an address of this machine
// that stays the same for as long as the name runs. It returns when the new version answers. Requests meanwhile are
// answered by the old one, or wait. A version that does not start is an error, with what the runtime says, and
// everything stays as it was.
//
// GET /cdn-cgi/handler/scheduled?cron=CRON runs what a Worker does by the clock, which nothing else does here.
func (s *Server) Set(ctx context.Context, w Worker) (string, error) {
	urls, err := s.SetAll(ctx, w)
	if err != nil {
		return "", fmt.Errorf("%s: %w", w.Name, err)
	}
	return urls[w.Name], nil
}

// SetAll is [Server.Set] for several Workers at once, which takes the time that one takes. It returns their addresses by name.
func (s *Server) SetAll(ctx context.Context, workers ...Worker) (urls map[string]string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(s.workers)
	var began []*served
	defer func() {
		for _, one := range began {
			if one.front == nil && s.workers[one.worker.Name] != one {
				one.port.Close() //nolint:errcheck // it served nothing yet
			}
		}
	}()
	for _, w := range workers {
		one := &served{worker: w}
		if was := s.workers[w.Name]; was != nil {
			one.port, one.front = was.port, was.front
		} else {
			if one.port, err = listen(ctx, w.Port); err != nil {
				return nil, err
			}
			began = append(began, one)
		}
		next[w.Name] = one
	}
	if err := s.change(ctx, next, s.databases); err != nil {
		return nil, err
	}
	urls = map[string]string{}
	for _, w := range workers {
		one := next[w.Name]
		if one.front == nil {
			one.front = &http.Server{Handler: s.proxy(w.Name), ReadHeaderTimeout: time.Minute, ErrorLog: quiet()}
			go one.front.Serve(one.port) //nolint:errcheck // it ends when it is closed, and with nothing else to say
		}
		urls[w.Name] = "http://" + one.port.Addr().String()
	}
	return urls, nil
}

// listen listens at a port of this machine: at another one where that is taken.
func listen(ctx context.Context, port int) (net.Listener, error) {
	var anywhere net.ListenConfig
	if port != 0 {
		if l, err := anywhere.Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return l, nil
		}
	}
	return anywhere.Listen(ctx, "tcp", "127.0.0.1:0")
}

// Remove ends a Worker. What it stored stays. One that does not run is none.
func (s *Server) Remove(ctx context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.workers[name]
	if was == nil {
		return nil
	}
	next := maps.Clone(s.workers)
	delete(next, name)
	if err := s.change(ctx, next, s.databases); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return was.front.Close()
}

// patience is how long requests may take to end when their Worker changes, before they are cut.
const patience = 2 * time.Second

// change starts an instance with other Workers beside the one that answers, lets it take over, and ends the old one.
// Nothing opens what is stored before the old instance has ended, since two would be in each other's way.
func (s *Server) change(ctx context.Context, workers map[string]*served, databases []string) error {
	options, withAssets, err := s.options(workers, databases)
	if err != nil {
		return err
	}
	a, err := s.host.ask(ctx, "start", map[string]any{"options": options})
	if err != nil {
		if ctx.Err() != nil { // it may start yet
			_, stopping := s.host.ask(context.WithoutCancel(ctx), "stop", map[string]any{"instance": a.ID})
			return errors.Join(err, stopping)
		}
		s.prepare()
		return err
	}
	to, err := url.Parse(a.URL)
	if err != nil {
		return err
	}
	old := s.instance
	s.gate.swap(place{to, withAssets}, patience, func() {
		if old != 0 {
			_, err = s.host.ask(context.WithoutCancel(ctx), "stop", map[string]any{"instance": old})
		}
	})
	s.workers, s.databases, s.instance, s.url = workers, databases, a.ID, to
	if a.Spared {
		s.spared++
	}
	s.prepare()
	return err
}

// prepare has the host start a spare of the instance that answers, and does not wait for it. Without a spare the next change takes longer,
// and that is all.
func (s *Server) prepare() {
	if s.spareAfter > 0 {
		_, _ = s.host.send("prepare", map[string]any{"instance": s.instance, "after": s.spareAfter.Milliseconds()}, nil)
	}
}

func (s *Server) options(workers map[string]*served, databases []string) (options map[string]any, withAssets string, err error) {
	names := slices.Sorted(maps.Keys(workers))
	all := make([]any, 0, len(names)+1)
	for _, name := range names {
		w := workers[name].worker
		o, err := w.options(names)
		if err != nil {
			return nil, "", err
		}
		switch {
		case w.Assets == nil:
			all = append(all, o)
		case withAssets == "":
			withAssets = name
			all = slices.Insert(all, 0, any(o)) // miniflare asks the assets of the first Worker alone, and when no other is named
		default:
			return nil, "", fmt.Errorf("%s and %s have assets: miniflare serves those of one Worker", withAssets, name)
		}
	}
	if len(databases) > 0 || len(all) == 0 { // each start of an instance pays for it, and miniflare starts none without a Worker
		all = append(all, asker(databases))
	}
	return map[string]any{"workers": all, "defaultPersistRoot": s.data}, withAssets, nil
}
