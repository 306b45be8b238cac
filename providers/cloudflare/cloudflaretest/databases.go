package cloudflaretest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// database is a database of D1.
type database struct {
	account, id, name, mode string

	jurisdiction any
	tables       int
	written      []string // statements that changed it, in their order
}

// reads are statements that change nothing.
var reads = regexp.MustCompile(`(?i)^\s*(SELECT|PRAGMA|EXPLAIN)\b`)

var databaseHandlers = map[string]handler{
	"d1.ListDatabases":  listDatabases,
	"d1.CreateDatabase": createDatabase,
	"d1.GetDatabase":    onDatabase(func(_ *world, _ request, d *database) (any, *failure) { return d.shown(), nil }),
	"d1.PatchDatabase":  onDatabase(setReplication),
	"d1.UpdateDatabase": onDatabase(setReplication),
	"d1.DeleteDatabase": onDatabase(deleteDatabase),
	"d1.QueryDatabase":  onDatabase(queryDatabase),
}

func noDatabase() *failure {
	return &failure{service: "d1", status: 404, code: 7404, message: "The database could not be found"}
}

func onDatabase(do func(*world, request, *database) (any, *failure)) handler {
	return func(w *world, r request) (any, *failure) {
		for _, d := range w.bases {
			if d.account == r.account && d.id == r.path["databaseId"] {
				return do(w, r, d)
			}
		}
		return nil, noDatabase()
	}
}

func (d *database) shown() object {
	return object{
		"uuid": d.id, "name": d.name, "jurisdiction": d.jurisdiction, "created_at": "2024-01-01T00:00:00.000Z", "version": "production",
		"num_tables": d.tables, "file_size": 8192 * d.tables, "read_replication": object{"mode": d.mode},
	}
}

// listDatabases shows those whose names have the text in them, without what only a look at one shows.
func listDatabases(w *world, r request) (any, *failure) {
	all := map[string]any{}
	for _, d := range w.bases {
		if d.account == r.account && strings.Contains(d.name, r.query.Get("name")) {
			all[d.name] = object{"uuid": d.id, "name": d.name, "jurisdiction": d.jurisdiction, "created_at": "2024-01-01T00:00:00.000Z", "version": "production"}
		}
	}
	return paged(r, sorted(all), 100), nil
}

func mode(r request) string {
	replication, _ := r.body["read_replication"].(object)
	mode, _ := replication["mode"].(string)
	return mode
}

func createDatabase(w *world, r request) (any, *failure) {
	for _, d := range w.bases {
		if d.account == r.account && d.name == r.text("name") {
			return nil, &failure{status: 400, code: 7502, message: "Database with name '" + d.name + "' already exists"}
		}
	}
	h := hexID(16)
	d := &database{
		account: r.account, name: r.text("name"), mode: "disabled", jurisdiction: r.body["jurisdiction"],
		id: fmt.Sprintf("%s-%s-%s-%s-%s", h[:8], h[8:12], h[12:16], h[16:20], h[20:]),
	}
	if m := mode(r); m != "" {
		d.mode = m
	}
	w.bases = append(w.bases, d)
	return d.shown(), nil
}

func setReplication(_ *world, r request, d *database) (any, *failure) {
	d.mode = mode(r)
	return d.shown(), nil
}

func deleteDatabase(w *world, _ request, d *database) (any, *failure) {
	w.bases = slices.DeleteFunc(w.bases, func(o *database) bool { return o == d })
	return nil, nil
}

func queryDatabase(w *world, r request, d *database) (any, *failure) {
	if w.sqlite == nil {
		return nil, &failure{status: 500, code: 7500, message: "no databases are served: a test asks for them by WithDatabases, the program needs Python 3"}
	}
	a, err := w.sqlite.run(d.id, r.text("sql"))
	if err != nil {
		return nil, &failure{status: 500, code: 7500, message: err.Error()}
	}
	if a.Error != "" {
		return nil, &failure{status: 400, code: 7500, message: a.Error + ": SQLITE_ERROR"}
	}
	d.tables = a.Tables
	results := []any{}
	for _, s := range a.Done {
		if !reads.MatchString(s.Statement) {
			d.written = append(d.written, s.Statement)
		}
		rows := []any{}
		for _, row := range s.Results {
			rows = append(rows, row)
		}
		results = append(results, object{"success": true, "results": rows, "meta": object{"changes": s.Changes, "duration": 0.1}})
	}
	return whole{"success": true, "errors": []any{}, "messages": []any{}, "result": results}, nil
}

// AddDatabase makes a database of this id exist in the account. Nothing can be asked of it without [Server.WithDatabases].
func (s *Server) AddDatabase(id, name string) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.bases = append(s.world.bases, &database{account: s.Account, id: id, name: name, mode: "disabled"})
}
