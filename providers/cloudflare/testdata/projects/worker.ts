// It takes messages from the queue and writes them down.
export default {
  async queue(batch: MessageBatch<string>, env: any) {
    for (const m of batch.messages) await env.DONE.put(m.body, "done");
  },
  async fetch(request: Request, env: any) {
    return new Response((await env.DONE.get(new URL(request.url).pathname.slice(1))) ?? "waiting");
  },
};
