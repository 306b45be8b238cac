export const shop = true;
