import { signal } from '@preact/signals';
import { Icon } from './icon.js';

const SHOWN_MS = 4_000;

const shown = signal('');
/** Texts for screen readers alone. */
const spoken = signal('');
let hiding: ReturnType<typeof setTimeout> | undefined;

/** Reports that an action succeeded whose result is not visible where the person looks. */
export function announce(text: string): void {
  shown.value = text;
  say(text);
  clearTimeout(hiding);
  hiding = setTimeout(() => {
    shown.value = '';
  }, SHOWN_MS);
}

/** Reports a change of state to screen readers, which others see on the page. */
export function say(text: string): void {
  spoken.value = '';
  // The same sentence twice counts as two changes.
  requestAnimationFrame(() => {
    spoken.value = text;
  });
}

/** The one live region of the page. It is always there, so that screen readers observe it. */
export function Toasts() {
  const hide = (): void => {
    shown.value = '';
  };
  return (
    <>
      <output class="visually-hidden" aria-live="polite">
        {spoken.value}
      </output>
      {shown.value === '' ? null : (
        <aside class="toasts" aria-label="Notice">
          <p class="toast">
            <Icon of="circle-check" />
            {shown.value}
            <button type="button" class="button quiet small square" aria-label="Dismiss" onClick={hide}>
              <Icon of="x" size={14} />
            </button>
          </p>
        </aside>
      )}
    </>
  );
}
