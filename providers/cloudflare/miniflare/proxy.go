package miniflare

import (
	"context"
	"log"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// routeOverride is the header by which miniflare is told which Worker a request is for.
const routeOverride = "MF-Route-Override"

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
