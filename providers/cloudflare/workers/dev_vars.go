package workers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/athanor-dev/athanor/reconcile"
	"github.com/athanor-dev/athanor/reconcile/localfile"
)

// varsAsset is the name under which the Prepare of the local variant gives the file of variables. Its digest says when it was
// saved, and nothing of what it holds: digests are kept in state.
const varsAsset = "vars"

// varsFile has variables for development in wrangler's form, https://developers.cloudflare.com/workers/configuration/secrets/.
const varsFile = ".dev.vars"

// mostVars is far above any real file of variables, in bytes.
const mostVars = 1 << 20

// prepareHere prepares a Worker, and finds the variables that are for this machine alone.
func prepareHere(ctx context.Context, work reconcile.Workspace, want WorkerProps) (map[string]reconcile.Asset, error) {
	var all map[string]reconcile.Asset
	if want.serve() == nil { // else nothing of what is built runs here
		var err error
		if all, err = prepareWorker(ctx, work, want); err != nil {
			return nil, err
		}
	}
	vars, err := findVars(ctx, work, want.Code)
	if err != nil || vars.Path == "" {
		return all, err
	}
	if all == nil {
		all = map[string]reconcile.Asset{}
	}
	all[varsAsset] = vars
	return all, nil
}

// findVars finds the nearest file of variables, from the folder of the code up to the stack's directory.
func findVars(ctx context.Context, work reconcile.Workspace, c *Code) (reconcile.Asset, error) {
	dir := work.Dir
	if c != nil && c.isKnown() {
		dir = within(work.Dir, cmp.Or(c.Bundle, c.Build, c.Directory))
	}
	if !localfile.Within(work.Dir, dir) {
		dir = work.Dir
	}
	for ; localfile.Within(work.Dir, dir); dir = filepath.Dir(dir) {
		path := filepath.Join(dir, varsFile)
		work.Reads(path)
		info, err := os.Stat(path)
		switch {
		case err == nil && info.Mode().IsRegular():
			return reconcile.Asset{Digest: fmt.Sprint(path, " ", info.ModTime().UnixNano(), " ", info.Size()), Path: path, Size: info.Size()}, localfile.Check(ctx, path)
		case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			return reconcile.Asset{}, err
		}
	}
	return reconcile.Asset{}, nil
}

// varLine is a line of a file of variables, as the npm package dotenv reads it: quoted values may go over several lines.
var varLine = regexp.MustCompile(`(?m)^\s*(?:export\s+)?([\w.-]+)(?:\s*=\s*?|:\s+?)` +
	"(\\s*'(?:\\\\'|[^'])*'|\\s*\"(?:\\\\\"|[^\"])*\"|\\s*`(?:\\\\`|[^`])*`|[^#\\r\\n]+)?" + `[ \t]*(?:#.*)?$`)

// readVars reads variables by name.
func readVars(text string) map[string]string {
	all := map[string]string{}
	for _, found := range varLine.FindAllStringSubmatch(strings.ReplaceAll(text, "\r\n", "\n"), -1) {
		value := strings.TrimSpace(found[2])
		if n := len(value); n > 1 && strings.Contains("'\"`", value[:1]) && value[n-1] == value[0] {
			quote := value[:1]
			value = value[1 : n-1]
			if quote == `"` {
				value = strings.NewReplacer(`\n`, "\n", `\r`, "\r").Replace(value)
			}
		}
		all[found[1]] = value
	}
	return all
}

// withVars are bindings with the variables of this machine: each takes the place of a text or secret of its name.
func withVars(ctx context.Context, bindings []map[string]any, assets map[string]reconcile.Asset) (all []map[string]any, values []string, err error) {
	file, ok := assets[varsAsset]
	if !ok {
		return bindings, nil, nil
	}
	text, err := localfile.ReadAtMost(ctx, file.Path, mostVars)
	if err != nil {
		return nil, nil, err
	}
	vars := readVars(string(text))
	for _, name := range sortedKeys(vars) {
		bindings = slices.DeleteFunc(bindings, func(b map[string]any) bool { return b["name"] == name })
		bindings = append(bindings, map[string]any{"type": "secret_text", "name": name, "text": vars[name]})
		values = append(values, vars[name])
	}
	return bindings, values, nil
}
