import { signal } from '@preact/signals';

/** Whether the command palette is open. */
export const isPaletteOpen = signal(false);
/** Whether the list of shortcuts is open. */
export const isHelpOpen = signal(false);
/** A prompt from the palette, until the playground has taken it: prompts must not be in addresses. */
export const handedPrompt = signal<string | undefined>(undefined);

export function openPalette(): void {
  isPaletteOpen.value = true;
}
