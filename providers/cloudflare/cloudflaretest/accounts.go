package cloudflaretest

// zone is a domain in an account.
type zone struct {
	account, id, name, plan string
	kind                    string
	paused                  bool
	vanity                  []any
	settings                map[string]any // what was changed of them
}

// accountHandlers are the operations of accounts and zones.
var accountHandlers = map[string]handler{
	"accounts.ListAccounts": listAccounts,
	"accounts.GetAccount":   getAccount,
	"zones.ListZones":       listZones,
	"zones.GetZone":         onZone(func(w *world, _ request, z *zone) (any, *failure) { return w.shown(z), nil }),
	"zones.CreateZone":      createZone,
	"zones.PatchZone":       onZone(patchZone),
	"zones.DeleteZone":      onZone(deleteZone),
	"zones.GetSetting":      onZone(getSetting),
	"zones.PatchSetting":    onZone(patchSetting),
}

func listAccounts(w *world, r request) (any, *failure) {
	if w.owned {
		return nil, &failure{service: "accounts", status: 400, code: 1001, message: "Invalid request: account-owned tokens cannot list accounts"}
	}
	accounts := map[string]any{}
	for id, name := range w.accounts {
		if want := r.query.Get("name"); !w.hidden && (want == "" || want == name) {
			accounts[id] = object{"id": id, "name": name, "type": "standard", "created_on": "2024-01-01T00:00:00Z"}
		}
	}
	return paged(r, sorted(accounts), 20), nil
}

func getAccount(w *world, r request) (any, *failure) {
	name, reached := w.accounts[r.path["account_id"]]
	if !reached {
		return nil, &failure{status: 403, code: 10000, message: "Authentication error"}
	}
	return object{"id": r.path["account_id"], "name": name, "type": "standard", "created_on": "2024-01-01T00:00:00Z"}, nil
}

func (w *world) shown(z *zone) object {
	shown := object{
		"id": z.id, "name": z.name, "status": "active", "paused": z.paused, "type": z.kind, "development_mode": 0,
		"vanity_name_servers": z.vanity,
		"account":             object{"id": z.account, "name": w.accounts[z.account]},
		"name_servers":        []any{"ada.ns.cloudflare.com", "bob.ns.cloudflare.com"}, "original_dnshost": nil,
		"original_name_servers": nil, "original_registrar": nil, "owner": object{"id": nil, "type": "user"},
		"created_on": "2024-01-01T00:00:00Z", "modified_on": "2024-01-01T00:00:00Z", "activated_on": "2024-01-01T00:00:00Z",
		"meta": object{"page_rule_quota": 3}, "permissions": []any{"#zone:read"},
		"plan": object{"id": hexID(16), "name": z.plan, "legacy_id": z.plan},
	}
	if z.kind == "partial" {
		shown["verification_key"], shown["cname_suffix"], shown["name_servers"] = "123-456", "cdn.cloudflare.net", []any{}
	}
	return shown
}

func listZones(w *world, r request) (any, *failure) {
	zones := map[string]any{}
	for _, z := range w.zones {
		name, account := r.query.Get("name"), r.query.Get("account.id")
		if (name == "" || name == z.name) && (account == "" || account == z.account) {
			zones[z.name+z.id] = w.shown(z)
		}
	}
	return paged(r, sorted(zones), 20), nil
}

func (w *world) zone(id string) *zone {
	for _, z := range w.zones {
		if z.id == id {
			return z
		}
	}
	return nil
}

// AddZone gives an account a zone, and tells its id.
func (s *Server) AddZone(account, name string) string {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	return s.world.addZone(account, name, "full").id
}

// HideAccounts makes the token one for zones alone, which is shown no accounts.
func (s *Server) HideAccounts() {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.hidden = true
}

// OwnToken makes the token one that the account owns, and no user: it cannot list accounts.
func (s *Server) OwnToken() {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.owned = true
}
