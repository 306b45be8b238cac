package service

import (
	_ "embed" // the description is a file
	"net/http"
)

// Description is the OpenAPI 3.1 document of the protocol.
//
//go:embed openapi.json
var Description []byte

// open adds what needs no token: the description, and whether the service runs and reaches its store.
func (s *Service) open() {
	s.mux.HandleFunc("GET /v1/openapi.json", func(w http.ResponseWriter, r *http.Request) {
		writeBody(w, r, http.StatusOK, "application/json", Description)
	})
	s.mux.HandleFunc("GET /livez", func(w http.ResponseWriter, r *http.Request) {
		writeBody(w, r, http.StatusOK, "text/plain; charset=utf-8", []byte("ok\n"))
	})
	s.mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if _, err := s.store.ID(r.Context()); err != nil {
			s.fail(w, r, err)
			return
		}
		writeBody(w, r, http.StatusOK, "text/plain; charset=utf-8", []byte("ok\n"))
	})
}
