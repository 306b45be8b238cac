package lambda

import (
	"encoding/base64"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/athanor-dev/athanor/providers/aws"
	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/tree"
)

// compareFunction states every aspect. One call sets all of the configuration, another the code.
func compareFunction(d *functionDiff, want FunctionProps, live liveFunction) {
	if name, given := d.Name(); given {
		reconcile.Fixed(d, "name", name, live.attrs.Name)
	}
	u := &update{want: want}
	u.compareStatus(d, live)
	u.compareConfiguration(d, live)
	u.compareParts(d, live)
	u.compareCode(d, live)
	reconcile.Value(d, "reservedConcurrency", want.ReservedConcurrency, live.have.ReservedConcurrency, setConcurrency(want))
	compareAsync(d, *want.Async, live)
	compareURL(d, want.URL, live)
	aws.CompareTags(d, want.Tags, live.tags, "TagResource", putFunctionTags, dropFunctionTags)
}

// statusPath is where a creation or an update that came to nothing shows.
const statusPath tree.Path = "state"

// compareStatus: what came to nothing is tried once more in a run; that it failed again is an error.
func (u *update) compareStatus(d *functionDiff, live liveFunction) {
	why := live.status.failed()
	if why == "" {
		return
	}
	call := u.configuration()
	switch {
	case d.Made(statusPath):
		call = failed(why)
	case live.status.ofCode():
		call = u.code()
	}
	reconcile.Value(d, statusPath, "Active", "Failed: "+why, call)
}

func (u *update) compareConfiguration(d *functionDiff, live liveFunction) {
	want, have, set := u.want, live.have, u.configuration()
	reconcile.Value(d, "description", want.Description, have.Description, set)
	reconcile.Value(d, "role", want.Role, have.Role, set)
	reconcile.Value(d, "memory", want.Memory, have.Memory, set)
	reconcile.Value(d, "timeout", want.Timeout, have.Timeout, set)
	reconcile.Value(d, "ephemeralStorage", want.EphemeralStorage, have.EphemeralStorage, set)
	reconcile.Value(d, "deadLetter", want.DeadLetter, have.DeadLetter, set)
	reconcile.Value(d, "tracing", want.Tracing, have.Tracing, set)
	reconcile.Value(d, "kmsKey", want.KMSKey, have.KMSKey, set)
	reconcile.Value(d, "snapStart", want.SnapStart, have.SnapStart, set)
	reconcile.List(d, "layers", want.Layers, have.Layers, set)
	reconcile.List(d, "fileSystems", want.FileSystems, have.FileSystems, set)
	keys := slices.Concat(slices.Collect(maps.Keys(want.Env)), slices.Collect(maps.Keys(have.Env)))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		reconcile.Value(d, tree.Path("env").Key(key), entry(want.Env, key), entry(have.Env, key), set)
	}
	if !live.image && want.Code.Image == "" {
		reconcile.Value(d, "runtime", want.Runtime, have.Runtime, set)
		reconcile.Value(d, "handler", want.Handler, have.Handler, set)
	}
}

func entry(m map[string]string, key string) *string {
	if v, ok := m[key]; ok {
		return &v
	}
	return nil
}

// compareParts states what has props of its own below it.
func (u *update) compareParts(d *functionDiff, live liveFunction) {
	want, have, set := u.want, live.have, u.configuration()
	wv, hv := orZero(want.VPC), orZero(have.VPC)
	reconcile.List(d, "vpc.subnets", sorted(wv.Subnets), sorted(hv.Subnets), set)
	reconcile.List(d, "vpc.securityGroups", sorted(wv.SecurityGroups), sorted(hv.SecurityGroups), set)
	reconcile.Value(d, "vpc.ipv6", wv.IPv6, hv.IPv6, set)
	wi, hi := orZero(want.ImageConfig), orZero(have.ImageConfig)
	reconcile.List(d, "imageConfig.entryPoint", wi.EntryPoint, hi.EntryPoint, set)
	reconcile.List(d, "imageConfig.command", wi.Command, hi.Command, set)
	reconcile.Value(d, "imageConfig.workingDirectory", wi.WorkingDirectory, hi.WorkingDirectory, set)
	wl, hl := orZero(want.Logging), orZero(have.Logging)
	if wl.Group == "" {
		wl.Group = logGroupOf(live.attrs.Name)
	}
	reconcile.Value(d, "logging.group", wl.Group, hl.Group, set)
	reconcile.Value(d, "logging.format", wl.Format, hl.Format, set)
	if *wl.Format == "JSON" {
		reconcile.Value(d, "logging.applicationLevel", wl.ApplicationLevel, hl.ApplicationLevel, set)
		reconcile.Value(d, "logging.systemLevel", wl.SystemLevel, hl.SystemLevel, set)
	}
}

func orZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// compareCode compares archives by their digest, images by their URI. Of an archive in S3 nothing is shown: what was
// written last counts. An archive never becomes an image.
func (u *update) compareCode(d *functionDiff, live liveFunction) {
	code, set := u.want.Code, u.code()
	path := code.path()
	if isImage := code.Image != ""; isImage != live.image {
		names := map[bool]string{false: "an archive", true: "an image"}
		reconcile.Fixed(d, "code.image", names[isImage], names[live.image])
		return
	}
	reconcile.Value(d, "architecture", u.want.Architecture, live.have.Architecture, set)
	switch archive, ok := d.Asset(codeAsset); {
	case live.image:
		reconcile.Value(d, path, code.Image, live.have.Code.Image, set)
	case code.S3 != nil:
	case ok:
		reconcile.Value(d, path, "sha256:"+archive.Digest, "sha256:"+inHex(live.attrs.CodeDigest), set)
	case d.Unknown(path, code.source()), code.source() == "": // nothing is declared, as when somebody asks what is there
		reconcile.Value(d, path, code.source(), "sha256:"+inHex(live.attrs.CodeDigest), set)
	}
	reconcile.Written(d, "code.s3", code.S3, set)
	if !live.image {
		reconcile.Value(d, "code.sourceKmsKey", code.SourceKMSKey, live.have.Code.SourceKMSKey, set)
	}
}

// inHex is a digest that Lambda writes in base64.
func inHex(digest string) string {
	sum, err := base64.StdEncoding.DecodeString(digest)
	if err != nil {
		return digest
	}
	return hex.EncodeToString(sum)
}

func compareAsync(d *functionDiff, want Async, live liveFunction) {
	have, set := orZero(live.have.Async), setAsync(want)
	reconcile.Value(d, "async.maxRetries", want.MaxRetries, have.MaxRetries, set)
	reconcile.Value(d, "async.maxAge", want.MaxAge, have.MaxAge, set)
	reconcile.Value(d, "async.onSuccess", want.OnSuccess, have.OnSuccess, set)
	reconcile.Value(d, "async.onFailure", want.OnFailure, have.OnFailure, set)
}

// compareURL closes before it changes anything else, and opens last.
func compareURL(d *functionDiff, want *URL, live liveFunction) {
	known := want == nil || !d.Unknown("url.auth", want.Auth)
	public := want != nil && want.Auth == "NONE"
	if known && !public && live.leaves {
		reconcile.Value(d, "url.permission", everybody[false], everybody[true], setOpen(false))
	}
	have := live.have.URL
	switch {
	case want == nil && have == nil:
	case have == nil:
		reconcile.Value(d, "url", want, nil, createURL(*want))
	case want == nil:
		reconcile.Value(d, "url", nil, have, deleteURL())
	default:
		compareOpenURL(d, *want, *have)
	}
	if known && public && !live.open {
		reconcile.Value(d, "url.permission", everybody[true], everybody[false], setOpen(true))
	}
}

// everybody is how it reads whether the policy lets everybody call.
var everybody = map[bool]string{false: "closed to the public", true: "open to the public"}

func compareOpenURL(d *functionDiff, want, have URL) {
	set := updateURL(want)
	reconcile.Value(d, "url.auth", want.Auth, have.Auth, set)
	reconcile.Value(d, "url.invokeMode", want.InvokeMode, have.InvokeMode, set)
	w, h := orZero(want.CORS), orZero(have.CORS)
	reconcile.List(d, "url.cors.allowOrigins", sorted(w.AllowOrigins), sorted(h.AllowOrigins), set)
	reconcile.List(d, "url.cors.allowMethods", sorted(w.AllowMethods), sorted(h.AllowMethods), set)
	reconcile.List(d, "url.cors.allowHeaders", sorted(w.AllowHeaders), sorted(h.AllowHeaders), set)
	reconcile.List(d, "url.cors.exposeHeaders", sorted(w.ExposeHeaders), sorted(h.ExposeHeaders), set)
	reconcile.Value(d, "url.cors.allowCredentials", w.AllowCredentials, h.AllowCredentials, set)
	reconcile.Value(d, "url.cors.maxAge", w.MaxAge, h.MaxAge, set)
}
