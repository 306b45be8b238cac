// A Workflow that is bound to the Worker that has its class.
import { WorkflowEntrypoint } from "cloudflare:workers";

export class Order extends WorkflowEntrypoint<any, { item: string }> {
  async run(event: any, step: any) {
    const reserved = await step.do("reserve", async () => `${event.payload.item} reserved`);
    return step.do("pay", async () => `${reserved} and paid`);
  }
}

export default {
  async fetch(request: Request, env: any) {
    const id = new URL(request.url).pathname.slice(1);
    if (request.method === "POST") {
      await env.ORDERS.create({ id, params: { item: await request.text() } });
      return new Response("begun", { status: 202 });
    }
    return Response.json(await (await env.ORDERS.get(id)).status());
  },
};
