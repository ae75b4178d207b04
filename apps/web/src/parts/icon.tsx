import type { IconName } from './icon-names.js';

export type { IconName };

/** The address of the file with all icons, which the build sets: drawings in scripts would be parsed before they are used. */
declare const ICONS_URL: string;

/** A drawing beside a text that says the same. `size` is in CSS pixels. */
export function Icon({ of, size = 16 }: { of: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} aria-hidden="true">
      <use href={`${ICONS_URL}#${of}`} />
    </svg>
  );
}
