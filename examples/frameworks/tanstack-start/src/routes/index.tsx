import { createFileRoute } from "@tanstack/react-router";
import { createServerFn } from "@tanstack/react-start";
import { env } from "cloudflare:workers";

const lastRing = createServerFn().handler(async () => (await env.RINGS.get("last")) ?? "nobody");

export const Route = createFileRoute("/")({
  loader: () => lastRing(),
  server: {
    handlers: {
      POST: async ({ request }) => {
        await env.RINGS.put("last", String((await request.formData()).get("name")));
        return Response.redirect(request.url, 303);
      },
    },
  },
  component: () => <p>The bell was rung by {Route.useLoaderData()}.</p>,
});
