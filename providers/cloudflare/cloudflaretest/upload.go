package cloudflaretest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/textproto"
	"regexp"
	"strings"
	"time"
)

// Upload is the body of an upload of a Worker: its metadata, and the parts that are its modules.
type Upload struct {
	Metadata map[string]any
	Modules  []Module // in the order of the parts
}

// Module is one part of an upload.
type Module struct {
	// Name is that of the part and, as Cloudflare wants it, of its file.
	Name string
	// Type is its content type, such as "application/javascript+module".
	Type    string
	Content []byte
}

// Encode writes an upload as it goes over the wire, and gives the content type of the whole.
func (u Upload) Encode() (contentType string, body []byte) {
	var text bytes.Buffer
	form := multipart.NewWriter(&text)
	if u.Metadata != nil {
		part, _ := form.CreateFormField("metadata") // a buffer takes everything
		_, _ = part.Write(plain(u.Metadata))
	}
	for _, m := range u.Modules {
		header := textproto.MIMEHeader{}
		header.Set("Content-Disposition", fmt.Sprintf("form-data; name=%q; filename=%q", m.Name, m.Name))
		header.Set("Content-Type", m.Type)
		part, _ := form.CreatePart(header)
		_, _ = part.Write(m.Content)
	}
	_ = form.Close()
	return form.FormDataContentType(), text.Bytes()
}

// jsonParts are the parts of a form that are JSON and no files.
var jsonParts = map[string]bool{"metadata": true, "settings": true}

// form reads a multipart body: the parts that are JSON, or that are no files, into body, all else as modules. Those of Workers are
// files of their own names.
func form(contentType string, raw []byte, ofWorker bool) (body object, u Upload, err error) {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, u, err
	}
	parts := multipart.NewReader(bytes.NewReader(raw), params["boundary"])
	body = object{}
	for {
		part, err := parts.NextRawPart()
		if err == io.EOF {
			u.Metadata, _ = body["metadata"].(object)
			return body, u, nil
		}
		if err != nil {
			return nil, u, err
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return nil, u, err
		}
		name := part.FormName()
		if jsonParts[name] {
			var value any
			if err := json.Unmarshal(content, &value); err != nil {
				return nil, u, fmt.Errorf("part %s: %w", name, err)
			}
			body[name] = value
			continue
		}
		file := fileName(part)
		if file == "" && !ofWorker {
			body[name] = string(content)
			continue
		}
		if ofWorker && file != name {
			return nil, u, fmt.Errorf("part %s is called %q as a file: a module has one name", name, file)
		}
		u.Modules = append(u.Modules, Module{Name: name, Type: part.Header.Get("Content-Type"), Content: content})
	}
}

// fileName is the name of a part's file, whole: the one of mime/multipart leaves out folders.
func fileName(part *multipart.Part) string {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return ""
	}
	return params["filename"]
}

// main is the module that the metadata names.
func (u Upload) main() (Module, bool) {
	name, _ := u.Metadata["main_module"].(string)
	for _, m := range u.Modules {
		if m.Name == name {
			return m, true
		}
	}
	return Module{}, false
}

// types are the content types of modules, without parameters.
var types = map[string]bool{
	"application/javascript+module": true, "text/javascript+module": true, "application/javascript": true, "text/javascript": true,
	"application/wasm": true, "text/plain": true, "application/octet-stream": true, "application/source-map": true,
	"text/x-python": true, "text/x-python-requirement": true,
}

// runs reports code that would not start, as far as its text tells.
func (u Upload) runs() *failure {
	_, onlyAssets := u.Metadata["assets"]
	if _, named := u.Metadata["main_module"]; !named && onlyAssets && len(u.Modules) == 0 {
		return nil
	}
	main, found := u.main()
	if !found {
		return &failure{status: 400, code: 10021, message: fmt.Sprintf("Uncaught Error: No such module %q.", u.Metadata["main_module"])}
	}
	for _, m := range u.Modules {
		if kind, _, _ := mime.ParseMediaType(m.Type); !types[kind] {
			return &failure{status: 400, code: 10021, message: fmt.Sprintf("module %q has an unknown content type: %s", m.Name, m.Type)}
		}
	}
	names, all := exports(string(main.Content))
	if !names["default"] && !all {
		return &failure{status: 400, code: 10068, message: "The uploaded script has no registered event handlers."}
	}
	if text, _ := u.Metadata["compatibility_date"].(string); text != "" {
		date, err := time.Parse(time.DateOnly, text)
		if err != nil || date.After(time.Now()) {
			return &failure{status: 400, code: 10021, message: "Can't set compatibility date in the future: " + text}
		}
	}
	problem, err := trials().start(u)
	if err != nil {
		problem = err.Error() // the test has no runtime: nothing may seem to start
	}
	if problem != "" {
		return &failure{status: 400, code: 10021, message: problem}
	}
	return nil
}

var (
	exportOne  = regexp.MustCompile(`\bexport\s+(default\b|(?:async\s+)?(?:class|function\*?|const|let|var)\s+([\w$]+))`)
	exportList = regexp.MustCompile(`\bexport\s*\{([^}]*)\}`)
	exportAll  = regexp.MustCompile(`\bexport\s*\*\s*from`)
)

// exports are the names that a module exports; all when it passes on those of another one, which the text does not tell.
func exports(text string) (names map[string]bool, all bool) {
	names = map[string]bool{}
	for _, found := range exportOne.FindAllStringSubmatch(text, -1) {
		name := found[2]
		if name == "" {
			name = "default"
		}
		names[name] = true
	}
	for _, found := range exportList.FindAllStringSubmatch(text, -1) {
		for one := range strings.SplitSeq(found[1], ",") {
			words := strings.Fields(one)
			if len(words) > 0 {
				names[words[len(words)-1]] = true
			}
		}
	}
	return names, exportAll.MatchString(text)
}

// Uploads are the uploads of a Worker that were taken, the oldest first: each that made a version with code of its own.
func (s *Server) Uploads(name string) []Upload {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	var all []Upload
	if k := s.world.worker(s.Account, name); k != nil {
		for _, v := range k.versions {
			if v.upload.Metadata != nil {
				all = append(all, v.upload)
			}
		}
	}
	return all
}

// Upload uploads a Worker as somebody else. An error fails the test.
func (s *Server) Upload(t T, name string, u Upload) {
	t.Helper()
	if status, envelope := s.TryUpload(t, name, u); status >= 300 {
		t.Fatalf("upload of %s: %d %v", name, status, envelope["errors"])
	}
}

// TryUpload is [Server.Upload] whose answer may be an error.
func (s *Server) TryUpload(t T, name string, u Upload) (status int, envelope map[string]any) {
	t.Helper()
	kind, body := u.Encode()
	return s.send(t, "PUT", "/accounts/ACCOUNT/workers/scripts/"+name, nil, kind, body)
}

// UploadVersion uploads a version as somebody else, which gets no calls yet. An error fails the test.
func (s *Server) UploadVersion(t T, name string, u Upload) {
	t.Helper()
	kind, body := u.Encode()
	if status, envelope := s.send(t, "POST", "/accounts/ACCOUNT/workers/scripts/"+name+"/versions", nil, kind, body); status >= 300 {
		t.Fatalf("version of %s: %d %v", name, status, envelope["errors"])
	}
}

// PatchSettings changes the settings of a Worker as somebody else. An error fails the test.
func (s *Server) PatchSettings(t T, name string, settings map[string]any) {
	t.Helper()
	var text bytes.Buffer
	form := multipart.NewWriter(&text)
	_ = form.WriteField("settings", string(plain(settings))) // a buffer takes everything
	_ = form.Close()
	status, envelope := s.send(t, "PATCH", "/accounts/ACCOUNT/workers/scripts/"+name+"/settings", nil, form.FormDataContentType(), text.Bytes())
	if status >= 300 {
		t.Fatalf("settings of %s: %d %v", name, status, envelope["errors"])
	}
}
