package workers

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/athanor-dev/athanor/providers/cloudflare/cloudflaretest"
)

// ask gets a page of a Worker as JSON.
func ask(t *testing.T, url string) (answer obj) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", url, err, text)
	}
	return answer
}

// database answers a client of PostgreSQL that the database is not there, with the name that was asked for, until the test
// ends.
func database(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go refuse(conn)
		}
	}()
	return listener.Addr().String()
}

// refuse reads the first message of a connection, https://www.postgresql.org/docs/current/protocol-message-formats.html,
// and answers it with an error.
func refuse(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute)) // the test is over by then
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return
	}
	message := make([]byte, binary.BigEndian.Uint32(size[:])-4)
	if _, err := io.ReadFull(conn, message); err != nil {
		return
	}
	fields := strings.Split(string(message[4:]), "\x00")
	body := fmt.Sprintf("SFATAL\x00C3D000\x00Mno database for %s\x00\x00", fields[1])
	answer := binary.BigEndian.AppendUint32([]byte{'E'}, uint32(len(body)+4))
	_, _ = conn.Write(append(answer, body...))
}

// TestPackagesOfNode: packages that are written for Node run under nodejs_compat, with what they require of Node.
func TestPackagesOfNode(t *testing.T) {
	t.Parallel()
	l := begin(t)
	cloudflaretest.Packages(t, l.dir)
	host, port, _ := net.SplitHostPort(database(t))
	lay(t, l.dir, map[string]string{
		"legacy.cjs": `const { EventEmitter } = require("events");
			const path = require("node:path"), { format, inspect } = require("util");
			class Bus extends EventEmitter {}
			exports.tell = (what) => { const bus = new Bus(); let heard; bus.once("said", (w) => { heard = w; }); bus.emit("said", what);
				return format("%s in %s, %s", heard, path.join("a", "b"), inspect({ deep: 1 })); };`,
		"shade.glsl": "void main() {}", "empty.wasm": "\x00asm\x01\x00\x00\x00",
		"index.ts": `import shade from "./shade.glsl"; import empty from "./empty.wasm?module"; import { Hono } from "hono"; import jwt from "jsonwebtoken"; import pg from "pg"; import Stripe from "stripe";
			import legacy from "./legacy.cjs"; import { Buffer } from "node:buffer";
			const app = new Hono();
			app.get("/legacy", (c) => c.json({ said: legacy.tell("hello") }));
			app.get("/jwt", (c) => { const token = jwt.sign({ user: 7 }, "k", { algorithm: "HS256" }); return c.json(jwt.verify(token, "k")); });
			app.get("/stripe", async (c) => { const stripe = new Stripe("sk_test_1"), payload = JSON.stringify({ id: "evt_1", object: "event" });
				const header = await stripe.webhooks.generateTestHeaderStringAsync({ payload, secret: "whsec" });
				return c.json(await stripe.webhooks.constructEventAsync(payload, header, "whsec")); });
			app.get("/pg", async (c) => { const client = new pg.Client({ host: c.req.query("host"), port: Number(c.req.query("port")), user: "shop", database: "orders", ssl: false });
				try { await client.connect(); return c.json({ connected: true }); } catch (e) { return c.json({ code: e.code, message: e.message }); } });
			app.get("/module", async (c) => c.json({ shade, made: (await WebAssembly.instantiate(empty)) instanceof WebAssembly.Instance, VERSION }));
			app.get("/mode", (c) => c.json({ mode: process.env.NODE_ENV, size: Buffer.from("four").length }));
			export default app;`,
	})
	l.to(obj{"code": obj{"bundle": "index.ts", "rules": obj{".glsl": "text"}, "define": obj{"VERSION": "'1.2'"}}, "compatibilityDate": date, "compatibilityFlags": list{"nodejs_compat"}})
	url := l.Run(t, l.out.Identity)
	for path, want := range map[string]string{
		"/legacy":                            "map[said:hello in a/b, { deep: 1 }]",
		"/stripe":                            "map[id:evt_1 object:event]",
		"/mode":                              "map[mode:production size:4]",
		"/pg?host=" + host + "&port=" + port: "map[code:3D000 message:no database for shop]",
	} {
		if have := fmt.Sprint(ask(t, url+path)); have != want {
			t.Errorf("%s answers %s, want %s", path, have, want)
		}
	}
	if user := ask(t, url+"/jwt")["user"]; user != float64(7) {
		t.Errorf("the token tells %v", user)
	}
	// From this date on they run without the flag.
	l.to(obj{"code": obj{"bundle": "index.ts", "rules": obj{".glsl": "text"}, "define": obj{"VERSION": "'1.3'"}}, "compatibilityDate": "2026-08-04"})
	if have := fmt.Sprint(ask(t, l.Run(t, l.out.Identity)+"/legacy")); have != "map[said:hello in a/b, { deep: 1 }]" {
		t.Errorf("without the flag it answers %s", have)
	}
}
