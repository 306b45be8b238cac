package terraform

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/protobuf/proto"

	"github.com/athanor-dev/athanor/providers/terraform/internal/tfplugin"
	"github.com/athanor-dev/athanor/providers/terraform/plugin"
	"github.com/athanor-dev/athanor/providers/terraform/schema"
	"github.com/athanor-dev/athanor/providers/terraform/value"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
	"github.com/athanor-dev/athanor/statestore/proctest"
)

// TestMain makes this binary a provider when it is started as one.
func TestMain(m *testing.M) {
	if os.Getenv("TF_PLUGIN_MAGIC_COOKIE") != "" {
		serveBad()
		return
	}
	os.Exit(proctest.Tidy(m).Run())
}

// badType is the type of the values of all resources of the bad provider.
var badType = cty.Object(map[string]cty.Type{"name": cty.String, "id": cty.String, "extra": cty.String, "note": cty.String})

// bad is a provider of version 6 of the protocol whose resource types each do something that no provider may do. Objects are files in a
// folder that its configuration names.
type bad struct {
	dir    string
	stop   chan struct{}
	minted atomic.Int64
}

// serveBad serves the provider as go-plugin would: a line on standard output, and gRPC on a socket.
func serveBad() {
	b := &bad{stop: make(chan struct{})}
	socket := filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "bad")
	listener, err := net.Listen("unix", socket) //nolint:noctx // it ends with the process
	if err != nil {
		panic(err)
	}
	fmt.Printf("1|6|unix|%s|grpc|\n", socket)
	fmt.Println("somebody prints to standard output")
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: b, Protocols: protocols} //nolint:gosec // nobody else reaches it
	_ = server.Serve(listener)
}

// ServeHTTP answers one call of gRPC.
func (b *bad) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	body, _ := io.ReadAll(r.Body)
	if call == "Shutdown" {
		os.Exit(0)
	}
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "Grpc-Status")
	defer func() {
		if why := recover(); why != nil { // net/http would go on, where a provider ends
			fmt.Fprintf(os.Stderr, "panic: %v\n", why)
			os.Exit(2)
		}
	}()
	answer := b.answer(call, body[5:])
	if call == "StreamStdio" {
		w.Header().Set("Grpc-Status", "12")
		return // it is none of the protocol's, and may be answered before or after a folder is known
	}
	if f, err := os.OpenFile(b.file("calls.log"), os.O_APPEND|os.O_WRONLY, 0); err == nil && b.dir != "" { // the test that counts them makes it
		_, _ = fmt.Fprintln(f, call)
		_ = f.Close()
	}
	if answer == nil {
		w.Header().Set("Grpc-Status", "12")
		return
	}
	data, err := proto.Marshal(answer)
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(data))), data...)) //nolint:gosec // it is small
	w.Header().Set("Grpc-Status", "0")
}

func (b *bad) answer(call string, body []byte) proto.Message {
	switch call {
	case "GetProviderSchema":
		return badSchemas()
	case "ValidateProviderConfig":
		return &tfplugin.ValidateProviderConfig_Response{}
	case "ConfigureProvider":
		request := unmarshal(body, &tfplugin.ConfigureProvider_Request{})
		b.dir = decoded(request.Config, cty.Object(map[string]cty.Type{"dir": cty.String})).GetAttr("dir").AsString()
		return &tfplugin.ConfigureProvider_Response{}
	case "StopProvider":
		close(b.stop)
		return &tfplugin.StopProvider_Response{}
	case "ValidateResourceConfig":
		answer := &tfplugin.ValidateResourceConfig_Response{}
		if unmarshal(body, &tfplugin.ValidateResourceConfig_Request{}).TypeName == "bad_warns" {
			answer.Diagnostics = []*tfplugin.Diagnostic{{Severity: tfplugin.Diagnostic_WARNING, Summary: "Deprecated", Detail: "use another"}}
		}
		return answer
	case "UpgradeResourceState":
		request := unmarshal(body, &tfplugin.UpgradeResourceState_Request{})
		var members map[string]*string
		if err := json.Unmarshal(request.RawState.Json, &members); err != nil {
			panic(err)
		}
		return &tfplugin.UpgradeResourceState_Response{UpgradedState: encodedState(members)}
	case "ReadResource":
		request := unmarshal(body, &tfplugin.ReadResource_Request{})
		return &tfplugin.ReadResource_Response{NewState: b.read(request), Private: request.Private}
	case "MoveResourceState":
		request := unmarshal(body, &tfplugin.MoveResourceState_Request{})
		var was map[string]string // null is ""
		if err := json.Unmarshal(request.SourceState.Json, &was); err != nil {
			panic(err)
		}
		name := was["title"]
		switch from := request.SourceProviderAddress + " " + request.SourceTypeName; from {
		case "registry.opentofu.org/tests/older older_thing":
		case "registry.terraform.io/tests/bad bad_other":
			name = was["name"]
		default:
			return &tfplugin.MoveResourceState_Response{Diagnostics: []*tfplugin.Diagnostic{{Severity: tfplugin.Diagnostic_ERROR, Summary: "Cannot move " + from}}}
		}
		id := "i-" + name
		return &tfplugin.MoveResourceState_Response{TargetState: encodedState(map[string]*string{"id": &id, "name": &name}), TargetPrivate: request.SourcePrivate}
	case "ImportResourceState":
		request := unmarshal(body, &tfplugin.ImportResourceState_Request{})
		name := strings.TrimPrefix(request.Id, "i-")
		return &tfplugin.ImportResourceState_Response{ImportedResources: []*tfplugin.ImportResourceState_ImportedResource{{
			TypeName: request.TypeName, State: encodedState(map[string]*string{"id": &request.Id, "name": &name}),
		}}}
	case "ValidateDataResourceConfig":
		return &tfplugin.ValidateDataResourceConfig_Response{}
	case "ReadDataSource":
		asked := decoded(unmarshal(body, &tfplugin.ReadDataSource_Request{}).Config, badType).AsValueMap()
		asked["note"] = cty.StringVal("about " + asked["name"].AsString())
		return &tfplugin.ReadDataSource_Response{State: sent(cty.ObjectVal(asked))}
	case "PlanResourceChange":
		return b.plan(unmarshal(body, &tfplugin.PlanResourceChange_Request{}))
	case "ApplyResourceChange":
		return b.apply(unmarshal(body, &tfplugin.ApplyResourceChange_Request{}))
	}
	return nil
}

func unmarshal[M proto.Message](body []byte, m M) M {
	if err := proto.Unmarshal(body, m); err != nil {
		panic(err)
	}
	return m
}

func decoded(v *tfplugin.DynamicValue, ty cty.Type) cty.Value {
	out, err := value.Decode(v, ty)
	if err != nil {
		panic(err)
	}
	return out
}

func sent(v cty.Value) *tfplugin.DynamicValue {
	out, err := value.Encode(v, badType)
	if err != nil {
		panic(err)
	}
	return out
}

func encodedState(members map[string]*string) *tfplugin.DynamicValue {
	values := map[string]cty.Value{}
	for name := range badType.AttributeTypes() {
		values[name] = cty.NullVal(cty.String)
		if v := members[name]; v != nil {
			values[name] = cty.StringVal(*v)
		}
	}
	return sent(cty.ObjectVal(values))
}

func badSchemas() *tfplugin.GetProviderSchema_Response {
	text := []byte(`"string"`)
	attributes := []*tfplugin.Schema_Attribute{
		{Name: "name", Type: text, Required: true},
		{Name: "id", Type: text, Computed: true},
		{Name: "extra", Type: text, Optional: true},
		{Name: "note", Type: text, Computed: true},
	}
	answer := &tfplugin.GetProviderSchema_Response{
		DataSourceSchemas: map[string]*tfplugin.Schema{"bad_word": {Block: &tfplugin.Schema_Block{Attributes: attributes}}},
		Provider:          &tfplugin.Schema{Block: &tfplugin.Schema_Block{Attributes: []*tfplugin.Schema_Attribute{{Name: "dir", Type: text, Required: true}}}},
		ResourceSchemas:   map[string]*tfplugin.Schema{},
	}
	for _, name := range []string{"panics", "hangs", "other", "unknown", "warns", "own", "never", "half", "liar", "late", "mints", "good"} {
		answer.ResourceSchemas["bad_"+name] = &tfplugin.Schema{Block: &tfplugin.Schema_Block{Attributes: attributes}}
	}
	for _, name := range []string{"random_kept", "github_repository"} { // of whose names something is known
		answer.ResourceSchemas[name] = answer.ResourceSchemas["bad_good"]
	}
	return answer
}

func (b *bad) file(name string) string { return filepath.Join(b.dir, name) }

func (b *bad) read(r *tfplugin.ReadResource_Request) *tfplugin.DynamicValue {
	state := decoded(r.CurrentState, badType)
	data, err := os.ReadFile(b.file(state.GetAttr("name").AsString()))
	if err != nil {
		return sent(cty.NullVal(badType))
	}
	if late := b.file(state.GetAttr("name").AsString() + ".seen"); r.TypeName == "bad_late" { // as services whose lists lag
		if _, err := os.Stat(late); err != nil {
			if err := os.WriteFile(late, nil, 0o600); err != nil {
				panic(err)
			}
			return sent(cty.NullVal(badType))
		}
	}
	members := state.AsValueMap()
	members["note"] = cty.StringVal(string(data))
	if r.TypeName == "bad_own" {
		members["extra"] = cty.StringVal("of the service")
	}
	return sent(cty.ObjectVal(members))
}

func (b *bad) plan(r *tfplugin.PlanResourceChange_Request) *tfplugin.PlanResourceChange_Response {
	prior, proposed := decoded(r.PriorState, badType), decoded(r.ProposedNewState, badType)
	if r.TypeName == "bad_mints" && !proposed.IsNull() { // it chooses a name while it plans
		members := proposed.AsValueMap()
		if members["extra"] = cty.StringVal(fmt.Sprint("minted ", b.minted.Add(1))); !prior.IsNull() {
			members["extra"] = prior.GetAttr("extra")
		}
		proposed = cty.ObjectVal(members)
	}
	if proposed.IsNull() || !prior.IsNull() && prior.RawEquals(proposed) {
		return &tfplugin.PlanResourceChange_Response{PlannedState: sent(proposed)}
	}
	members := proposed.AsValueMap()
	if prior.IsNull() {
		members["id"] = cty.UnknownVal(cty.String)
	}
	members["note"] = cty.UnknownVal(cty.String)
	return &tfplugin.PlanResourceChange_Response{PlannedState: sent(cty.ObjectVal(members)), LegacyTypeSystem: r.TypeName == "bad_liar"}
}

func (b *bad) apply(r *tfplugin.ApplyResourceChange_Request) *tfplugin.ApplyResourceChange_Response {
	planned := decoded(r.PlannedState, badType)
	if planned.IsNull() {
		_ = os.Remove(b.file(decoded(r.PriorState, badType).GetAttr("name").AsString()))
		return &tfplugin.ApplyResourceChange_Response{NewState: r.PlannedState}
	}
	members := planned.AsValueMap()
	name := members["name"].AsString()
	members["id"], members["note"] = cty.StringVal("i-"+name), cty.StringVal("made")
	if _, err := os.Stat(b.file(name + ".down")); err == nil && r.TypeName == "bad_liar" { // as SDK 2: it wrote nothing, and answers what was to be
		refused := []*tfplugin.Diagnostic{{Severity: tfplugin.Diagnostic_ERROR, Summary: "the service is down"}}
		return &tfplugin.ApplyResourceChange_Response{NewState: sent(cty.ObjectVal(members)), Diagnostics: refused, LegacyTypeSystem: true}
	}
	if err := os.WriteFile(b.file(name), []byte("made"), 0o600); err != nil {
		panic(err)
	}
	answer := &tfplugin.ApplyResourceChange_Response{}
	switch r.TypeName {
	case "bad_panics":
		if _, err := os.Stat(b.file(name + ".calm")); err != nil {
			panic("nil pointer")
		}
	case "bad_hangs":
		<-b.stop
		answer.Diagnostics = []*tfplugin.Diagnostic{{Severity: tfplugin.Diagnostic_ERROR, Summary: "stopped"}}
	case "bad_never":
		select {}
	case "bad_other":
		members["extra"] = cty.StringVal("something else")
	case "bad_unknown":
		members["note"] = cty.UnknownVal(cty.String)
	case "bad_half":
		answer.Diagnostics = []*tfplugin.Diagnostic{{Severity: tfplugin.Diagnostic_ERROR, Summary: "half done"}}
	}
	answer.NewState = sent(cty.ObjectVal(members))
	return answer
}

// badWorld is the bad provider, as a command has it.
type badWorld struct {
	t        *testing.T
	provider reconcile.Provider
	cloud    reconcile.Cloud
	dir      string
	kept     map[string]map[string]any // what state has, by address
}

func newBadWorld(t *testing.T) *badWorld {
	t.Helper()
	return newBadWorldOf(t, Provider())
}

func newBadWorldOf(t *testing.T, provider reconcile.Provider) *badWorld {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &badWorld{t: t, provider: provider, dir: t.TempDir(), kept: map[string]map[string]any{}}
	t.Cleanup(w.provider.Close)
	settings := &Settings{Terraform: "tests/bad", Path: program, Config: map[string]any{"dir": w.dir}}
	if err := w.provider.Declared(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	if w.cloud, err = w.provider.Open(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *badWorld) job(typ, name string, props map[string]any) (reconcile.Any, *reconcile.Job) {
	w.t.Helper()
	if !strings.Contains(typ, "_") {
		typ = "bad_" + typ
	}
	k, err := w.provider.Family.Kind(Prefix + typ)
	if err != nil {
		w.t.Fatal(err)
	}
	place, err := w.cloud.Place(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	declared := map[string]any{"name": name}
	maps.Copy(declared, props)
	job := &reconcile.Job{
		Address: name, Props: declared, Cloud: w.cloud, Place: place, Dir: w.dir, Nonce: tree.Digest(name),
		Digest: func(domain string, data []byte) string { return tree.Digest([]any{domain, string(data)}) },
	}
	return k, job
}

// settle reconciles one resource and keeps what an engine would.
func (w *badWorld) settle(ctx context.Context, typ, name string, props map[string]any) (reconcile.Outcome, error) {
	w.t.Helper()
	return w.settleKeeping(ctx, typ, name, props, w.kept)
}

// settleKeeping reconciles in one of many goroutines: what it keeps is its own.
func (w *badWorld) settleKeeping(ctx context.Context, typ, name string, props map[string]any, kept map[string]map[string]any) (reconcile.Outcome, error) {
	w.t.Helper()
	k, job := w.job(typ, name, props)
	job.Last = kept[name]
	out, err := k.Settle(ctx, job, reconcile.Hooks{Born: func(_ context.Context, _ string, attrs map[string]any) error {
		kept[name] = attrs
		return nil
	}})
	if err == nil {
		kept[name] = out.Attrs
	}
	return out, err
}

func (w *badWorld) made(name string) bool {
	_, err := os.Stat(filepath.Join(w.dir, name))
	return err == nil
}

// TestBadProvider is about what no provider may do: each is an error that names the provider and what it did, and none keeps others from
// going on.
func TestBadProvider(t *testing.T) {
	t.Parallel()
	w := newBadWorld(t)
	for _, c := range []struct {
		typ  string
		want []string // of the error; nil: none
		kept bool
	}{
		{"good", nil, true},
		{"panics", []string{"tests/bad", "ApplyResourceChange", "ended before it answered", "panic: nil pointer"}, false},
		{"good", nil, true},
		{"unknown", []string{"tests/bad", "values that are not known"}, true},
		{"half", []string{"tests/bad", "half done"}, true},
		{"own", nil, true},
		{"warns", nil, true},
	} {
		_, err := w.settle(t.Context(), c.typ, c.typ, nil)
		if (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v", c.typ, err)
		}
		for _, text := range c.want {
			if err != nil && !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v, want it to say %q", c.typ, err, text)
			}
		}
		if !w.made(c.typ) || (w.kept[c.typ] != nil) != c.kept {
			t.Errorf("%s: made %t, kept %v", c.typ, w.made(c.typ), w.kept[c.typ])
		}
	}
	// What was kept is continued: nothing is made again, and nothing differs.
	for _, typ := range []string{"good", "unknown", "half", "own", "warns"} {
		if out, err := w.settle(t.Context(), typ, typ, nil); err != nil || out.Created || len(out.Changed) > 0 {
			t.Errorf("%s again: %+v, %v", typ, out, err)
		}
	}
	if got := w.provider.Warnings(); len(got) != 2 || got[0] != "tests/bad: bad_warns: Deprecated: use another" {
		t.Errorf("warnings %q", got)
	}
}

// TestOtherState is about a provider that answers another value than the declared one: that is tried a few times and told, and no loop.
func TestOtherState(t *testing.T) {
	t.Parallel()
	w := newBadWorld(t)
	_, err := w.settle(t.Context(), "other", "it", map[string]any{"extra": "mine"})
	if err == nil || !strings.Contains(err.Error(), "extra: have \"something else\", want \"mine\"") {
		t.Errorf("%v", err)
	}
	if w.kept["it"] == nil {
		t.Error("what it made is not kept")
	}
}

// counting makes the provider count its calls from here on. What it returns says how often one was made.
func (w *badWorld) counting() func(call string) int {
	w.t.Helper()
	log := filepath.Join(w.dir, "calls.log")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return func(call string) int {
		w.t.Helper()
		made, err := os.ReadFile(log)
		if err != nil {
			w.t.Fatal(err)
		}
		return strings.Count(string(made), call+"\n")
	}
}

// TestNotShownYet is about a service that does not show at once what was made in it: a read that finds nothing is no reason to make a second one. What
// is not there later was deleted.
func TestNotShownYet(t *testing.T) {
	t.Parallel()
	w := newBadWorld(t)
	made := w.counting()
	out, err := w.settle(t.Context(), "late", "it", nil)
	if n := made("ApplyResourceChange"); err != nil || !out.Created || n != 1 {
		t.Errorf("created %t by %d calls, %v", out.Created, n, err)
	}
	if out, err := w.settle(t.Context(), "late", "it", nil); err != nil || out.Created || len(out.Changed) > 0 || made("ApplyResourceChange") != 1 {
		t.Errorf("again: %+v, %v", out, err)
	}
	if err := os.Remove(filepath.Join(w.dir, "it")); err != nil {
		t.Fatal(err)
	}
	if out, err := w.settle(t.Context(), "late", "it", nil); err != nil || !out.Created {
		t.Errorf("deleted by somebody: %+v, %v", out, err)
	}
}

// TestPlansACreationOnce counts the plans of resources that are declared alike: one creation is planned once, and another one by the same answer, unless
// the provider chose something in it.
func TestPlansACreationOnce(t *testing.T) {
	t.Parallel()
	w := newBadWorld(t)
	for _, c := range []struct {
		typ   string
		plans int // of two creations, and of what was made by them
	}{{"good", 1 + 2}, {"mints", 2 + 2}} {
		made, props := w.counting(), map[string]any{"name": "of-" + c.typ}
		one, err := w.settle(t.Context(), c.typ, c.typ+"-one", props)
		if err != nil {
			t.Fatal(err)
		}
		two, err := w.settle(t.Context(), c.typ, c.typ+"-two", props)
		if err != nil {
			t.Fatal(err)
		}
		if n := made("PlanResourceChange"); n != c.plans || made("ApplyResourceChange") != 2 {
			t.Errorf("%s: %d plans and %d changes of two creations, want %d and 2", c.typ, n, made("ApplyResourceChange"), c.plans)
		}
		if a, b := one.Attrs["extra"], two.Attrs["extra"]; c.typ == "mints" && (a == nil || a == b) {
			t.Errorf("two objects were made with %v and %v", a, b)
		}
	}
}

// TestTimeoutsAreLonger is about operations of which the provider gives up by itself: it does so before athanor, and says what it left.
func TestTimeoutsAreLonger(t *testing.T) {
	t.Parallel()
	const sdk = 20 * time.Minute
	bound := func(attributes map[string]*schema.Attribute) time.Duration {
		k := &kind{Type: &schema.Type{Name: "bad_slow", Block: &schema.Block{Attributes: attributes}}}
		return k.whole().Timeouts.Create
	}
	plain, own := bound(nil), bound(map[string]*schema.Attribute{"timeouts": {Type: cty.String}})
	if plain <= sdk || own <= plain {
		t.Errorf("a creation is given up after %v, and after %v where the type has timeouts", plain, own)
	}
}

// TestFailedUpdateIsPlannedAgain is about an old SDK, which answers an update that failed with the new values, though it wrote none: a value that
// cannot be read, such as a password, is still to be written.
func TestFailedUpdateIsPlannedAgain(t *testing.T) {
	t.Parallel()
	w := newBadWorld(t)
	declared := func(extra string) map[string]any { return map[string]any{"extra": extra} }
	if _, err := w.settle(t.Context(), "liar", "it", declared("first")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "it.down"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := w.settle(t.Context(), "liar", "it", declared("second"))
	if err == nil || !strings.Contains(err.Error(), "tests/bad") || !strings.Contains(err.Error(), "the service is down") {
		t.Fatalf("%v", err)
	}
	if err := os.Remove(filepath.Join(w.dir, "it.down")); err != nil {
		t.Fatal(err)
	}
	out, err := w.settle(t.Context(), "liar", "it", declared("second"))
	if err != nil || out.Created || len(out.Changed) == 0 {
		t.Errorf("after a failed update: %+v, %v; want the update", out, err)
	}
	if out, err := w.settle(t.Context(), "liar", "it", declared("second")); err != nil || len(out.Changed) > 0 {
		t.Errorf("again: %+v, %v", out, err)
	}
}

// TestLostAnswer is about a creation that was not answered: the provider may have made something that nothing finds.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	w := newBadWorld(t)
	k, job := w.job("good", "it", nil)
	job.Begun = true
	_, err := k.Look(t.Context(), job)
	if !errors.Is(err, reconcile.ErrCannotTell) {
		t.Errorf("%v", err)
	}
	if hints := reconcile.Hints(err); len(hints) != 1 || !strings.Contains(hints[0], "deploy with `options: {adopt: ID}`") || !strings.Contains(hints[0], "`athanor state rm it`") {
		t.Errorf("hints %q", hints)
	}
}

// TestCreatedUnseen is about state that is lost: what cannot be searched for would be made a second time, so the plan says that it is created
// without a search. What state has, what an id names, and what is in state alone, is not told.
func TestCreatedUnseen(t *testing.T) {
	t.Parallel()
	w := newBadWorld(t)
	look := func(name string, last map[string]any, id string) {
		t.Helper()
		k, job := w.job("good", name, nil)
		job.Last, job.ID = last, id
		if _, err := k.Look(t.Context(), job); err != nil && id == "" {
			t.Fatal(err)
		}
	}
	if _, err := w.settle(t.Context(), "good", "a", nil); err != nil {
		t.Fatal(err)
	}
	w.provider.Warnings()
	look("a", w.kept["a"], "")
	look("a", nil, "i-a")
	if got := w.provider.Warnings(); len(got) > 0 {
		t.Errorf("what state has, or an id names, is told: %q", got)
	}
	for _, name := range []string{"b", "a", "a"} { // state is lost
		look(name, nil, "")
	}
	want := "tests/bad: athanor cannot search for objects of these types, and state has none, so it creates them without a search: bad_good (a and 1 more). " +
		"If one exists already, take it with `options: {adopt: ID}` first"
	if got := w.provider.Warnings(); len(got) != 1 || got[0] != want {
		t.Errorf("warnings %q, want %q", got, want)
	}
	if got := w.provider.Warnings(); len(got) > 0 {
		t.Errorf("told again: %q", got)
	}
	for name, searchable := range map[string]bool{"postgresql_role": true, "local_file": true, "random_id": true, "cloudflare_ruleset": false, "helm_release": false, "postgresql_grant": true} {
		if isSearchable(name) != searchable {
			t.Errorf("%s is searchable %t", name, !searchable)
		}
	}
}

// TestProviderLog is about what a provider prints: it is in a file where the user wants one, with its name and without secrets.
func TestProviderLog(t *testing.T) {
	t.Parallel()
	set := newProviders()
	set.printed.path = filepath.Join(t.TempDir(), "log")
	set.redacting(func(text string) string { return strings.ReplaceAll(text, "somebody", "(secret)") })
	w := newBadWorldOf(t, set.family())
	if _, err := w.settle(t.Context(), "good", "it", nil); err != nil {
		t.Fatal(err)
	}
	w.provider.Close()
	log, err := os.ReadFile(set.printed.path)
	if want := "tests/bad: (secret) prints to standard output\n"; err != nil || !strings.Contains(string(log), want) {
		t.Errorf("the log holds %q (%v), want %q", log, err, want)
	}
	if info, err := os.Stat(set.printed.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestDocumentedID is about a type of which the id is that of the documentation, which no test proves: what is found under it exists, and of what is not found
// nobody can tell. The id is said, and a creation without a search is told.
func TestDocumentedID(t *testing.T) {
	t.Parallel()
	w := newBadWorld(t)
	k, job := w.job("github_repository", "it", nil)
	if look, err := k.Look(t.Context(), job); err != nil || !look.Absent {
		t.Errorf("%+v, %v", look, err)
	}
	if got := w.provider.Warnings(); len(got) != 1 || !strings.Contains(got[0], "creates them without a search: github_repository (it)") {
		t.Errorf("warnings %q", got)
	}
	job.Begun = true
	_, err := k.Look(t.Context(), job)
	if hints := reconcile.Hints(err); !errors.Is(err, reconcile.ErrCannotTell) || len(hints) != 1 || !strings.Contains(hints[0], "(its id is it, by the documentation)") {
		t.Errorf("%v, hints %q", err, hints)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "it"), []byte("made"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, begun := range []bool{true, false} {
		job.Begun = begun
		if look, err := k.Look(t.Context(), job); err != nil || look.Absent || look.Attrs["note"] != "made" {
			t.Errorf("begun %t: %+v, %v", job.Begun, look, err)
		}
	}
}

// TestDocumentedIDs makes the ids of what people write. One that is not whole is none.
func TestDocumentedIDs(t *testing.T) {
	t.Parallel()
	meta := func(props map[string]any) attributes { return attributes{"metadata": []any{props}} }
	documented := 0
	for name, w := range ways() {
		if !w.documented {
			continue
		}
		documented++
		if _, whole := filled(w.id, attributes{}, attributes{}); whole {
			t.Errorf("%s: an id of nothing", name)
		}
	}
	if documented < 20 {
		t.Errorf("%d types", documented)
	}
	for name, c := range map[string]struct {
		want, config attributes
		id           string
	}{
		"aws_s3_bucket":                  {attributes{"bucket": "shop"}, nil, "shop"},
		"aws_iam_role_policy_attachment": {attributes{"role": "web", "policy_arn": "arn:aws:iam::aws:policy/ReadOnlyAccess"}, nil, "web/arn:aws:iam::aws:policy/ReadOnlyAccess"},
		"azurerm_resource_group":         {attributes{"name": "shop"}, attributes{"subscription_id": "42"}, "/subscriptions/42/resourceGroups/shop"},
		"google_storage_bucket":          {attributes{"name": "shop"}, attributes{"project": "p1"}, "p1/shop"},
		"kubernetes_namespace":           {meta(map[string]any{"name": "shop"}), nil, "shop"},
		"kubernetes_secret":              {meta(map[string]any{"name": "key"}), nil, "default/key"},
		"kubernetes_deployment":          {meta(map[string]any{"name": "web", "namespace": "shop"}), nil, "shop/web"},
		"helm_release":                   {attributes{"name": "web", "namespace": "shop"}, nil, "shop/web"},
		"vault_mount":                    {attributes{"path": "kv"}, nil, "kv"},
	} {
		if id, whole := filled(ways()[name].id, c.want, c.config); !whole || id != c.id {
			t.Errorf("%s: %q, whole %t, want %q", name, id, whole, c.id)
		}
	}
}

// TestDataSource reads a data source by a query, under both of its names. As a resource it is refused.
func TestDataSource(t *testing.T) {
	t.Parallel()
	w := newBadWorld(t)
	for _, typ := range []string{"tf.bad_word", "tf.data.bad_word"} {
		k, err := w.provider.Family.Kind(typ)
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Validate(); err != nil {
			t.Error(err)
		}
		_, job := w.job("good", "it", nil)
		job.Query = true
		look, err := k.Look(t.Context(), job)
		if err != nil || look.Attrs["note"] != "about it" {
			t.Errorf("%s: %v, %v", typ, look.Attrs, err)
		}
		_, job = w.job("good", "it", nil)
		if err := k.Decode(job); err == nil || !strings.Contains(err.Error(), "under `read:`") {
			t.Errorf("%s as a resource: %v", typ, err)
		}
	}
}

// TestInterrupt asks a provider to stop that would not answer by itself: its answer comes, and is the error of the call.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	w := newBadWorld(t)
	stop := make(chan struct{})
	ctx := reconcile.WithInterrupt(t.Context(), stop)
	go func() {
		for !w.made("it") {
			time.Sleep(time.Millisecond) // until the call is under way
		}
		close(stop)
	}()
	_, err := w.settle(ctx, "hangs", "it", nil)
	if said := new(DiagnosticsError); !errors.As(err, &said) || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("%v", err)
	}
	if w.kept["it"] == nil {
		t.Error("what the provider told of the object is not kept")
	}
}

// TestKilled ends a provider that does not answer at all when its call is cancelled, as by a second signal.
func TestKilled(t *testing.T) {
	t.Parallel()
	w := newBadWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for !w.made("it") {
			time.Sleep(time.Millisecond) // until the call is under way
		}
		cancel()
	}()
	if _, err := w.settle(ctx, "never", "it", nil); !errors.Is(err, plugin.ErrCrashed) && !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if out, err := w.settle(t.Context(), "good", "after", nil); err != nil || !out.Created {
		t.Errorf("after it: %+v, %v", out, err)
	}
}

// TestProcessIsReplaced is about providers that grow with each call, as most do: after some calls another process answers, those that are under
// way are answered by the old one, which ends then, and what was begun with one is continued by the next.
func TestProcessIsReplaced(t *testing.T) {
	t.Parallel()
	set := newProviders()
	set.pace = func(int64) pace { return pace{calls: 20} }
	w := newBadWorldOf(t, set.family())
	p := w.cloud.(*cloud).program
	stop := make(chan struct{})
	hanging := make(chan error, 1)
	go func() {
		_, err := w.settleKeeping(reconcile.WithInterrupt(t.Context(), stop), "hangs", "slow", nil, map[string]map[string]any{})
		hanging <- err
	}()
	for !w.made("slow") {
		time.Sleep(time.Millisecond) // until its call is under way
	}
	first := p.worker.Load()
	seen := map[int]*worker{}
	for i := range 12 {
		name := fmt.Sprint("n", i)
		for range 2 {
			if out, err := w.settle(t.Context(), "good", name, nil); err != nil || out.Attrs["note"] != "made" {
				t.Fatalf("%s: %+v, %v", name, out, err)
			}
		}
		now := p.worker.Load()
		seen[now.Pid()] = now
	}
	if len(seen) < 4 {
		t.Errorf("%d processes answered 12 creations and as many looks", len(seen))
	}
	last := p.worker.Load()
	for pid, w := range seen {
		if w != last && w != first && !w.Exited() {
			t.Errorf("process %d runs on, and has nothing to answer", pid)
		}
		if w.calls > 20+20 {
			t.Errorf("process %d was asked %d times", pid, w.calls)
		}
	}
	if first.Exited() {
		t.Error("a process that had a call to answer was ended")
	}
	close(stop)
	if err := <-hanging; err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("the call that was under way: %v", err)
	}
	w.provider.Close()
	if !first.Exited() || !last.Exited() {
		t.Error("processes outlive the command")
	}
}
