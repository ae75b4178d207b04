import { signal } from '@preact/signals';

const SHOWN_MS = 8_000;

const said = signal('');
let shown: ReturnType<typeof setTimeout> | undefined;

/** Says the result of an action, on the page and to screen readers. */
export function announce(text: string): void {
  said.value = '';
  // The same sentence twice counts as two changes.
  requestAnimationFrame(() => {
    said.value = text;
  });
  clearTimeout(shown);
  shown = setTimeout(() => {
    said.value = '';
  }, SHOWN_MS);
}

/** The live region for results. It is always on the page, so that screen readers observe it. */
export function Announcer() {
  return (
    <output class="announcer" aria-live="polite">
      {said.value}
    </output>
  );
}
