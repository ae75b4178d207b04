/** The key that shortcuts are pressed with. */
export const COMMAND = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl';

export interface Shortcut {
  readonly keys: readonly string[];
  readonly text: string;
  /** A key by itself, which works outside of fields and can be turned off. */
  readonly isSingle?: boolean;
}

/** The shortcuts of the console, as people see them. */
export const SHORTCUTS: readonly Shortcut[] = [
  { keys: [COMMAND, 'K'], text: 'Search or jump to' },
  { keys: [COMMAND, 'Enter'], text: 'Create, in the playground' },
  { keys: ['/'], text: 'Search on this page', isSingle: true },
  { keys: ['?'], text: 'Show the shortcuts', isSingle: true },
  { keys: ['Esc'], text: 'Close what is open' },
];
