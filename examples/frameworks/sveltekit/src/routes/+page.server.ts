import type { Actions, PageServerLoad } from "./$types";

export const load: PageServerLoad = async ({ platform }) => ({ item: (await platform.env.SHELF.get("item")) ?? "nothing" });

export const actions: Actions = {
  default: async ({ request, platform }) => {
    await platform.env.SHELF.put("item", String((await request.formData()).get("item")));
  },
};
