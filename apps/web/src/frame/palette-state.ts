import { signal } from '@preact/signals';

/** Whether the command palette is open. */
export const isPaletteOpen = signal(false);
/** Whether the list of shortcuts is open. */
export const isHelpOpen = signal(false);

export function openPalette(): void {
  isPaletteOpen.value = true;
}
