import type { Overview } from '../server-types.js';
export function PlaygroundSection(_: { readonly overview: Overview; readonly reload: () => Promise<void> }) {
  return <p>later</p>;
}
