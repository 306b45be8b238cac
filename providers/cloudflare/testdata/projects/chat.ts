// A chat: each room is a Durable Object that keeps what was said.
import { DurableObject } from "cloudflare:workers";

export class CLASS extends DurableObject {
  async say(line: string) {
    const lines = ((await this.ctx.storage.get<string[]>("lines")) ?? []).concat(line);
    await this.ctx.storage.put("lines", lines);
    return lines;
  }
}

export default {
  async fetch(request: Request, env: any) {
    const room = env.ROOMS.get(env.ROOMS.idFromName(new URL(request.url).pathname));
    return Response.json(await room.say(await request.text()));
  },
};
