package cloudflaretest

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/athanor-dev/athanor/providers/wiretest"
)

// database is a database of D1.
type database struct {
	account, id, name, mode string

	jurisdiction any
	tables       int
	written      []string // statements that changed it, in their order
	importing    *sqlImport
	imported     map[string]string // what was uploaded for imports, by the name of the file
}

// sqlImport is an import under way. It blocks the database: what is asked of it then waits for the end.
type sqlImport struct {
	file, bookmark string
	polls          int // how often it is still unfinished
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
	"d1.ImportDatabase": onDatabase(importDatabase),
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
	if f := w.noSQL(); f != nil {
		return nil, f
	}
	d.finishImport(w)
	a, err := w.sqlite.run(d.id, r.text("sql"), false)
	if err != nil {
		return nil, &failure{status: 500, code: 7500, message: err.Error()}
	}
	d.keep(a)
	if a.Error != "" {
		return nil, &failure{status: 400, code: 7500, message: a.Error + ": SQLITE_ERROR"}
	}
	results := []any{}
	for _, s := range a.Done {
		rows := []any{}
		for _, row := range s.Results {
			rows = append(rows, row)
		}
		results = append(results, object{"success": true, "results": rows, "meta": object{"changes": s.Changes, "duration": 0.1}})
	}
	return whole{"success": true, "errors": []any{}, "messages": []any{}, "result": results}, nil
}

// noSQL is the answer of a server without databases.
func (w *world) noSQL() *failure {
	if w.sqlite != nil {
		return nil
	}
	return &failure{status: 500, code: 7500, message: "no databases are served: a test asks for them by WithDatabases, the program needs Python 3"}
}

// keep notes what statements have changed.
func (d *database) keep(a answered) {
	d.tables = a.Tables
	for _, s := range a.Done {
		if !reads.MatchString(s.Statement) {
			d.written = append(d.written, s.Statement)
		}
	}
}

// uploadPath is where what is to be imported goes: a signed URL, as of R2, which is no part of the API.
const uploadPath = "/d1-sql-imports/"

var md5Text = regexp.MustCompile(`^[0-9a-f]{32}$`)

// importDatabase is the three actions of https://developers.cloudflare.com/api/resources/d1/subresources/database/methods/import/.
// A file that was uploaded before is not asked for again: it is imported at once, as wrangler counts on.
func importDatabase(w *world, r request, d *database) (any, *failure) {
	if f := w.noSQL(); f != nil {
		return nil, f
	}
	etag, file := r.text("etag"), d.id+"."+r.text("etag")+".sql"
	_, uploaded := d.imported[file]
	switch action := r.text("action"); {
	case action != "poll" && !md5Text.MatchString(etag):
		return nil, &failure{status: 400, code: 7400, message: "etag must be the MD5 of the file"}
	case action == "init" && !uploaded:
		return object{
			"success": true, "type": "import", "filename": file, "messages": []any{},
			"upload_url": w.url + uploadPath + d.account + "/" + file + "?X-Amz-Signature=" + w.signed(file),
		}, nil
	case action == "init", action == "ingest" && uploaded && r.text("filename") == file:
		d.finishImport(w)
		d.importing = &sqlImport{file: file, bookmark: hexID(16), polls: w.importPolls}
		return d.imports(w)
	case action == "ingest":
		return object{"success": false, "type": "import", "status": "error", "messages": []any{}, "error": "File has not been uploaded: " + r.text("filename")}, nil
	case action == "poll" && d.importing != nil && r.text("current_bookmark") == d.importing.bookmark:
		return d.imports(w)
	case action == "poll":
		return object{"success": false, "type": "import", "status": "error", "messages": []any{}, "error": "Not currently importing anything."}, nil
	}
	return nil, &failure{status: 400, code: 7400, message: "no such action: " + r.text("action")}
}

// imports goes on with the import, and says how far it is.
func (d *database) imports(w *world) (any, *failure) {
	if d.importing.polls > 0 {
		d.importing.polls--
		return object{
			"success": true, "type": "import", "status": "active", "at_bookmark": d.importing.bookmark, "messages": []any{"Processed 1 queries."},
		}, nil
	}
	a := d.finishImport(w)
	if a.Error != "" {
		return object{"success": false, "type": "import", "status": "error", "messages": []any{}, "error": a.Error + ": SQLITE_ERROR"}, nil
	}
	return object{"success": true, "type": "import", "status": "complete", "messages": []any{}, "result": object{
		"num_queries": len(a.Done), "final_bookmark": hexID(16),
		"meta": object{"duration": 0.1, "rows_read": 0, "rows_written": 0, "changes": 0, "changed_db": true, "size_after": 8192 * d.tables, "last_row_id": 0},
	}}, nil
}

// finishImport does the import under way to its end, whole or not at all.
func (d *database) finishImport(w *world) answered {
	if d.importing == nil {
		return answered{Tables: d.tables}
	}
	file := d.importing.file
	d.importing = nil
	a, err := w.sqlite.run(d.id, d.imported[file], true)
	if err != nil {
		a.Error = err.Error()
	}
	if a.Error == "" {
		d.keep(a)
	}
	return a
}

// signed is the signature of the URL of a file.
func (w *world) signed(file string) string {
	mac := hmac.New(sha256.New, []byte(w.token))
	mac.Write([]byte(file))
	return hex.EncodeToString(mac.Sum(nil))
}

// uploadImport takes a file at its signed URL, as R2 does: what proves the right to it is the URL, and a second proof is refused.
func (w *world) uploadImport(r *http.Request, body []byte) wiretest.Answer {
	w.mu.Lock()
	defer w.mu.Unlock()
	account, file, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, uploadPath), "/")
	refuse := func(status int, code string) wiretest.Answer {
		return wiretest.Answer{
			Status: status, Header: http.Header{"Content-Type": {"application/xml"}},
			Body: []byte("<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>" + code + "</Code></Error>"),
		}
	}
	switch {
	case r.Method != http.MethodPut:
		return refuse(http.StatusMethodNotAllowed, "MethodNotAllowed")
	case r.Header.Get("Authorization") != "":
		return refuse(http.StatusBadRequest, "InvalidArgument")
	case r.URL.Query().Get("X-Amz-Signature") != w.signed(file):
		return refuse(http.StatusForbidden, "SignatureDoesNotMatch")
	}
	for _, d := range w.bases {
		if d.account != account || !strings.HasPrefix(file, d.id+".") {
			continue
		}
		sum := md5.Sum(body)
		etag := hex.EncodeToString(sum[:])
		if file == d.id+"."+etag+".sql" { // R2 keeps another one too, and its import is refused
			if d.imported == nil {
				d.imported = map[string]string{}
			}
			d.imported[file] = string(body)
		}
		return wiretest.Answer{Status: http.StatusOK, Header: http.Header{"Etag": {`"` + etag + `"`}}}
	}
	return refuse(http.StatusNotFound, "NoSuchBucket")
}

// ImportsTake lets every later import be unfinished for so many answers.
func (s *Server) ImportsTake(polls int) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.importPolls = polls
}

// AddDatabase makes a database of this id exist in the account. Nothing can be asked of it without [Server.WithDatabases].
func (s *Server) AddDatabase(id, name string) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.bases = append(s.world.bases, &database{account: s.Account, id: id, name: name, mode: "disabled"})
}
