import type { LucideIcon } from 'lucide-preact';

interface IconProps {
  readonly of: LucideIcon;
  /** In CSS pixels; 16 where absent. */
  readonly size?: number;
}

/** A drawing beside a text that says the same. */
export function Icon({ of: Drawing, size = 16 }: IconProps) {
  return <Drawing size={size} class="icon" aria-hidden="true" />;
}
