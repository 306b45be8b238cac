import { DurableObject } from "cloudflare:workers";

export class Room extends DurableObject {
  fetch(request) {
    if (!this.ctx.container) return new Response("no container here\n", { status: 503 });
    if (!this.ctx.container.running) this.ctx.container.start();
    return this.ctx.container.getTcpPort(80).fetch(request);
  }
}

export default {
  fetch: (request, env) => env.ROOM.get(env.ROOM.idFromName("one")).fetch(request),
};
