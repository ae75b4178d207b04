import type { Overview } from '../server-types.js';
export function WebhooksSection(_: { readonly overview: Overview }) {
  return <p>later</p>;
}
