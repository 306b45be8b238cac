package cloudflaretest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare/miniflare"
)

// trials starts what is uploaded in Cloudflare's own runtime, one for all servers of the process: what does not start there is
// refused, as Cloudflare does. The runtime ends with the process.
var trials = sync.OnceValue(func() *trial { return &trial{results: map[string]string{}} })

// trial starts Workers one after the other, the same code once.
type trial struct {
	mu      sync.Mutex
	runtime *miniflare.Server
	results map[string]string // what the runtime says of code, "" when it starts
}

// longestStart is how long code may take to start. Cloudflare gives it 400 ms of processor time,
// https://developers.cloudflare.com/workers/platform/limits/#worker-startup-time; a machine that runs tests has other work too.
const longestStart = 2 * time.Minute

// start gives what the runtime says of an upload that does not start, "" for one that does. It starts without what it is bound
// to: code that runs before the first request has no environment.
func (t *trial) start(u Upload) (problem string, err error) {
	w := miniflare.Worker{Name: "trial", Main: fmt.Sprint(u.Metadata["main_module"])}
	w.CompatibilityDate, _ = u.Metadata["compatibility_date"].(string)
	flags, _ := u.Metadata["compatibility_flags"].([]any)
	for _, flag := range flags {
		w.CompatibilityFlags = append(w.CompatibilityFlags, fmt.Sprint(flag))
	}
	for _, m := range u.Modules {
		w.Modules = append(w.Modules, miniflare.Module{Name: m.Name, Type: m.Type, Content: m.Content})
	}
	text, err := json.Marshal(w)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	key := hex.EncodeToString(sum[:])

	t.mu.Lock()
	defer t.mu.Unlock()
	if problem, known := t.results[key]; known {
		return problem, nil
	}
	if t.runtime == nil {
		dir, err := folder()
		if err != nil {
			return "", err
		}
		if t.runtime, err = miniflare.Start(context.Background(), miniflare.Options{Packages: []string{dir}}); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), longestStart)
	defer cancel()
	switch _, err := t.runtime.Set(ctx, w); {
	case errors.Is(err, context.DeadlineExceeded):
		problem = "Script startup exceeded CPU time limit."
	case err != nil:
		refused, ok := errors.AsType[*miniflare.RefusedError](err)
		if !ok {
			return "", err
		}
		problem = problemOf(refused.Said)
	}
	t.results[key] = problem
	return problem, nil
}

// problemOf is the line that names the problem among what the runtime says: the rest tells where in the runtime.
func problemOf(said string) string {
	for line := range strings.Lines(said) {
		if _, thrown, ok := strings.Cut(line, "Uncaught "); ok {
			return "Uncaught " + strings.TrimSpace(thrown)
		}
	}
	first, _, _ := strings.Cut(said, "\n")
	return first
}
