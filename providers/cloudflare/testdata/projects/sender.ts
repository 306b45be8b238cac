// It puts what it is sent into a queue.
export default {
  async fetch(request: Request, env: any) {
    await env.JOBS.send(await request.text());
    return new Response("queued", { status: 202 });
  },
};
