import { double } from "./lib/double.js";
import greeting from "./greeting.txt";
import bytes from "./bytes.bin";
import add from "./add.wasm";

export default {
  async fetch(request, env) {
    const { exports } = await WebAssembly.instantiate(add);
    return Response.json({
      greeting: greeting.trim(),
      bytes: [...new Uint8Array(bytes)],
      sum: exports.add(double(20), 2),
      stage: env.STAGE,
    });
  },
};
