package cloudflaretest

import (
	"maps"
	"slices"
)

// drive is a configuration of Hyperdrive. The secrets in its body are never told.
type drive struct {
	account, id string
	body        object
}

var driveHandlers = map[string]handler{
	"hyperdrive.ListConfigs":  listDrives,
	"hyperdrive.CreateConfig": createDrive,
	"hyperdrive.GetConfig":    onDrive(func(_ *world, _ request, d *drive) (any, *failure) { return d.shown(), nil }),
	"hyperdrive.UpdateConfig": onDrive(updateDrive),
	"hyperdrive.PatchConfig":  onDrive(patchDrive),
	"hyperdrive.DeleteConfig": onDrive(deleteDrive),
}

func noDrive() *failure {
	return &failure{service: "hyperdrive", status: 404, code: 2006, message: "hyperdrive config not found"}
}

func onDrive(do func(*world, request, *drive) (any, *failure)) handler {
	return func(w *world, r request) (any, *failure) {
		for _, d := range w.drives {
			if d.account == r.account && d.id == r.path["hyperdriveId"] {
				return do(w, r, d)
			}
		}
		return nil, noDrive()
	}
}

func (d *drive) shown() object {
	all := maps.Clone(d.body)
	origin := maps.Clone(all["origin"].(object))
	delete(origin, "password")
	delete(origin, "access_client_secret")
	all["origin"], all["id"] = origin, d.id
	all["created_on"], all["modified_on"] = "2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"
	if _, told := all["origin_connection_limit"]; !told {
		all["origin_connection_limit"] = 60
	}
	if all["caching"] == nil {
		all["caching"] = object{"disabled": false}
	}
	return all
}

func listDrives(w *world, r request) (any, *failure) {
	all := []any{}
	for _, d := range w.drives {
		if d.account == r.account {
			all = append(all, d.shown())
		}
	}
	return paged(r, all, 20), nil
}

// connects tells whether the origin can be reached, which is tried on each write.
func connects(r request) *failure {
	origin, _ := r.body["origin"].(object)
	if origin["host"] == "10.0.0.1" {
		return &failure{status: 400, code: 2009, message: "private hosts are not allowed"}
	}
	return nil
}

func createDrive(w *world, r request) (any, *failure) {
	if f := connects(r); f != nil {
		return nil, f
	}
	d := &drive{account: r.account, id: hexID(16), body: r.body}
	w.drives = append(w.drives, d)
	return d.shown(), nil
}

// updateDrive sets all: what is left out is deleted.
func updateDrive(_ *world, r request, d *drive) (any, *failure) {
	if f := connects(r); f != nil {
		return nil, f
	}
	d.body = r.body
	return d.shown(), nil
}

// patchDrive sets what it names, of the origin too.
func patchDrive(_ *world, r request, d *drive) (any, *failure) {
	origin := maps.Clone(d.body["origin"].(object))
	if changed, ok := r.body["origin"].(object); ok {
		maps.Copy(origin, changed)
	}
	d.body = maps.Clone(d.body)
	maps.Copy(d.body, r.body)
	d.body["origin"] = origin
	return d.shown(), nil
}

func deleteDrive(w *world, _ request, d *drive) (any, *failure) {
	w.drives = slices.DeleteFunc(w.drives, func(o *drive) bool { return o == d })
	return nil, nil
}

// Password is what the configuration of Hyperdrive of that name was last given.
func (s *Server) Password(name string) string {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	for _, d := range s.world.drives {
		if d.body["name"] == name {
			password, _ := d.body["origin"].(object)["password"].(string)
			return password
		}
	}
	return ""
}
