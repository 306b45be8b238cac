// Keeps notes: PUT /NAME writes one, GET /NAME reads it.
interface Notes {
  get(key: string): Promise<string | null>;
  put(key: string, value: string): Promise<void>;
}

export default {
  async fetch(request: Request, env: { NOTES: Notes }): Promise<Response> {
    const name = new URL(request.url).pathname.slice(1);
    if (name === "") {
      return new Response("PUT /NAME writes a note, GET /NAME reads it.\n");
    }
    if (request.method === "PUT") {
      await env.NOTES.put(name, await request.text());
      return new Response("written\n", { status: 201 });
    }
    const note = await env.NOTES.get(name);
    return note === null ? new Response("there is no such note\n", { status: 404 }) : new Response(note);
  },
};
