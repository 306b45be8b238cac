// The API below /api. All other addresses are files of the folder public.
interface Statement {
  bind(...values: unknown[]): Statement;
  all(): Promise<{ results: unknown[] }>;
}

interface Env {
  DB: { prepare(sql: string): Statement };
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    if (new URL(request.url).pathname !== "/api/entries") {
      return Response.json({ error: "there is no such address" }, { status: 404 });
    }
    if (request.method === "POST") {
      const text = (await request.text()).trim();
      if (text === "") {
        return Response.json({ error: "send a text" }, { status: 400 });
      }
      const { results } = await env.DB.prepare("INSERT INTO entries (text) VALUES (?) RETURNING id, text").bind(text).all();
      return Response.json(results[0], { status: 201 });
    }
    const { results } = await env.DB.prepare("SELECT id, text FROM entries ORDER BY id DESC LIMIT 20").all();
    return Response.json(results);
  },
};
