// The other one.
import { WorkerEntrypoint } from "cloudflare:workers";

export class Doubling extends WorkerEntrypoint<any> {
  async twice(name: string) {
    const one = await this.env.LEFT.greeting(name);
    return `${one}, ${one}`;
  }
}

export default { fetch: () => new Response("right") };
