import { effect, type ReadonlySignal, signal } from '@preact/signals';

/** Choices of a person that stay in this browser. */
export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const THEME_KEY = 'darkroom.theme';
const SHORTCUTS_KEY = 'darkroom.shortcuts';

export const theme = signal<Theme>(storedTheme());
/** Whether single keys outside of fields are shortcuts. */
export const hasShortcuts = signal(stored(SHORTCUTS_KEY) !== 'off');

/** Whether the window has at least this width in CSS pixels. */
export function isWider(thanPx: number): ReadonlySignal<boolean> {
  const room = matchMedia(`(min-width: ${thanPx}px)`);
  const isWide = signal(room.matches);
  room.addEventListener('change', () => {
    isWide.value = room.matches;
  });
  return isWide;
}

effect(() => {
  if (theme.value === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme.value;
  store(THEME_KEY, theme.value);
});
effect(() => store(SHORTCUTS_KEY, hasShortcuts.value ? 'on' : 'off'));

function storedTheme(): Theme {
  const text = stored(THEME_KEY);
  return THEMES.find((one) => one === text) ?? 'system';
}

/** A browser may forbid pages to store anything. */
function stored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function store(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // The choice then ends with the page.
  }
}
