/** Whether an address may be offered to the browser: web addresses only, whatever else a server writes. */
export function opensOutside(uri: string): boolean {
  return URL.canParse(uri) && /^https?:$/.test(new URL(uri).protocol);
}
