package tfhttp_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/service"
	"github.com/athanor-dev/athanor/service/tfhttp"
	"github.com/athanor-dev/athanor/statestore"
	"github.com/athanor-dev/athanor/statestore/bolt"
	"github.com/athanor-dev/athanor/statestore/remote/wire"
	"github.com/athanor-dev/athanor/statestore/seal"
)

// house is a service with the http backend in front of a file.
type house struct {
	*testing.T
	path, url, token string
	store            *bolt.Store
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{T: t, path: filepath.Join(t.TempDir(), "state.db")}
	var err error
	if h.store, err = bolt.Open(h.path); err != nil {
		t.Fatal(err)
	}
	master, err := seal.OpenMasterKey(filepath.Join(t.TempDir(), "master"), true)
	if err != nil {
		t.Fatal(err)
	}
	s := service.New(t.Context(), h.store, service.Settings{Version: "test", Log: func(method, path string, err error) { t.Errorf("%s %s: %v", method, path, err) }})
	tfhttp.Mount(s, master)
	server := httptest.NewServer(s)
	h.url, h.token = server.URL, h.newToken("deployer", "tofu:shop/*")
	t.Cleanup(func() { s.Stop(); server.Close(); h.store.Close() })
	return h
}

func (h *house) newToken(role, on string) string {
	h.Helper()
	token, err := service.NewTokens(h.store, time.Now).Create(h.Context(), wire.Author{Account: "test"}, "ci", []wire.Grant{{Role: role, On: on}}, 0)
	if err != nil {
		h.Fatal(err)
	}
	return token.Secret
}

// send sends one request and holds its answer to a status.
func (h *house) send(want int, method, query, token, body string) string {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), method, h.url+"/tf/shop/prod"+query, strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	req.SetBasicAuth("anybody", token)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		h.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != want {
		h.Errorf("%s %s: %d %s, %v, want %d", method, query, res.StatusCode, data, err, want)
	}
	return string(data)
}

func lock(id string) string {
	data, _ := json.Marshal(map[string]string{"ID": id, "Operation": "OperationTypeApply", "Who": "ann@box"})
	return string(data)
}

// TestBackend: a state is written under its lock alone, and a user who finds a lock is told whose it is.
func TestBackend(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.send(http.StatusNoContent, "GET", "", h.token, "")
	for range 2 { // an answer was lost
		h.send(http.StatusOK, "LOCK", "", h.token, lock("l1"))
	}
	if found := h.send(http.StatusLocked, "LOCK", "", h.token, lock("l2")); !strings.Contains(found, `"ID":"l1"`) || !strings.Contains(found, "ann@box") {
		t.Errorf("the lock that was found: %s", found)
	}
	h.send(http.StatusOK, "POST", "?ID=l1", h.token, `{"serial":1,"secret":"hunter2"}`)
	h.send(http.StatusConflict, "POST", "?ID=l2", h.token, `{"serial":2}`)
	h.send(http.StatusLocked, "POST", "", h.token, `{"serial":2}`)
	h.send(http.StatusLocked, "DELETE", "", h.token, "")
	h.send(http.StatusLocked, "UNLOCK", "", h.token, lock("l2"))
	h.send(http.StatusUnprocessableEntity, "POST", "?ID=l1", h.token, `{"serial":`)
	for range 2 {
		h.send(http.StatusOK, "UNLOCK", "", h.token, lock("l1"))
	}
	h.send(http.StatusConflict, "POST", "?ID=l1", h.token, `{"serial":2}`)
	h.send(http.StatusOK, "POST", "", h.token, `{"serial":2,"secret":"hunter2"}`)
	if got := h.send(http.StatusOK, "GET", "", h.token, ""); !strings.Contains(got, `"serial":2`) {
		t.Errorf("state %s", got)
	}

	// force-unlock sends no lock. The one who held it writes no more.
	h.send(http.StatusOK, "LOCK", "", h.token, lock("l3"))
	h.send(http.StatusOK, "UNLOCK", "", h.token, "")
	h.send(http.StatusConflict, "POST", "?ID=l3", h.token, `{"serial":3}`)

	data, err := os.ReadFile(h.path)
	if err != nil || bytes.Contains(data, []byte("hunter2")) {
		t.Errorf("the store holds the state in clear, or cannot be read: %v", err)
	}
	h.send(http.StatusOK, "DELETE", "", h.token, "")
	h.send(http.StatusNoContent, "GET", "", h.token, "")
	runs, err := h.store.Runs(t.Context(), statestore.Stage{Stack: "tofu:shop", Name: "prod"}, 0)
	if err != nil || len(runs) != 4 || runs[1].State != statestore.Lost || runs[3].State != statestore.Succeeded {
		t.Errorf("runs %+v, %v", runs, err)
	}
}

// page reads the page of the state as somebody who may read it alone.
func (h *house) page() string {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), http.MethodGet, h.url+"/s/tofu:shop/prod", nil)
	if err != nil {
		h.Fatal(err)
	}
	req.AddCookie(&http.Cookie{Name: "athanor_session", Value: h.newToken("reader", "tofu:shop/*")})
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		h.Errorf("the page: %s, %v\n%s", res.Status, err, body)
	}
	return string(body)
}

// TestLockOnPage: a lock that its process did not give back is shown with whose it is and the command that takes it away.
func TestLockOnPage(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.send(http.StatusOK, "POST", "", h.token, `{"serial":1,"secret":"hunter2"}`)
	if body := h.page(); strings.Contains(body, "Locked by") {
		t.Errorf("without a lock: %s", body)
	}
	h.send(http.StatusOK, "LOCK", "", h.token, lock("0f3c-1"))
	if body := h.page(); !strings.Contains(body, "Locked by ann@box since") || !strings.Contains(body, "OperationTypeApply") || !strings.Contains(body, "tofu force-unlock 0f3c-1<") {
		t.Errorf("with a lock: %s", body)
	}
	h.send(http.StatusOK, "UNLOCK", "", h.token, "")
	h.send(http.StatusOK, "LOCK", "", h.token, lock("$(reboot)"))
	if body := h.page(); !strings.Contains(body, "tofu force-unlock LOCK_ID<") {
		t.Errorf("with the id of an attacker: %s", body)
	}
	h.send(http.StatusOK, "UNLOCK", "", h.token, "")
	if body := h.page(); strings.Contains(body, "Locked by") || strings.Contains(body, "hunter2") {
		t.Errorf("after force-unlock: %s", body)
	}
}

// TestBackendRights: a state is shown to who could change it, and to nobody else.
func TestBackendRights(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.send(http.StatusOK, "POST", "", h.token, `{}`)
	for token, want := range map[string]int{
		"": 401, "ath_x": 401, h.token + "x": 401, h.newToken("planner", "*/*"): 403, h.newToken("deployer", "shop/prod"): 403,
		h.newToken("deployer", "tofu:shop/prod"): 200,
	} {
		h.send(want, "GET", "", token, "")
	}
	h.send(http.StatusMethodNotAllowed, "PUT", "", h.token, "")
}
