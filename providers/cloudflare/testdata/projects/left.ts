// One of two Workers that call each other's classes.
import { WorkerEntrypoint } from "cloudflare:workers";

export class Names extends WorkerEntrypoint {
  greeting(name: string) {
    return `hello ${name}`;
  }
}

export default {
  async fetch(_: Request, env: any) {
    return new Response(await env.RIGHT.twice("ada"));
  },
};
