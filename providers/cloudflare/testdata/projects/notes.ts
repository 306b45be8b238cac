// An API of notes with Hono: rows in D1, a counter in KV, a secret that writers must know, and a job at night.
import { Hono } from "hono";

type Env = { DB: D1Database; SEEN: KVNamespace; KEY: string };

const app = new Hono<{ Bindings: Env }>();

app.get("/notes", async (c) => {
  await c.env.SEEN.put("reads", String(Number((await c.env.SEEN.get("reads")) ?? 0) + 1));
  const { results } = await c.env.DB.prepare("SELECT text FROM notes ORDER BY id").all<{ text: string }>();
  return c.json({ notes: results.map((r) => r.text), reads: await c.env.SEEN.get("reads") });
});

app.post("/notes", async (c) => {
  if (c.req.header("authorization") !== `Bearer ${c.env.KEY}`) return c.text("who are you?", 401);
  await c.env.DB.prepare("INSERT INTO notes (text) VALUES (?)").bind(await c.req.text()).run();
  return c.text("kept", 201);
});

export default {
  fetch: app.fetch,
  async scheduled(_: ScheduledController, env: Env) {
    await env.DB.prepare("DELETE FROM notes").run();
  },
};
