package miniflare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// askerName is the name of a Worker of our own, which does SQL for callers outside. No Worker of Cloudflare can be
// called so.
const askerName = "athanor.sql"

const askerCode = `export default {
  async fetch(request, env) {
    const { database, sql } = await request.json();
    try {
      const done = await env[database].batch(sql.map((one) => env[database].prepare(one)));
      return Response.json({ results: done.map((d) => d.results) });
    } catch (error) {
      return Response.json({ error: error.message });
    }
  },
}`

// asker is that Worker, bound to each database by its id. It calls nobody, and so needs no service that cleans its calls.
func asker(databases []string) map[string]any {
	bound := map[string]any{}
	for _, id := range databases {
		bound[id] = id
	}
	return map[string]any{
		"name": askerName, "d1Databases": bound, "modulesRoot": "/", "compatibilityDate": "2026-01-01", "stripCfConnectingIp": false,
		"modules": []any{map[string]any{"type": "ESModule", "path": "/index.js", "contents": []byte(askerCode)}},
	}
}

// Query does statements of SQL in the database of D1 that has this id, all or none, and gives the rows of each. The first
// time it asks for a database all Workers are started anew, as by [Server.Set].
func (s *Server) Query(ctx context.Context, database string, sql ...string) (rows [][]map[string]any, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.databases, database) {
		if err := s.change(ctx, s.workers, append(slices.Clone(s.databases), database)); err != nil {
			return nil, fmt.Errorf("database %s: %w", database, err)
		}
	}
	rows, err = s.ask(ctx, database, sql)
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", database, err)
	}
	return rows, nil
}

func (s *Server) ask(ctx context.Context, database string, sql []string) ([][]map[string]any, error) {
	body, err := json.Marshal(map[string]any{"database": database, "sql": sql})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set(routeOverride, askerName)
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var done struct {
		Error   string
		Results [][]map[string]any
	}
	if err := json.NewDecoder(res.Body).Decode(&done); err != nil {
		return nil, fmt.Errorf("status %d: %w", res.StatusCode, err)
	}
	if done.Error != "" {
		return nil, errors.New(done.Error)
	}
	return done.Results, nil
}
