import { WorkflowEntrypoint } from "cloudflare:workers";

export default {
  fetch: () => new Response("hello"),
  queue: () => {},
  scheduled: () => {},
};

export class Checkout extends WorkflowEntrypoint {
  async run() {}
}
