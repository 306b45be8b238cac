package cloudflaretest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"
)

// assets are the static files of a version.
type assets struct {
	files  map[string]asset // by path
	config object
}

// asset is one file as it was uploaded.
type asset struct {
	kind    string // its content type
	content []byte
}

// session is an upload of assets that was begun.
type session struct {
	account, script string

	id       string
	manifest map[string]string // hashes by path
	sizes    map[string]float64
	missing  []string // hashes that are not uploaded yet
	over     bool     // its tokens count no longer
}

var assetHandlers = map[string]handler{
	"workers.CreateScriptAssetUpload": beginAssets,
	"workers.CreateAssetUpload":       uploadAssets,
}

// perBucket is how many files one upload takes.
const perBucket = 3

var assetHash = regexp.MustCompile(`^[0-9a-f]{32}$`)

// beginAssets tells which of the files are not there yet, in buckets. Without any, the token is the one for the Worker.
func beginAssets(w *world, r request) (any, *failure) {
	s := &session{account: r.account, script: r.path["scriptName"], id: hexID(8), manifest: map[string]string{}, sizes: map[string]float64{}}
	manifest, _ := r.body["manifest"].(object)
	for path, about := range manifest {
		entry, _ := about.(object)
		hash, _ := entry["hash"].(string)
		size, _ := entry["size"].(float64)
		if !strings.HasPrefix(path, "/") || !assetHash.MatchString(hash) || entry["size"] == nil {
			w.wrong("a manifest of assets with %q: %v", path, about)
		}
		s.manifest[path], s.sizes[hash] = hash, size
		if _, there := w.files[r.account+" "+hash]; !there && !slices.Contains(s.missing, hash) {
			s.missing = append(s.missing, hash)
		}
	}
	slices.Sort(s.missing)
	w.sessions = append(w.sessions, s)
	buckets := []any{}
	for bucket := range slices.Chunk(s.missing, perBucket) {
		all := make([]any, len(bucket))
		for i, hash := range bucket {
			all[i] = hash
		}
		buckets = append(buckets, all)
	}
	return object{"jwt": w.sign(s, len(s.missing) == 0), "buckets": buckets}, nil
}

// sign makes a token of a session: for uploading, or, when all is there, for the Worker.
func (w *world) sign(s *session, complete bool) string {
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode(plain(object{
		"exp": time.Now().Add(time.Hour).Unix(), "session": s.id, "complete": complete,
	}))
	mac := hmac.New(sha256.New, []byte(w.token))
	mac.Write([]byte(text))
	return text + "." + encode(mac.Sum(nil))
}

// session is the one of a token; nil when it does not count.
func (w *world) session(token string, complete bool) *session {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil
	}
	var claims struct {
		Session  string
		Complete bool
	}
	mac := hmac.New(sha256.New, []byte(w.token))
	mac.Write([]byte(parts[0] + "." + parts[1]))
	sum, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || !hmac.Equal(sum, mac.Sum(nil)) || json.Unmarshal(text, &claims) != nil || claims.Complete != complete {
		return nil
	}
	for _, s := range w.sessions {
		if s.id == claims.Session && !s.over {
			return s
		}
	}
	return nil
}

// uploadAssets takes files, named by their hashes, in base64. With the last one it gives the token for the Worker.
func uploadAssets(w *world, r request) (any, *failure) {
	s := w.session(strings.TrimPrefix(r.header.Get("Authorization"), "Bearer "), false)
	if s == nil || s.account != r.account {
		return nil, &failure{status: 401, code: 10000, message: "Authentication error"}
	}
	for _, part := range r.upload.Modules {
		content, err := base64.StdEncoding.DecodeString(string(part.Content))
		if err != nil {
			w.wrong("the asset %s is no base64: %v", part.Name, err)
			continue
		}
		at := slices.Index(s.missing, part.Name)
		if at < 0 || s.sizes[part.Name] != float64(len(content)) {
			w.wrong("the asset %s of %d bytes was not asked for, or of %v", part.Name, len(content), s.sizes[part.Name])
			continue
		}
		s.missing = slices.Delete(s.missing, at, at+1)
		w.files[r.account+" "+part.Name] = asset{kind: part.Type, content: content}
		w.filesTaken++
	}
	if len(s.missing) > 0 {
		return object{}, nil
	}
	return object{"jwt": w.sign(s, true)}, nil
}

// attached are the assets that an upload comes with, or keeps.
func (w *world) attached(k *worker, metadata object) (*assets, *failure) {
	wanted, _ := metadata["assets"].(object)
	token, _ := wanted["jwt"].(string)
	config, _ := wanted["config"].(object)
	if keep, _ := metadata["keep_assets"].(bool); token == "" && keep && len(k.versions) > 0 && k.live().assets != nil {
		kept := *k.live().assets
		if config != nil {
			kept.config = config
		}
		return &kept, nil
	}
	if wanted == nil {
		return nil, nil
	}
	s := w.session(token, true)
	if s == nil || s.account != k.account || s.script != k.name {
		return nil, &failure{status: 403, code: 10000, message: "Authentication error"}
	}
	all := &assets{files: map[string]asset{}, config: config}
	for path, hash := range s.manifest {
		all.files[path] = w.files[k.account+" "+hash]
	}
	return all, nil
}

// ExpireAssetSessions makes all tokens of uploads of assets count no longer. What was uploaded stays.
func (s *Server) ExpireAssetSessions() {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	for _, one := range s.world.sessions {
		one.over = true
	}
}

// UploadAsset uploads the only file of a session that is missing as somebody else, and gives the token for the Worker.
func (s *Server) UploadAsset(t T, session, hash, content string) string {
	t.Helper()
	as := *s
	as.Token = session
	kind, body := Upload{Modules: []Module{{Name: hash, Type: "text/plain", Content: []byte(base64.StdEncoding.EncodeToString([]byte(content)))}}}.Encode()
	status, envelope := as.send(t, "POST", "/accounts/ACCOUNT/workers/assets/upload?base64=true", nil, kind, body)
	result, _ := envelope["result"].(object)
	token, _ := result["jwt"].(string)
	if status >= 300 || token == "" {
		t.Fatalf("upload of %s: %d %v", hash, status, envelope["errors"])
	}
	return token
}

// AssetsTaken is how many files of assets were uploaded.
func (s *Server) AssetsTaken() int {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	return s.world.filesTaken
}

// Assets are the static files that a Worker serves, by path, and how: what was sent as their configuration.
func (s *Server) Assets(name string) (files map[string][]byte, config map[string]any) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	k := s.world.worker(s.Account, name)
	if k == nil || k.live().assets == nil {
		return nil, nil
	}
	files = map[string][]byte{}
	for path, file := range k.live().assets.files {
		files[path] = file.content
	}
	return files, k.live().assets.config
}
