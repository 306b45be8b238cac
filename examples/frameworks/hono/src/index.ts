import { Hono } from "hono";

const app = new Hono<{ Bindings: { NOTES: KVNamespace } }>();
app.get("/api/notes/:name", async (c) => c.text((await c.env.NOTES.get(c.req.param("name"))) ?? "nothing", 200));
app.post("/api/notes/:name", async (c) => {
  await c.env.NOTES.put(c.req.param("name"), await c.req.text());
  return c.body(null, 204);
});

export default app;
