import type { ComponentChildren } from 'preact';
import { Copyable } from './copyable.js';

interface ShownOnceProps {
  readonly secret: string;
  readonly onDone: () => void;
  /** Says that it is shown once, and what it is for. */
  readonly children: ComponentChildren;
}

/** A secret, to be copied before it is gone. */
export function ShownOnce({ secret, onDone, children }: ShownOnceProps) {
  return (
    <div class="secret">
      <p>{children}</p>
      <Copyable text={secret} what="the secret" />
      <button type="button" onClick={onDone}>
        I have copied it
      </button>
    </div>
  );
}
