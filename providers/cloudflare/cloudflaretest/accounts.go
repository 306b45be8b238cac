package cloudflaretest

// zone is a domain in an account.
type zone struct {
	account, id, name, plan string
}

// accountHandlers are the operations of accounts and zones.
var accountHandlers = map[string]handler{
	"accounts.ListAccounts": listAccounts,
	"zones.ListZones":       listZones,
	"zones.GetZone":         getZone,
}

func listAccounts(w *world, r request) (any, *failure) {
	accounts := map[string]any{}
	for id, name := range w.accounts {
		if want := r.query.Get("name"); !w.hidden && (want == "" || want == name) {
			accounts[id] = object{"id": id, "name": name, "type": "standard", "created_on": "2024-01-01T00:00:00Z"}
		}
	}
	return paged(r, sorted(accounts), 20), nil
}

func (w *world) shown(z *zone) object {
	return object{
		"id": z.id, "name": z.name, "status": "active", "paused": false, "type": "full", "development_mode": 0,
		"account":      object{"id": z.account, "name": w.accounts[z.account]},
		"name_servers": []any{"ada.ns.cloudflare.com", "bob.ns.cloudflare.com"}, "original_dnshost": nil,
		"original_name_servers": nil, "original_registrar": nil, "owner": object{"id": nil, "type": "user"},
		"created_on": "2024-01-01T00:00:00Z", "modified_on": "2024-01-01T00:00:00Z", "activated_on": "2024-01-01T00:00:00Z",
		"meta": object{"page_rule_quota": 3}, "permissions": []any{"#zone:read"},
		"plan": object{"id": hexID(16), "name": z.plan, "legacy_id": z.plan},
	}
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

func getZone(w *world, r request) (any, *failure) {
	if z := w.zone(r.path["zone_id"]); z != nil {
		return w.shown(z), nil
	}
	return nil, &failure{service: "zones", status: 404, code: 1001, message: "Invalid zone identifier"}
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
	z := &zone{account: account, id: hexID(16), name: name, plan: "free"}
	s.world.zones = append(s.world.zones, z)
	return z.id
}

// HideAccounts makes the token one for zones alone, which is shown no accounts.
func (s *Server) HideAccounts() {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.world.hidden = true
}
