import { answer, type Order } from "./answer";

interface Env {
  CACHE: { get(key: string): Promise<string | null>; put(key: string, value: string): Promise<void> };
  DB: any;
  JOBS: { send(body: unknown): Promise<void> };
  GREETING: string;
  KEY: string;
}

export default {
  // Takes an order, or says what became of one: POST / with what is ordered, GET /ID.
  async fetch(request: Request, env: Env): Promise<Response> {
    if (request.headers.get("Authorization") !== `Bearer ${env.KEY}`) return new Response("who are you?", { status: 401 });
    if (request.method === "POST") {
      const what = await request.text();
      const { id } = await env.DB.prepare("INSERT INTO orders (what) VALUES (?) RETURNING id").bind(what).first();
      await env.JOBS.send({ id });
      const count = Number((await env.CACHE.get("count")) ?? 0) + 1;
      await env.CACHE.put("count", String(count));
      return Response.json(answer(env.GREETING, { id, what, state: "new" }, count), { status: 201 });
    }
    const order: Order | null = await env.DB.prepare("SELECT * FROM orders WHERE id = ?").bind(new URL(request.url).pathname.slice(1)).first();
    return order ? Response.json(order) : new Response("no such order", { status: 404 });
  },

  // Does the work that was put into the queue.
  async queue(batch: { messages: { body: { id: number } }[] }, env: Env): Promise<void> {
    for (const message of batch.messages) {
      await env.DB.prepare("UPDATE orders SET state = 'done' WHERE id = ?").bind(message.body.id).run();
      console.log(`order ${message.body.id} is done`);
    }
  },

  // Looks after the table each night.
  async scheduled(_: unknown, env: Env): Promise<void> {
    await env.DB.prepare("DELETE FROM orders WHERE state = 'done' AND id < (SELECT max(id) FROM orders) - 10000").run();
  },
};
