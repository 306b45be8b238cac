package state

import "github.com/athanor-dev/athanor/reconcile"

// assetsTree returns what a row keeps of assets that tell their files.
func assetsTree(assets map[string]reconcile.Asset) map[string]any {
	t := make(map[string]any, len(assets))
	for name, a := range assets {
		asset := map[string]any{"digest": a.Digest, "size": a.Size}
		if a.Files != nil {
			asset["count"], asset["bytes"] = int64(a.Files.Count), a.Files.Size
			if a.Files.Digests != nil {
				digests := make(map[string]any, len(a.Files.Digests))
				for file, digest := range a.Files.Digests {
					digests[file] = digest
				}
				asset["files"] = digests
			}
		}
		t[name] = asset
	}
	return t
}

// assetOf reads one asset of a row.
func assetOf(t map[string]any) reconcile.Asset {
	var a reconcile.Asset
	a.Digest, _ = t["digest"].(string)
	a.Size, _ = t["size"].(int64)
	count, counted := t["count"].(int64)
	if !counted {
		return a
	}
	a.Files = &reconcile.Files{Count: int(count)}
	a.Files.Size, _ = t["bytes"].(int64)
	if digests, named := t["files"].(map[string]any); named {
		a.Files.Digests = make(map[string]string, len(digests))
		for file, digest := range digests {
			a.Files.Digests[file], _ = digest.(string)
		}
	}
	return a
}
