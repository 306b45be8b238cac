import { answer } from "./assets/worker-entry.js";
export default { fetch: answer };
