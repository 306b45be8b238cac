// Short links: POST /links makes one, GET /NAME leads where it goes, GET / tells which are followed most. A lookup is
// answered from the namespace; that it was followed goes through the queue, so that nobody waits for the database.
import { name, target } from "./links";

interface Env {
  LINKS: KVNamespace;
  DB: D1Database;
  FOLLOWED: Queue<Followed>;
  KEEP_DAYS: number;
  TOKEN: string;
}

interface Followed {
  name: string;
}

export default {
  async fetch(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
    const path = new URL(request.url).pathname.slice(1);
    if (request.method === "POST" && path === "links") {
      return make(request, env);
    }
    if (request.method !== "GET") {
      return new Response("no such thing\n", { status: 405 });
    }
    if (path === "") {
      const { results } = await env.DB.prepare("SELECT name, target, followed FROM links ORDER BY followed DESC, name LIMIT 20").all();
      return Response.json(results);
    }
    const to = await env.LINKS.get(path);
    if (to === null) {
      return new Response("no such link\n", { status: 404 });
    }
    ctx.waitUntil(env.FOLLOWED.send({ name: path }));
    return Response.redirect(to, 302);
  },

  async queue(batch: MessageBatch<Followed>, env: Env): Promise<void> {
    const count = env.DB.prepare("UPDATE links SET followed = followed + 1 WHERE name = ?");
    await env.DB.batch(batch.messages.map((m) => count.bind(m.body.name)));
  },

  async scheduled(_: ScheduledController, env: Env): Promise<void> {
    const { results } = await env.DB.prepare(
      "DELETE FROM links WHERE followed = 0 AND made < unixepoch() - ? * 86400 RETURNING name",
    ).bind(env.KEEP_DAYS).all<{ name: string }>();
    await Promise.all(results.map((r) => env.LINKS.delete(r.name)));
  },
};

async function make(request: Request, env: Env): Promise<Response> {
  if (request.headers.get("Authorization") !== `Bearer ${env.TOKEN}`) {
    return new Response("who are you?\n", { status: 401 });
  }
  const to = target(await request.text());
  if (to === null) {
    return new Response("want an address\n", { status: 400 });
  }
  const link = await name(to);
  await env.DB.prepare("INSERT INTO links (name, target) VALUES (?, ?) ON CONFLICT DO NOTHING").bind(link, to).run();
  await env.LINKS.put(link, to);
  return Response.json({ name: link }, { status: 201 });
}
