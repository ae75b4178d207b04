import { signal } from '@preact/signals';
import { hasShortcuts } from './preferences.js';

/** Whether the command palette is open. */
export const isPaletteOpen = signal(false);
/** Whether the list of shortcuts is open. */
export const isHelpOpen = signal(false);
/** A prompt from the palette, until the playground has taken it: prompts must not be in addresses. */
export const handedPrompt = signal<string | undefined>(undefined);

export function openPalette(): void {
  isPaletteOpen.value = true;
}

/** The key that shortcuts are pressed with. */
export const COMMAND = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl';

interface Shortcut {
  readonly keys: readonly string[];
  readonly text: string;
}

/** With a second key, or where nothing else can be meant. */
export const SHORTCUTS: readonly Shortcut[] = [
  { keys: [COMMAND, 'K'], text: 'Search or jump to' },
  { keys: [COMMAND, 'Enter'], text: 'Create, in the playground' },
  { keys: ['Esc'], text: 'Close what is open' },
];

/** Keys by themselves. They work outside of fields, and can be turned off. */
export const SINGLE_KEYS: readonly Shortcut[] = [
  { keys: ['/'], text: 'Search on this page' },
  { keys: ['?'], text: 'Show the shortcuts' },
  { keys: ['J'], text: 'Older generation' },
  { keys: ['K'], text: 'Newer generation' },
  { keys: ['F'], text: 'Output on the full screen' },
];

/** Listens to the shortcuts of every page. Returns what ends that. */
export function followShortcuts(): () => void {
  document.addEventListener('keydown', onKeyDown);
  return () => document.removeEventListener('keydown', onKeyDown);
}

function onKeyDown(event: KeyboardEvent): void {
  const { key, ctrlKey, metaKey, altKey, shiftKey } = event;
  if (key.toLowerCase() === 'k' && (ctrlKey || metaKey) && !altKey && !shiftKey) {
    event.preventDefault();
    isPaletteOpen.value = !isPaletteOpen.value;
    return;
  }
  if (!hasShortcuts.value || ctrlKey || metaKey || altKey || isTaken(event.target)) return;
  if (key !== '/' && key !== '?') return;
  event.preventDefault();
  if (key === '?') isHelpOpen.value = true;
  else {
    const search = document.querySelector<HTMLElement>('#content [data-search]');
    if (search === null) openPalette();
    else search.focus();
  }
}

/** Whether keys belong to a field or to what is open over the page. */
function isTaken(target: EventTarget | null): boolean {
  const isField = (target as Element).closest('input, textarea, select, [contenteditable]') !== null;
  return isField || document.querySelector('dialog[open], .menu:popover-open') !== null;
}

/** Shortcuts with their keys. */
export function ShortcutList({ shortcuts }: { shortcuts: readonly Shortcut[] }) {
  return (
    <dl class="keys-list">
      {shortcuts.map(({ keys, text }) => (
        <div key={text}>
          <dt class="row">
            {keys.map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}
