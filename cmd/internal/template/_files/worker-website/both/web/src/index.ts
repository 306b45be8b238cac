// The API below /api. Vite builds all other addresses from index.html.
interface Env {
  GUESTS: {
    list(): Promise<{ keys: { name: string }[] }>;
    put(key: string, value: string): Promise<void>;
  };
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    if (new URL(request.url).pathname !== "/api/guests") {
      return Response.json({ error: "there is no such address" }, { status: 404 });
    }
    if (request.method === "POST") {
      const name = (await request.text()).trim();
      if (name === "") {
        return Response.json({ error: "send a name" }, { status: 400 });
      }
      await env.GUESTS.put(name, new Date().toISOString());
      return Response.json(name, { status: 201 });
    }
    const { keys } = await env.GUESTS.list();
    return Response.json(keys.map((key) => key.name));
  },
};
