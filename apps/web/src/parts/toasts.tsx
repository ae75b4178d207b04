import { signal } from '@preact/signals';
import { Icon, type IconName } from './icon.js';

const SHOWN_MS = 4_000;

const shown = signal<{ readonly text: string; readonly icon: IconName } | undefined>(undefined);
/** Texts for screen readers alone. */
const spoken = signal('');
let hiding: ReturnType<typeof setTimeout> | undefined;

/** Reports the result of an action that is not visible where the person looks: a success unless the icon says otherwise. */
export function announce(text: string, icon: IconName = 'circle-check'): void {
  shown.value = { text, icon };
  say(text);
  clearTimeout(hiding);
  hiding = setTimeout(() => {
    shown.value = undefined;
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
    shown.value = undefined;
  };
  return (
    <>
      <output class="visually-hidden" aria-live="polite">
        {spoken.value}
      </output>
      {shown.value === undefined ? null : (
        <aside class="toasts" aria-label="Notice">
          <p class="toast">
            <Icon of={shown.value.icon} />
            {shown.value.text}
            <button type="button" class="button quiet small square" aria-label="Dismiss" onClick={hide}>
              <Icon of="x" size={14} />
            </button>
          </p>
        </aside>
      )}
    </>
  );
}
