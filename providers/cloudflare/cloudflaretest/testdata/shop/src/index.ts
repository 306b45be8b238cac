interface Env {
  STAGE: string;
  LIMITS: { orders: number };
  CACHE: KVNamespace;
  DB: D1Database;
  FILES: R2Bucket;
  JOBS: Queue;
  ROOM: DurableObjectNamespace;
  ASSETS: Fetcher;
}

export class Room {
  fetch(): Response {
    return new Response("room");
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const path = new URL(request.url).pathname;
    if (path !== "/") {
      return env.ASSETS.fetch(request);
    }
    await env.CACHE.put("stage", env.STAGE);
    const row = await env.DB.prepare("SELECT 40 + ? AS sum").bind(env.LIMITS.orders).first("sum");
    await env.FILES.put("sum", String(row));
    await env.JOBS.send({ sum: row });
    const room = await env.ROOM.get(env.ROOM.idFromName("one")).fetch(request);
    return Response.json({
      stage: await env.CACHE.get("stage"),
      sum: await (await env.FILES.get("sum"))!.text(),
      room: await room.text(),
      done: await env.CACHE.get("done"),
    });
  },
  async queue(batch: MessageBatch<{ sum: number }>, env: Env): Promise<void> {
    for (const message of batch.messages) {
      await env.CACHE.put("done", String(message.body.sum));
    }
  },
  async scheduled(): Promise<void> {},
};
