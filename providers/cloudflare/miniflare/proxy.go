package miniflare

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
)

// routeOverride is the header by which miniflare is told which Worker a request is for.
const routeOverride = "MF-Route-Override"

// A Worker that no handler answers for sends each request on, to the address that it was for: at Cloudflare to the site behind it, and here to
// itself. Such a request is answered when it has come back too often.
const (
	// sentBy is a header that each request of a Worker has.
	sentBy = "CF-Worker"
	// returns is the header that counts how often it has come back, and mostReturns bounds that, as Cloudflare does.
	returns     = "Athanor-Returns"
	mostReturns = 16
)

// circling counts how often a request has come back, and answers one that has come back too often.
func (s *Server) circling(w http.ResponseWriter, r *http.Request, name string) bool {
	if r.Header.Get(sentBy) == "" {
		r.Header.Del(returns)
		return false
	}
	n, _ := strconv.Atoi(r.Header.Get(returns))
	r.Header.Set(returns, strconv.Itoa(n+1))
	if n < mostReturns {
		return false
	}
	why := fmt.Sprintf("%s: the Worker sends %s %s on to its own address, again and again", name, r.Method, r.URL.Path)
	if s.mu.TryLock() { // a change waits for requests
		if one := s.workers[name]; one != nil && Silent(one.worker) != "" {
			why = fmt.Sprintf("%s: %s", name, Silent(one.worker))
		}
		s.mu.Unlock()
	}
	s.host.printed([]byte(why))
	http.Error(w, why, http.StatusLoopDetected)
	return true
}

// proxy leads the requests of one address to the Worker of that name.
func (s *Server) proxy(name string) http.Handler {
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			to, _ := r.In.Context().Value(target{}).(place)
			r.SetURL(to.url)
			r.Out.Host = r.In.Host // which is what the Worker sees
			r.Out.Header.Del(routeOverride)
			if name != to.withAssets {
				r.Out.Header.Set(routeOverride, name)
			}
		},
		FlushInterval: -1,
		ErrorLog:      quiet(),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.circling(w, r, name) {
			return
		}
		to, err := s.gate.enter(r.Context())
		if err != nil {
			return // the caller has closed the connection
		}
		if r.Header.Get("Upgrade") == "" {
			defer s.gate.leave()
		} else { // a websocket, which has no end to wait for: a change cuts it
			s.gate.leave()
		}
		forward.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), target{}, to)))
	})
}

// target is the key of where a request goes, in its context.
type target struct{}

// place is where an instance answers, and the Worker whose assets it asks first.
type place struct {
	url        *url.URL
	withAssets string
}

// quiet drops what net/http would print: who asked is told by the status.
func quiet() *log.Logger { return slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) }
