package cloudflaretest

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// tunnelHandlers do what the descriptions do not say of tunnels.
var tunnelHandlers = map[string]handler{
	"zero-trust.GetTunnelCloudflaredToken":   tunnelToken("cfd_tunnel"),
	"zero-trust.GetTunnelWarpConnectorToken": tunnelToken("warp_connector"),
}

// tunnelToken answers what a connector runs with: account, tunnel and secret, as cloudflared reads them (TunnelToken of its
// connection/connection.go).
func tunnelToken(collection string) handler {
	return func(w *world, r request) (any, *failure) {
		all := w.shelves.collections["/accounts/"+r.account+"/"+collection]
		i := find(all, r.path["tunnelId"])
		if i < 0 {
			return notThere(), nil
		}
		secret, _ := all[i]["tunnel_secret"].(string)
		if secret == "" {
			secret = base64.StdEncoding.EncodeToString([]byte(strings.Repeat("own", 11)))
		}
		token, err := json.Marshal(object{"a": r.account, "t": r.path["tunnelId"], "s": secret})
		if err != nil {
			w.wrong("%v", err)
		}
		return base64.StdEncoding.EncodeToString(token), nil
	}
}
