package here

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare/miniflare"
	"github.com/athanor-dev/athanor/providers/local"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/kind"
)

// Session is what one dev session runs. It is safe for concurrent use.
type Session struct {
	dev      *reconcile.Dev
	packages []string
	data     string
	redact   func(string) string

	mu        sync.Mutex
	server    *miniflare.Server // nil until something needs it
	ended     bool
	speaker   atomic.Value // the address that lines of the runtime are shown with
	masks     atomic.Pointer[strings.Replacer]
	workers   map[string]Worker            // by name
	logs      map[string]*local.Log        // of these
	kept      atomic.Pointer[[]*local.Log] // the same, for lines of the runtime
	consumers map[string]map[string]miniflare.Consumer
}

// Worker is one that runs.
type Worker struct {
	miniflare.Worker
	// Address is that of its resource, and Owner its owner tag.
	Address string
	Owner   reconcile.Mark
	// URL is where it answers.
	URL string
	// Digest tells its code and files from others.
	Digest string
	// Partial says that it is not bound to everything yet.
	Partial bool
	// Hidden are values that are masked in what is printed, beside the secrets of the stage.
	Hidden []string
}

// Of is the session of a call. Without one it fails with reconcile.ErrDevClosed.
func Of(s kind.Facts) (*Session, error) {
	if s.Dev == nil {
		return nil, reconcile.ErrDevClosed
	}
	return reconcile.Owned(s.Dev, func() *Session {
		data, _ := dataOf(s.Dev, s.Dir, s.Owner)
		return &Session{
			dev: s.Dev, packages: []string{s.Dir}, data: data, redact: s.Redact, workers: map[string]Worker{},
			logs: map[string]*local.Log{}, consumers: map[string]map[string]miniflare.Consumer{},
		}
	})
}

// End ends everything that runs. Where there is no Worker any more, and nothing keeps anything, the folder of the stage goes too.
func (s *Session) End(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.server != nil {
		s.server.Close()
		s.server = nil
	}
	s.kept.Store(nil)
	var errs []error
	for _, log := range s.logs {
		errs = append(errs, log.Close())
	}
	clear(s.logs)
	if len(s.workers) == 0 && emptied(s.data) {
		errs = append(errs, removeRest(s.data))
	}
	return errors.Join(errs...)
}

// spareAfter leaves the processor to a page that is loaded anew after an edit.
const spareAfter = 200 * time.Millisecond

// running is the server, started when it is first needed, and again when it has ended. The lock is held.
func (s *Session) running(ctx context.Context) (*miniflare.Server, error) {
	if s.server != nil && s.server.Err() == nil {
		return s.server, nil
	}
	if s.ended {
		return nil, reconcile.ErrDevClosed
	}
	// It ends with the session, see End, and not with the round that needs it first.
	server, err := miniflare.Start(context.WithoutCancel(ctx), miniflare.Options{Packages: s.packages, Data: s.data, SpareAfter: spareAfter, Log: s.print})
	if err != nil {
		return nil, err
	}
	s.server = server
	clear(s.workers) // those of one that has ended
	s.changed()
	return server, nil
}

// print shows a line of the runtime, which does not tell whose it is: as that of the only Worker, if there is but one.
func (s *Session) print(line string) {
	if s.redact != nil {
		line = s.redact(line)
	}
	if masks := s.masks.Load(); masks != nil {
		line = masks.Replace(line)
	}
	address, ok := s.speaker.Load().(string)
	if !ok {
		address = family
	}
	said := reconcile.LogLine{Time: time.Now(), Source: "workerd", Text: line}
	s.dev.Print(address, said)
	if kept := s.kept.Load(); kept != nil {
		for _, log := range *kept {
			log.Write(said)
		}
	}
}

// listen opens the log of a Worker, before it prints. Which of several Workers a line is of the runtime does not tell: each has it in
// its log. The lock is held.
func (s *Session) listen(w Worker) error {
	if s.logs[w.Name] != nil || w.Address == "" {
		return nil
	}
	log, err := local.OpenLog(s.dev, w.Owner, w.Address)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	s.logs[w.Name] = log
	s.keep()
	return nil
}

// keep has the runtime's lines go to the logs that are open. The lock is held.
func (s *Session) keep() {
	open := slices.Collect(maps.Values(s.logs))
	s.kept.Store(&open)
}

// shortestHidden is the length of the shortest value that is masked: one like "true" or "8080" is in every other line.
const shortestHidden = 8

// masks replaces what the Workers hide.
func masks(workers map[string]Worker) *strings.Replacer {
	var pairs []string
	for _, w := range workers {
		for _, value := range w.Hidden {
			for line := range strings.Lines(value) { // what is printed comes line by line
				if line = strings.TrimSpace(line); len(line) >= shortestHidden {
					pairs = append(pairs, line, reconcile.Mask)
				}
			}
		}
	}
	return strings.NewReplacer(pairs...)
}

// changed notes who may speak, and what they hide. The lock is held.
func (s *Session) changed() {
	s.masks.Store(masks(s.workers))
	address := family
	if len(s.workers) == 1 {
		for _, w := range s.workers {
			address = w.Address
		}
	}
	s.speaker.Store(address)
}

// Find is the Worker of a name that runs.
func (s *Session) Find(name string) (Worker, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil || s.server.Err() != nil {
		return Worker{}, false
	}
	w, ok := s.workers[name]
	return w, ok
}

// Run runs a Worker, or another version of it, and gives where it answers. What cannot be had here is told.
func (s *Session) Run(ctx context.Context, w Worker) (ran Worker, err error) {
	return ran, through(ctx, "Run", true, func(ctx context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		server, err := s.running(ctx)
		if err != nil {
			return err
		}
		if err := s.listen(w); err != nil {
			return err
		}
		before, known := s.workers[w.Name]
		if ran, err = s.set(ctx, server, w); err != nil {
			return err
		}
		if !w.Partial && (!known || before.Partial) {
			s.say(w.Address, "serves at "+ran.URL)
		}
		if silent := miniflare.Silent(w.Worker); silent != "" {
			s.say(w.Address, silent)
		}
		for _, binding := range miniflare.Unsupported(w.Worker) {
			s.say(w.Address, binding+" is not there on this machine")
		}
		return nil
	})
}

// set runs a Worker with the queues that it consumes.
func (s *Session) set(ctx context.Context, server *miniflare.Server, w Worker) (Worker, error) {
	w.Consumers = nil
	for _, c := range s.consumers[w.Name] {
		w.Consumers = append(w.Consumers, c)
	}
	slices.SortFunc(w.Consumers, func(a, b miniflare.Consumer) int {
		if a.Queue < b.Queue {
			return -1
		}
		return 1
	})
	known := portsIn(s.data)
	w.Port = known[w.Name]
	both := maps.Clone(s.workers)
	both[w.Name+" "] = w // beside the version before: it prints before it runs
	s.masks.Store(masks(both))
	var err error
	if w.URL, err = server.Set(ctx, w.Worker); err == nil {
		s.workers[w.Name] = w
		s.changed()
		s.keepPort(known, w)
	}
	return w, err
}

// NameOf returns the name of a new Worker that the author gave none. A Worker ends with its session, so that each session creates it as a
// further generation: it takes the name that it had earlier, under which its port and the data of its objects are kept, also where its
// resource was renamed. Where that one still runs, as in a replacement, the new one has a name of its own: one under which nothing runs or is
// kept, as of the Worker that was renamed from its address.
func (s *Session) NameOf(m reconcile.Mark, earlier string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, runs := s.workers[earlier]; earlier != "" && !runs {
		return earlier
	}
	ports := portsIn(s.data)
	for {
		name := Name(m)
		_, runs := s.workers[name]
		if _, kept := ports[name]; !runs && !kept && len(objectsOf(s.data, name)) == 0 {
			return name
		}
		m.Generation += 1 << 32 // which none has
	}
}

// Ports is the file that has the ports of the Workers, by name, for sessions to come. It lies beside what they keep.
const Ports = "ports.json"

// portsIn are those of the sessions before; none where that cannot be read: a Worker then answers elsewhere.
func portsIn(data string) map[string]int {
	known := map[string]int{}
	text, err := os.ReadFile(filepath.Join(data, Ports))
	if err != nil || json.Unmarshal(text, &known) != nil {
		return map[string]int{}
	}
	return known
}

// keepPort notes where a Worker answers. One that is not noted answers elsewhere in the next session, and no more.
func (s *Session) keepPort(known map[string]int, w Worker) {
	at, err := url.Parse(w.URL)
	if err != nil {
		return
	}
	port, err := strconv.Atoi(at.Port())
	if err != nil || known[w.Name] == port {
		return
	}
	known[w.Name] = port
	writePorts(s.data, known)
}

func writePorts(data string, known map[string]int) {
	if text, err := json.Marshal(known); err == nil {
		_ = os.WriteFile(filepath.Join(data, Ports), text, 0o600)
	}
}

func (s *Session) say(address, text string) {
	s.dev.Print(address, reconcile.LogLine{Time: time.Now(), Source: reconcile.SourceAthanor, Text: text})
}

// Stop ends a Worker.
func (s *Session) Stop(ctx context.Context, name string) error {
	return through(ctx, "Stop", true, func(ctx context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.workers, name)
		s.changed()
		if log := s.logs[name]; log != nil {
			delete(s.logs, name)
			s.keep()
			if err := log.Close(); err != nil {
				return err
			}
		}
		if s.server == nil {
			return nil
		}
		return s.server.Remove(ctx, name)
	})
}

// Consume lets a Worker take the messages of a queue, now if it runs or when it does; nil ends that.
func (s *Session) Consume(ctx context.Context, script, queue string, how *miniflare.Consumer) error {
	return through(ctx, "Consume", true, func(ctx context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case how == nil:
			delete(s.consumers[script], queue)
		case s.consumers[script] == nil:
			s.consumers[script] = map[string]miniflare.Consumer{queue: *how}
		default:
			s.consumers[script][queue] = *how
		}
		w, runs := s.workers[script]
		if !runs || s.server == nil {
			return nil
		}
		_, err := s.set(ctx, s.server, w)
		return err
	})
}

// Consumes tells how a Worker takes the messages of a queue, if it does.
func (s *Session) Consumes(script, queue string) (miniflare.Consumer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.consumers[script][queue]
	return c, ok
}

// Ask reads in a database, and Do writes: statements of SQL, all or none.
func (s *Session) Ask(ctx context.Context, database string, sql ...string) ([][]map[string]any, error) {
	return s.query(ctx, "Ask", false, database, sql)
}

// Do writes in a database, see [Session.Ask].
func (s *Session) Do(ctx context.Context, database string, sql ...string) ([][]map[string]any, error) {
	return s.query(ctx, "Do", true, database, sql)
}

func (s *Session) query(ctx context.Context, name string, mutates bool, database string, sql []string) (rows [][]map[string]any, err error) {
	return rows, through(ctx, name, mutates, func(ctx context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		server, err := s.running(ctx)
		if err != nil {
			return err
		}
		rows, err = server.Query(ctx, database, sql...)
		return err
	})
}

// through makes a call as others are made: counted, and refused where nothing may be changed.
func through(ctx context.Context, name string, mutates bool, do func(context.Context) error) error {
	return reconcile.Through(ctx, reconcile.Call{Service: family, Operation: name, Place: reconcile.Place{Provider: family}, Mutates: mutates}, do)
}
