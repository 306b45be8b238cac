import { createRequestHandler } from "react-router";

declare module "react-router" {
  interface AppLoadContext { env: Env }
}
interface Env { GUESTS: KVNamespace }

const handle = createRequestHandler(() => import("virtual:react-router/server-build"), import.meta.env.MODE);

export default {
  fetch: (request, env) => handle(request, { env }),
} satisfies ExportedHandler<Env>;
